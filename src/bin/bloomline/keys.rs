//! Keys from a file or standard input.
//!
//! A key is a run of bytes, not text: one per line, or NUL-separated, or raw 8-byte little-endian integers. Exactly one
//! separator ends a key, and a last key without one counts. Nothing else is trimmed: a `\r` before the `\n` is part of
//! the key, and an empty line is the empty key. Both readers meet every byte once, in chunks, without mapping the file.

use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use wide::u8x16;

/// How keys are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Format {
    /// Separated by `\n`.
    #[default]
    Lines,
    /// Separated by NUL.
    Null,
    /// Eight bytes each.
    U64Le,
}

/// The arguments of every command that reads keys.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct FormatArgs {
    /// Keys end with a NUL byte, not with a newline
    #[arg(short = '0', long = "null", conflicts_with = "u64le")]
    pub(crate) null: bool,
    /// Keys are raw 8-byte little-endian integers
    #[arg(long)]
    pub(crate) u64le: bool,
}

impl FormatArgs {
    pub(crate) fn format(self) -> Format {
        match self {
            Self { u64le: true, .. } => Format::U64Le,
            Self { null: true, .. } => Format::Null,
            _ => Format::Lines,
        }
    }
}

/// Why there are no keys. `name` is the path, or `standard input`.
#[derive(Debug)]
pub(crate) enum KeyError {
    /// The file can't be opened.
    Open { name: String, source: io::Error },
    /// The file can't be read.
    Read { name: String, source: io::Error },
    /// The path is a directory.
    Directory { name: String },
    /// The file holds no key.
    Empty { name: String },
    /// The file is no array of 8-byte integers.
    Ragged { name: String, bytes: u64 },
    /// A single key is too long.
    LongKey { name: String, offset: u64, limit: u64 },
    /// All keys together are too large to hold in memory.
    TooLarge { name: String, limit: u64 },
    /// There is no memory for them.
    Refused { name: String, bytes: u64 },
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { name, source } => write!(f, "cannot open {name}: {source}"),
            Self::Read { name, source } => write!(f, "cannot read {name}: {source}"),
            Self::Directory { name } => write!(f, "{name} is a directory, not a file of keys"),
            Self::Empty { name } => write!(f, "{name} is empty: there are no keys to read"),
            Self::Ragged { name, bytes } => {
                write!(f, "{name} has {bytes} bytes, not a multiple of 8: --u64le needs whole 8-byte integers")
            }
            Self::LongKey { name, offset, limit } => {
                write!(f, "{name}: the key at byte {offset} is longer than {limit} bytes: is this the right separator?")
            }
            Self::TooLarge { name, limit } => {
                write!(f, "{name}: its keys need more memory than the limit of {limit} bytes")
            }
            Self::Refused { name, bytes } => write!(f, "{name}: the system refused {bytes} bytes for its keys"),
        }
    }
}

impl Error for KeyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Open { source, .. } | Self::Read { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// What one read asks for.
const CHUNK: usize = 1 << 20;
/// The longest key that is streamed: the buffer grows to hold it.
const LONGEST_KEY: usize = 256 << 20;
/// Length of an integer key.
const WORD: usize = 8;

/// An open source of keys.
pub(crate) struct KeyReader {
    name: String,
    format: Format,
    input: Box<dyn Read + Send>,
    /// Length in bytes where it is known beforehand.
    expected: Option<u64>,
}

impl fmt::Debug for KeyReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyReader").field("name", &self.name).field("format", &self.format).finish_non_exhaustive()
    }
}

