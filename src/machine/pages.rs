//! Pages: their size, and which memory is backed by huge ones.

use std::fmt;
use std::io::BufRead;
use std::ops::Range;

/// When the kernel backs anonymous memory with huge pages by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TransparentHugePages {
    /// Wherever they fit.
    Always,
    /// Where a program asks for them (`madvise`), as large filters do.
    Madvise,
    /// Never.
    Never,
    /// The kernel does not say.
    Unknown,
}

impl TransparentHugePages {
    /// The kernel's own word for it: `always`, `madvise`, `never`; `unknown` when it does not say.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Madvise => "madvise",
            Self::Never => "never",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for TransparentHugePages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The bracketed word of `/sys/kernel/mm/transparent_hugepage/enabled`.
pub(super) fn parse_thp(text: &str) -> TransparentHugePages {
    let chosen = text.split_ascii_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    match chosen {
        Some("always") => TransparentHugePages::Always,
        Some("madvise") => TransparentHugePages::Madvise,
        Some("never") => TransparentHugePages::Never,
        _ => TransparentHugePages::Unknown,
    }
}

/// The page size in `/proc/self/auxv`: pairs of native words, a kind and a value.
pub(super) fn parse_auxv(bytes: &[u8]) -> Option<u64> {
    const WORD: usize = size_of::<usize>();
    const AT_PAGESZ: usize = 6;
    let (words, _) = bytes.as_chunks::<WORD>();
    let mut pairs = words.chunks_exact(2).map(|pair| (usize::from_ne_bytes(pair[0]), usize::from_ne_bytes(pair[1])));
    let (_, size) = pairs.find(|&(kind, _)| kind == AT_PAGESZ)?;
    u64::try_from(size).ok().filter(|&size| is_page_size(size))
}

/// Whether a number can be the size of a page.
pub(super) fn is_page_size(bytes: u64) -> bool {
    bytes.is_power_of_two() && (512..=1 << 40).contains(&bytes)
}

/// Sums the huge pages of the mappings in `smaps` that overlap `range`; no mapping counts for more than its overlap.
/// `None` when no mapping overlaps, or the text can't be read.
pub(super) fn huge_in_smaps(mut smaps: impl BufRead, range: &Range<u64>) -> Option<u64> {
    const HUGE: [&[u8]; 5] =
        [b"AnonHugePages:", b"ShmemPmdMapped:", b"FilePmdMapped:", b"Shared_Hugetlb:", b"Private_Hugetlb:"];
    let mut total = 0_u64;
    let mut found = false;
    // The overlap of the mapping that is being read, and its huge bytes so far.
    let mut current: Option<(u64, u64)> = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        if smaps.read_until(b'\n', &mut line).ok()? == 0 {
            break;
        }
        if let Some(mapping) = parse_mapping(&line) {
            total = total.saturating_add(current.take().map_or(0, |(overlap, huge)| huge.min(overlap)));
            // Mappings are listed by rising address.
            if mapping.start >= range.end {
                break;
            }
            let overlap = mapping.end.min(range.end).saturating_sub(mapping.start.max(range.start));
            if overlap > 0 {
                found = true;
                current = Some((overlap, 0));
            }
        } else if let Some((_, huge)) = &mut current
            && let Some(rest) = HUGE.iter().find_map(|name| line.strip_prefix(*name))
        {
            *huge = huge.saturating_add(parse_kib(rest).unwrap_or(0));
        }
    }
    total = total.saturating_add(current.map_or(0, |(overlap, huge)| huge.min(overlap)));
    found.then_some(total)
}

/// `start-end` in hexadecimal, as the first line of a mapping begins.
fn parse_mapping(line: &[u8]) -> Option<Range<u64>> {
    let word = line.split(|&byte| byte == b' ').next()?;
    let (start, end) = std::str::from_utf8(word).ok()?.trim_end().split_once('-')?;
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    Some(hex(start)?..hex(end)?)
}

/// `  12 kB` in bytes.
fn parse_kib(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?.trim();
    text.strip_suffix("kB")?.trim_end().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
1000-2000 r--p 00000000 fe:00 247282                     /usr/bin/some file
Size:                  4 kB
AnonHugePages:         4 kB
VmFlags: rd mr mw me
200000-800000 rw-p 00000000 00:00 0
Size:               6144 kB
AnonHugePages:      4096 kB
ShmemPmdMapped:        0 kB
800000-c00000 rw-p 00000000 00:00 0                      /dev/hugepages/é
Private_Hugetlb:    2048 kB
Shared_Hugetlb:     2048 kB
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]
AnonHugePages:         4 kB
";

    fn huge(text: &str, range: Range<u64>) -> Option<u64> {
        huge_in_smaps(text.as_bytes(), &range)
    }

    #[test]
    fn transparent_huge_pages() {
        assert_eq!(parse_thp("always [madvise] never\n"), TransparentHugePages::Madvise);
        assert_eq!(parse_thp("[always] madvise never"), TransparentHugePages::Always);
        assert_eq!(parse_thp("always madvise [never]"), TransparentHugePages::Never);
        for odd in ["", "always madvise never", "[]", "[", "[sometimes]", "[ always ]"] {
            assert_eq!(parse_thp(odd), TransparentHugePages::Unknown, "{odd:?}");
        }
        assert_eq!(format!("{:>8}", TransparentHugePages::Never), "   never");
    }

    #[test]
    fn page_size_in_auxv() {
        let words = |list: &[usize]| list.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        assert_eq!(parse_auxv(&words(&[33, 77, 6, 4096, 0, 0])), Some(4096));
        assert_eq!(parse_auxv(&words(&[6, 65536])), Some(65536));
        assert_eq!(parse_auxv(&words(&[6, 0])), None);
        assert_eq!(parse_auxv(&words(&[6, 4097])), None);
        assert_eq!(parse_auxv(&words(&[6])), None);
        assert_eq!(parse_auxv(&words(&[7, 6, 0, 4096])), None);
        assert_eq!(parse_auxv(b"\x06"), None);
        assert_eq!(parse_auxv(b""), None);
    }

    #[test]
    fn huge_pages_of_a_range() {
        assert_eq!(huge(SMAPS, 0x20_0000..0x80_0000), Some(4 << 20));
        // Over two mappings.
        assert_eq!(huge(SMAPS, 0x20_0000..0xc0_0000), Some(8 << 20));
        // A mapping never counts for more than its overlap.
        assert_eq!(huge(SMAPS, 0x20_0000..0x20_1000), Some(0x1000));
        assert_eq!(huge(SMAPS, 0x1800..0x1801), Some(1));
        // Nothing there, nothing asked, nothing but noise.
        assert_eq!(huge(SMAPS, 0x2000..0x3000), None);
        assert_eq!(huge(SMAPS, 0x20_0000..0x20_0000), None);
        assert_eq!(huge(SMAPS, u64::MAX - 1..u64::MAX), None);
        assert_eq!(huge("", 0..u64::MAX), None);
        assert_eq!(huge("-\n:\nAnonHugePages: 4 kB\nzz-yy\n\n", 0..u64::MAX), None);
        assert_eq!(huge("0-10 \nAnonHugePages: x kB\nAnonHugePages:\nAnonHugePages: 1 MB", 0..16), Some(0));
        assert_eq!(huge("5-1 \nAnonHugePages: 4 kB\n", 0..16), None);
        let bytes: &[u8] = b"0-1000 rw-p \xff\xfe\nAnonHugePages: 4 kB\nName: \xff\n";
        assert_eq!(huge_in_smaps(bytes, &(0..4096)), Some(4096));
    }
}
