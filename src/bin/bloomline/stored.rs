//! Filters from files.

use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use bloomline::error::{AllocError, BatchError, CombineError, DLeftMergeError, FormatError};
use bloomline::format::{Frame, HEADER_BYTES, Header};
use bloomline::hash::AnyHasher;
use bloomline::machine::Machine;
use bloomline::sizing::Geometry;
use bloomline::{AnyCounting, AnyFilter, Contains, Design, Digest, FilterKind, Level};

/// A filter that was read and verified.
#[derive(Debug)]
pub(crate) struct Stored {
    /// The path, or `standard input`.
    pub(crate) name: String,
    pub(crate) header: Header,
    pub(crate) filter: Kept,
}

/// A filter of any kind.
#[derive(Debug)]
pub(crate) enum Kept {
    /// Of bits.
    Bits(AnyFilter<'static>),
    /// Of counters.
    Counting(AnyCounting),
}

/// Does the same to both.
macro_rules! each {
    ($kept:expr, $filter:ident => $what:expr) => {
        match $kept {
            Kept::Bits($filter) => $what,
            Kept::Counting($filter) => $what,
        }
    };
}

impl Kept {
    pub(crate) fn kind(&self) -> FilterKind {
        match self {
            Self::Bits(filter) => filter.kind().into(),
            Self::Counting(filter) => filter.kind(),
        }
    }

    pub(crate) fn geometry(&self) -> Geometry {
        each!(self, filter => filter.geometry())
    }

    pub(crate) fn design(&self) -> Design {
        each!(self, filter => filter.design())
    }

    pub(crate) fn hasher(&self) -> &AnyHasher {
        each!(self, filter => filter.hasher())
    }

    pub(crate) fn level(&self) -> Level {
        each!(self, filter => filter.level())
    }

    pub(crate) fn size_in_bytes(&self) -> u64 {
        each!(self, filter => Contains::size_in_bytes(filter))
    }

    pub(crate) fn contains_batch(&self, digests: &[Digest], out: &mut [u64]) -> Result<(), BatchError> {
        each!(self, filter => Contains::contains_batch(filter, digests, out))
    }

    pub(crate) fn occupancy(&self) -> f64 {
        each!(self, filter => filter.occupancy())
    }

    /// `None` when there is no telling.
    pub(crate) fn estimated_keys(&self) -> Option<f64> {
        Some(each!(self, filter => filter.estimated_cardinality())).filter(|keys| keys.is_finite())
    }

    /// The rate now, by what is set.
    pub(crate) fn current_fpr(&self) -> Result<f64, AllocError> {
        match self {
            Self::Bits(filter) => Ok(filter.current_fpr()),
            Self::Counting(filter) => filter.current_fpr(),
        }
    }

    pub(crate) fn is_past_design(&self) -> bool {
        each!(self, filter => filter.is_past_design())
    }

    /// Makes it the filter of the keys of both.
    pub(crate) fn merge(&mut self, other: &Self) -> Result<(), DLeftMergeError> {
        match (&mut *self, other) {
            (Self::Bits(ours), Self::Bits(theirs)) => Ok(ours.union_with(theirs)?),
            (Self::Counting(ours), Self::Counting(theirs)) => ours.merge(theirs),
            (ours, theirs) => {
                let (left, right) = (ours.kind().name(), theirs.kind().name());
                Err(CombineError::Layout { left, right }.into())
            }
        }
    }

    /// Of filters with counters that can be.
    pub(crate) fn stuck_counters(&self) -> Option<u64> {
        match self {
            Self::Bits(_) => None,
            Self::Counting(filter) => filter.stuck_counters(),
        }
    }
}

/// Why there is no filter. `name` is the path, or `standard input`.
#[derive(Debug)]
pub(crate) enum StoredError {
    /// The file can't be opened.
    Open { name: String, source: io::Error },
    /// The file can't be read.
    Read { name: String, source: io::Error },
    /// The path is a directory.
    Directory { name: String },
    /// There are no bytes.
    Empty { name: String },
    /// There are bytes behind the filter; how many, only reading them would tell.
    Longer { name: String },
    /// It is no filter, or not one that can be read here.
    Format { name: String, source: FormatError },
}

impl fmt::Display for StoredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { name, source } => write!(f, "cannot open {name}: {source}"),
            Self::Read { name, source } => write!(f, "cannot read {name}: {source}"),
            Self::Directory { name } => write!(f, "{name} is a directory, not a filter"),
            Self::Empty { name } => write!(f, "{name} is empty, and no filter"),
            Self::Longer { name } => write!(f, "{name}: there are bytes behind the end of the filter"),
            Self::Format { name, source: FormatError::KeyMissing } => {
                write!(f, "{name}: {} (--key-file)", FormatError::KeyMissing)
            }
            Self::Format { name, source } => write!(f, "{name}: {source}"),
        }
    }
}