impl KeyReader {
    /// Opens a file, or standard input for `-`. What shows in the file's length is refused here.
    pub(crate) fn open(path: &Path, format: Format) -> Result<Self, KeyError> {
        if path.as_os_str() == "-" {
            return Ok(Self::new("standard input", format, io::stdin()));
        }
        let name = path.display().to_string();
        let file = File::open(path).map_err(|source| KeyError::Open { name: name.clone(), source })?;
        let about = file.metadata().map_err(|source| KeyError::Open { name: name.clone(), source })?;
        if about.is_dir() {
            return Err(KeyError::Directory { name });
        }
        // Files that the kernel makes up (`/proc`) claim a length of 0: only reading tells.
        let expected = Some(about.len()).filter(|&bytes| about.is_file() && bytes > 0);
        if let Some(bytes) = expected
            && format == Format::U64Le
            && bytes % WORD as u64 != 0
        {
            return Err(KeyError::Ragged { name, bytes });
        }
        Ok(Self { expected, ..Self::new(&name, format, file) })
    }

    /// Keys from anything that can be read.
    pub(crate) fn new(name: &str, format: Format, input: impl Read + Send + 'static) -> Self {
        Self { name: name.to_owned(), format, input: Box::new(input), expected: None }
    }

    /// The path, or `standard input`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Length in bytes where it is known beforehand.
    pub(crate) fn expected(&self) -> Option<u64> {
        self.expected
    }

    /// Calls `f` with all keys in order, many at a time, holding no more than a chunk and the longest key. A source
    /// without keys is not refused here.
    pub(crate) fn for_each_batch<E: From<KeyError>>(
        self,
        f: &mut impl FnMut(Batch<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each_batch_within(f, CHUNK, LONGEST_KEY)
    }

    /// [`Self::for_each_batch`] with the sizes named, so that tests can make them small.
    fn for_each_batch_within<E: From<KeyError>>(
        mut self,
        f: &mut impl FnMut(Batch<'_>) -> Result<(), E>,
        chunk: usize,
        longest: usize,
    ) -> Result<(), E> {
        let separator = self.separator();
        let mut buffer = vec![0; chunk.max(WORD)];
        // `buffer[..filled]` is read; the key that `buffer[0]` begins has no end in `buffer[..searched]`.
        let (mut filled, mut searched) = (0, 0);
        let mut offset = 0_u64;
        loop {
            if filled == buffer.len() {
                if filled > longest {
                    return Err(KeyError::LongKey { name: self.name, offset, limit: longest as u64 }.into());
                }
                buffer.resize(filled * 2, 0);
            }
            let count = self.read(&mut buffer[filled..])?;
            if count == 0 {
                break;
            }
            filled += count;
            let done = match separator {
                Some(separator) => {
                    let last = buffer[searched..filled].iter().rposition(|&byte| byte == separator);
                    last.map_or(0, |last| searched + last + 1)
                }
                None => filled / WORD * WORD,
            };
            if done > 0 {
                f(Batch { bytes: &buffer[..done], separator })?;
            }
            buffer.copy_within(done..filled, 0);
            filled -= done;
            searched = filled;
            offset += done as u64;
        }
        if filled > 0 {
            if separator.is_none() {
                return Err(KeyError::Ragged { name: self.name, bytes: offset + filled as u64 }.into());
            }
            f(Batch { bytes: &buffer[..filled], separator })?;
        }
        Ok(())
    }

    fn separator(&self) -> Option<u8> {
        match self.format {
            Format::Lines => Some(b'\n'),
            Format::Null => Some(0),
            Format::U64Le => None,
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, KeyError> {
        loop {
            match self.input.read(buffer) {
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(KeyError::Read { name: self.name.clone(), source }),
            }
        }
    }
}

/// Keys as they were read, one after the other with their separators. Only the last of a source may lack its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch<'b> {
    bytes: &'b [u8],
    /// `None` for integers.
    separator: Option<u8>,
}

impl<'b> Batch<'b> {
    /// Bytes of the keys and their separators.
    pub(crate) fn bytes(self) -> usize {
        self.bytes.len()
    }

    /// What ends a key: a byte, or nothing.
    pub(crate) fn separator(&self) -> &[u8] {
        self.separator.as_slice()
    }

    /// Calls `f` with every key in order.
    #[inline]
    pub(crate) fn for_each(self, mut f: impl FnMut(&'b [u8])) {
        let Some(separator) = self.separator else {
            return self.bytes.chunks_exact(WORD).for_each(f);
        };
        let mut start = 0;
        for_each_separator(separator, self.bytes, |end| {
            f(&self.bytes[start..end]);
            start = end + 1;
        });
        if start < self.bytes.len() {
            f(&self.bytes[start..]);
        }
    }

    /// The same keys in about so many batches, each at least `least` bytes long where there are that many.
    pub(crate) fn split(self, parts: usize, least: usize) -> Vec<Self> {
        let size = self.bytes.len().div_ceil(parts.max(1)).max(least).next_multiple_of(WORD);
        let mut batches = Vec::with_capacity(parts);
        let mut left = self.bytes;
        while !left.is_empty() {
            let end = match self.separator {
                None => size,
                Some(separator) => {
                    let rest = left.get(size..).unwrap_or_default();
                    rest.iter().position(|&byte| byte == separator).map_or(left.len(), |at| size + at + 1)
                }
            };
            let (part, rest) = left.split_at(end.min(left.len()));
            batches.push(Self { bytes: part, ..self });
            left = rest;
        }
        batches
    }
}

/// Where the separators are: for each 64 bytes the offset of the first and a bit for each.
///
/// Keys are short, so finding the next separator call by call costs more than the bytes do: streaming lines of eight
/// bytes took 5.1 ns a key with `memchr` and takes 1.9 ns with these masks.
fn separators(separator: u8, bytes: &[u8]) -> impl Iterator<Item = (usize, u64)> {
    let mask = move |block: &[u8; 64]| {
        let (parts, _) = block.as_chunks::<16>();
        parts.iter().rev().fold(0, |mask, &part| {
            mask << 16 | u64::from(u8x16::new(part).simd_eq(u8x16::splat(separator)).to_bitmask())
        })
    };
    let (blocks, tail) = bytes.as_chunks::<64>();
    let mut last = [!separator; 64];
    last[..tail.len()].copy_from_slice(tail);
    let at_end = (blocks.len() * 64, mask(&last));
    blocks.iter().enumerate().map(move |(i, block)| (i * 64, mask(block))).chain([at_end])
}

#[inline]
fn for_each_separator(separator: u8, bytes: &[u8], mut f: impl FnMut(usize)) {
    for (start, mut mask) in separators(separator, bytes) {
        while mask != 0 {
            f(start + mask.trailing_zeros() as usize);
            mask &= mask - 1;
        }
    }
}

/// All keys of a source in one piece of memory, separators included, with the end of each.
pub(crate) struct KeySet {
    bytes: Vec<u8>,
    ends: Ends,
}

#[derive(Debug, PartialEq, Eq)]
enum Ends {
    /// Sources under 4 GiB.
    U32(Vec<u32>),
    U64(Vec<u64>),
    /// Eight bytes each, no separators.
    Words,
}

impl fmt::Debug for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeySet").field("len", &self.len()).field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

impl KeySet {
    /// Reads everything; refuses what would take more than `limit` bytes of memory, before taking it.
    pub(crate) fn load(mut reader: KeyReader, limit: u64) -> Result<Self, KeyError> {
        let too_large = |name: &str| KeyError::TooLarge { name: name.to_owned(), limit };
        if reader.expected.is_some_and(|bytes| bytes > limit) {
            return Err(too_large(&reader.name));
        }
        // A byte more than expected, to meet the end without growing, and one for a separator that may be missing.
        let expected = reader.expected.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(CHUNK - 2);
        let mut bytes = vec![0; expected + 2];
        let mut filled = 0;
        loop {
            if filled == bytes.len() {
                bytes.resize(filled * 2, 0);
            }
            let count = reader.read(&mut bytes[filled..])?;
            if count == 0 {
                break;
            }
            filled += count;
            if filled as u64 > limit {
                return Err(too_large(&reader.name));
            }
        }
        bytes.truncate(filled);
        if bytes.is_empty() {
            return Err(KeyError::Empty { name: reader.name });
        }
        let Some(separator) = reader.separator() else {
            if filled % WORD != 0 {
                return Err(KeyError::Ragged { name: reader.name, bytes: filled as u64 });
            }
            return Ok(Self { bytes, ends: Ends::Words });
        };
        if bytes.last() != Some(&separator) {
            bytes.push(separator);
        }
        let count = separators(separator, &bytes).map(|(_, mask)| mask.count_ones() as usize).sum::<usize>();
        let small = u32::try_from(bytes.len()).is_ok();
        let index_bytes = count as u64 * if small { 4 } else { 8 };
        if bytes.len() as u64 + index_bytes > limit {
            return Err(too_large(&reader.name));
        }
        Ok(Self { ends: Ends::find(separator, &bytes, count, small), bytes })
    }

    /// The number of keys, never 0.
    pub(crate) fn len(&self) -> usize {
        match &self.ends {
            Ends::U32(ends) => ends.len(),
            Ends::U64(ends) => ends.len(),
            Ends::Words => self.bytes.len() / WORD,
        }
    }

    /// Key `i`, in the order of the source.
    ///
    /// # Panics
    /// When `i` is not below [`Self::len`].
    #[inline]
    pub(crate) fn get(&self, i: usize) -> &[u8] {
        // Widening: an offset into a slice in memory fits `usize`.
        let (start, end) = match &self.ends {
            Ends::U32(ends) => (if i == 0 { 0 } else { ends[i - 1] as usize + 1 }, ends[i] as usize),
            Ends::U64(ends) => (if i == 0 { 0 } else { ends[i - 1] as usize + 1 }, ends[i] as usize),
            Ends::Words => (i * WORD, (i + 1) * WORD),
        };
        &self.bytes[start..end]
    }

    /// All keys in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        (0..self.len()).map(|i| self.get(i))
    }
}

impl Ends {
    fn find(separator: u8, bytes: &[u8], count: usize, small: bool) -> Self {
        if small {
            let mut ends = Vec::with_capacity(count);
            // The caller saw that every offset fits.
            for_each_separator(separator, bytes, |end| ends.push(end as u32));
            Self::U32(ends)
        } else {
            let mut ends = Vec::with_capacity(count);
            for_each_separator(separator, bytes, |end| ends.push(end as u64));
            Self::U64(ends)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives out at most `step` bytes a time.
    struct Drip {
        bytes: Vec<u8>,
        at: usize,
        step: usize,
    }

    impl Read for Drip {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.step.min(buffer.len()).min(self.bytes.len() - self.at);
            buffer[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
            self.at += count;
            Ok(count)
        }
    }

    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is on fire"))
        }
    }

    fn reader(bytes: &[u8], format: Format, step: usize) -> KeyReader {
        KeyReader::new("test", format, Drip { bytes: bytes.to_vec(), at: 0, step })
    }

    /// The keys by every road: streamed in chunks of several sizes, and loaded. All must agree.
    fn keys(bytes: &[u8], format: Format) -> Result<Vec<Vec<u8>>, String> {
        let loaded = KeySet::load(reader(bytes, format, 5), u64::MAX)
            .map(|set| set.iter().map(<[u8]>::to_vec).collect::<Vec<_>>())
            .map_err(|error| error.to_string());
        for (step, chunk) in [(1, 8), (3, 8), (7, 9), (64, 16), (1000, 16), (1 << 20, 1 << 20)] {
            // Drop by drop only where it is over soon.
            if bytes.len() > step << 12 {
                continue;
            }
            let mut streamed = Vec::new();
            let mut parts = Vec::new();
            let mut batch = |batch: Batch<'_>| {
                batch.for_each(|key| streamed.push(key.to_vec()));
                for part in batch.split(3, chunk / 2) {
                    part.for_each(|key| parts.push(key.to_vec()));
                }
                Ok(())
            };
            let all = reader(bytes, format, step).for_each_batch_within::<KeyError>(&mut batch, chunk, LONGEST_KEY);
            assert_eq!(parts, streamed, "step {step} chunk {chunk}");
            match all {
                Err(error) => assert_eq!(loaded, Err(error.to_string())),
                Ok(()) if streamed.is_empty() => assert!(loaded.is_err(), "step {step} chunk {chunk}"),
                Ok(()) => assert_eq!(Ok(&streamed), loaded.as_ref(), "step {step} chunk {chunk}"),
            }
        }
        loaded
    }

    #[test]
    fn lines_are_bytes() {
        let lines = |bytes: &[u8]| keys(bytes, Format::Lines).unwrap();
        assert_eq!(lines(b"a\nbc\n"), [b"a".to_vec(), b"bc".to_vec()]);
        assert_eq!(lines(b"a\nbc"), [b"a".to_vec(), b"bc".to_vec()]);
        assert_eq!(lines(b"\n"), [b"".to_vec()]);
        assert_eq!(lines(b"\n\nx\n\n"), [b"".to_vec(), b"".to_vec(), b"x".to_vec(), b"".to_vec()]);
        assert_eq!(lines(b" a \r\n\r\n"), [b" a \r".to_vec(), b"\r".to_vec()]);
        assert_eq!(lines(b"\xff\xfe\0\n\xc3"), [b"\xff\xfe\0".to_vec(), b"\xc3".to_vec()]);
    }

    #[test]
    fn null_separated() {
        let null = |bytes: &[u8]| keys(bytes, Format::Null).unwrap();
        assert_eq!(null(b"a\nb\0\0c"), [b"a\nb".to_vec(), b"".to_vec(), b"c".to_vec()]);
        assert_eq!(null(b"\0"), [b"".to_vec()]);
    }

    #[test]
    fn integers() {
        let bytes: Vec<u8> = [1_u64, u64::MAX, 10].iter().flat_map(|n| n.to_le_bytes()).collect();
        let got = keys(&bytes, Format::U64Le).unwrap();
        assert_eq!(got, [1_u64, u64::MAX, 10].map(|n| n.to_le_bytes().to_vec()));
        for cut in [1, 7, 9, 23] {
            let error = keys(&bytes[..cut], Format::U64Le).unwrap_err();
            assert!(error.contains(&format!("test has {cut} bytes, not a multiple of 8")), "{error}");
        }
    }

    #[test]
    fn a_key_of_a_megabyte() {
        let mut bytes = vec![b'x'; 3 << 20];
        bytes.extend_from_slice(b"\nshort\n");
        let lengths = keys(&bytes, Format::Lines).unwrap().iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lengths, [3 << 20, 5]);
    }

    #[test]
    fn every_small_file() {
        // All files of up to seven bytes over two letters, against the plain definition.
        for length in 1..8 {
            for code in 0..1_u32 << length {
                let bytes: Vec<u8> = (0..length).map(|bit| if code >> bit & 1 == 1 { b'\n' } else { b'a' }).collect();
                let body = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
                let expected: Vec<Vec<u8>> = body.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
                assert_eq!(keys(&bytes, Format::Lines).unwrap(), expected);
            }
        }
    }

    #[test]
    fn separators_anywhere() {
        // Every length around several blocks, separators at places without a pattern.
        let bytes: Vec<u8> = (0..300_u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8 & 7).collect();
        for separator in [0, 3, 255] {
            for length in 0..bytes.len() {
                let mut found = Vec::new();
                for_each_separator(separator, &bytes[..length], |end| found.push(end));
                let expected: Vec<usize> = (0..length).filter(|&i| bytes[i] == separator).collect();
                assert_eq!(found, expected, "{length}");
            }
        }
    }

    #[test]
    fn no_keys() {
        for format in [Format::Lines, Format::Null, Format::U64Le] {
            assert_eq!(keys(b"", format).unwrap_err(), "test is empty: there are no keys to read");
        }
        let broken = || KeyReader::new("test", Format::Lines, Broken);
        let expected = "cannot read test: the disk is on fire";
        assert_eq!(broken().for_each_batch::<KeyError>(&mut |_| Ok(())).unwrap_err().to_string(), expected);
        assert_eq!(KeySet::load(broken(), u64::MAX).unwrap_err().to_string(), expected);
    }

    #[test]
    fn limits() {
        let error = reader(b"ab\ncdefghijklmnopqrstuvwxyz\n", Format::Lines, 4)
            .for_each_batch_within::<KeyError>(&mut |_| Ok(()), 8, 8)
            .unwrap_err();
        assert!(matches!(error, KeyError::LongKey { offset: 3, limit: 8, .. }), "{error}");
        let error = KeySet::load(reader(b"a\nb\nc\n", Format::Lines, 4), 17).unwrap_err();
        assert!(matches!(error, KeyError::TooLarge { limit: 17, .. }), "{error}");
        assert_eq!(KeySet::load(reader(b"a\nb\nc\n", Format::Lines, 4), 18).unwrap().len(), 3);
    }

    #[test]
    fn both_widths_of_ends_agree() {
        let bytes = b"a\n\nbcd\n".to_vec();
        let narrow = KeySet { ends: Ends::find(b'\n', &bytes, 3, true), bytes: bytes.clone() };
        let wide = KeySet { ends: Ends::find(b'\n', &bytes, 3, false), bytes };
        assert!(narrow.iter().eq(wide.iter()));
        assert_eq!(wide.get(2), b"bcd");
    }

    #[test]
    fn bad_paths() {
        let open = |path: &Path, format| KeyReader::open(path, format).unwrap_err().to_string();
        let folder = std::env::temp_dir().join(format!("bloomline-keys-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert!(open(&folder, Format::Lines).ends_with("is a directory, not a file of keys"));
        let missing = open(&folder.join("missing"), Format::Lines);
        assert!(missing.starts_with("cannot open ") && missing.contains("missing: "), "{missing}");
        let ragged = folder.join("ragged");
        std::fs::write(&ragged, b"123456789").unwrap();
        assert!(open(&ragged, Format::U64Le).contains("ragged has 9 bytes"));
        let reader = KeyReader::open(&ragged, Format::Lines).unwrap();
        assert!(reader.name().ends_with("ragged"));
        assert_eq!(KeySet::load(reader, 64).unwrap().get(0), b"123456789");
        let empty = folder.join("empty");
        std::fs::write(&empty, b"").unwrap();
        let reader = KeyReader::open(&empty, Format::Lines).unwrap();
        assert!(matches!(KeySet::load(reader, 64), Err(KeyError::Empty { .. })));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn files_that_the_kernel_makes_up() {
        // It says it has no bytes, and has some.
        let status = || KeyReader::open(Path::new("/proc/self/limits"), Format::Lines).unwrap();
        let loaded = KeySet::load(status(), u64::MAX).unwrap();
        let mut keys = 0;
        let mut count = |batch: Batch<'_>| {
            batch.for_each(|_| keys += 1);
            Ok(())
        };
        status().for_each_batch::<KeyError>(&mut count).unwrap();
        assert_eq!(keys, loaded.len());
        // Address 0 can be opened, not read.
        let memory = KeyReader::open(Path::new("/proc/self/mem"), Format::Lines).unwrap();
        let error = KeySet::load(memory, u64::MAX).unwrap_err().to_string();
        assert!(error.starts_with("cannot read /proc/self/mem: "), "{error}");
    }
}