impl Error for StoredError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Open { source, .. } | Self::Read { source, .. } => Some(source),
            Self::Format { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Reads a filter from a file, or from standard input for `-`, and verifies all of it. `hasher` says which hasher its
/// header names: [`Header::hasher`] for a command that hashes, [`Header::unkeyed`] for one that does not.
///
/// The file is read, not mapped: what another program does to it afterwards changes nothing. While it is loaded it takes
/// its size twice.
pub(crate) fn read(
    path: &Path,
    hasher: impl FnOnce(&Header) -> Result<AnyHasher, FormatError>,
) -> Result<Stored, StoredError> {
    let stdin = path.as_os_str() == "-";
    let name = if stdin { "standard input".to_owned() } else { path.display().to_string() };
    if stdin {
        return parse(name, io::stdin().lock(), None, hasher);
    }
    let opened = File::open(path).and_then(|file| file.metadata().map(|about| (file, about)));
    match opened {
        Err(source) => Err(StoredError::Open { name, source }),
        Ok((_, about)) if about.is_dir() => Err(StoredError::Directory { name }),
        Ok((file, about)) => parse(name, file, about.is_file().then_some(about.len()), hasher),
    }
}

/// A filter from anything that can be read; of regular files the length is known.
fn parse(
    name: String,
    mut input: impl Read,
    length: Option<u64>,
    hasher: impl FnOnce(&Header) -> Result<AnyHasher, FormatError>,
) -> Result<Stored, StoredError> {
    let mut bytes = Vec::new();
    let mut fill = |bytes: &mut Vec<u8>, most: u64| input.by_ref().take(most).read_to_end(bytes);
    if let Err(source) = fill(&mut bytes, HEADER_BYTES as u64) {
        return Err(StoredError::Read { name, source });
    }
    if bytes.is_empty() {
        return Err(StoredError::Empty { name });
    }
    let needed = match announced(&bytes, length) {
        Ok(needed) => needed,
        Err(source) => return Err(StoredError::Format { name, source }),
    };
    // Where the length is not known, memory grows with what has come.
    if length.is_some() && bytes.try_reserve_exact(needed as usize + 1).is_err() {
        let source = FormatError::Alloc(AllocError::Refused { bytes: needed });
        return Err(StoredError::Format { name, source });
    }
    if let Err(source) = fill(&mut bytes, needed + 1) {
        return Err(StoredError::Read { name, source });
    }
    if bytes.len() as u64 - HEADER_BYTES as u64 > needed {
        return Err(StoredError::Longer { name });
    }
    match verified(&bytes, hasher) {
        Ok((header, filter)) => Ok(Stored { name, header, filter }),
        Err(source) => Err(StoredError::Format { name, source }),
    }
}

/// The bytes that the header says will follow, when they can be had and are there as far as is known.
fn announced(bytes: &[u8], length: Option<u64>) -> Result<u64, FormatError> {
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Err(FormatError::Truncated { bytes: bytes.len() as u64, needed: HEADER_BYTES as u64 });
    };
    let header = Header::from_bytes(header)?;
    if let Some(length) = length {
        header.check_length(length.saturating_sub(HEADER_BYTES as u64))?;
    }
    let (bytes, cap) = (header.payload_bytes(), Machine::get().memory_cap());
    if bytes > cap { Err(AllocError::OverCap { bytes, cap }.into()) } else { Ok(bytes) }
}

fn verified(
    bytes: &[u8],
    hasher: impl FnOnce(&Header) -> Result<AnyHasher, FormatError>,
) -> Result<(Header, Kept), FormatError> {
    let frame = Frame::open(bytes)?;
    // A missing secret is told before gigabytes are summed.
    let hasher = hasher(frame.header())?;
    frame.verify()?;
    let filter = match frame.header().kind {
        FilterKind::Bits(_) => Kept::Bits(frame.filter(hasher)?.to_owned()?),
        _ => Kept::Counting(frame.counting(hasher)?),
    };
    Ok((*frame.header(), filter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bloomline::{Filter, Word, format};

    /// A file that says it has so many bytes, and then has these.
    fn file(bytes: &[u8], length: Option<usize>) -> Result<Stored, String> {
        let length = length.map(|length| length as u64);
        parse("f".to_owned(), bytes, length, |header| header.hasher(None)).map_err(|error| error.to_string())
    }

    #[test]
    fn files_that_change_while_they_are_read() {
        let mut filter = Filter::<Word>::builder(1_000).build().unwrap();
        filter.insert("key");
        let good = format::to_vec(&filter);
        for length in [None, Some(good.len())] {
            let Kept::Bits(read) = file(&good, length).unwrap().filter else { panic!("bits") };
            assert_eq!(read.as_bytes(), filter.as_bytes());
            for cut in [HEADER_BYTES, HEADER_BYTES + 1, good.len() - 1] {
                assert!(file(&good[..cut], length).unwrap_err().starts_with("f: cut short: "), "{cut}");
            }
            assert_eq!(file(&[], length).unwrap_err(), "f is empty, and no filter");
            let longer = [&good[..], b"xyz"].concat();
            assert_eq!(file(&longer, length).unwrap_err(), "f: there are bytes behind the end of the filter");
            let mut other = good.clone();
            other[HEADER_BYTES] ^= 1;
            assert!(file(&other, length).unwrap_err().starts_with("f: the filter's bits are damaged"));
        }
        // A length that is known to be wrong is told before anything is read.
        assert_eq!(file(&good, Some(good.len() + 3)).unwrap_err(), "f: 3 bytes behind the end of the filter");
        assert!(file(&good, Some(0)).unwrap_err().starts_with("f: cut short: "));
    }

    #[test]
    fn a_file_that_can_not_be_read() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is on fire"))
            }
        }
        let error = parse("f".to_owned(), Broken, None, |header| header.hasher(None)).unwrap_err();
        assert_eq!(error.to_string(), "cannot read f: the disk is on fire");
    }
}
