//! Caches, as Linux describes them under `/sys/devices/system/cpu/cpu0/cache/index*`.

use std::path::Path;

use super::{list_len, read_text};

/// One level of cache, seen from the first CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cache {
    /// Size in bytes.
    pub bytes: u64,
    /// Size of a line in bytes.
    pub line_bytes: u32,
    /// How many logical CPUs share it, as the kernel says. A virtual machine knows only its own.
    pub shared_by: u32,
}

impl Cache {
    pub(super) const fn new(bytes: u64, line_bytes: u32, shared_by: u32) -> Self {
        Self { bytes, line_bytes, shared_by }
    }
}

/// What the folder told: a level that it does not list is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Caches {
    pub(super) l1d: Option<Cache>,
    pub(super) l2: Option<Cache>,
    pub(super) l3: Option<Cache>,
}

/// No computer lists more caches for one CPU than this.
const MAX_INDEX: u32 = 16;

/// Reads every `index*` under `dir`. Entries that make no sense are left out.
pub(super) fn read(dir: &Path) -> Caches {
    let mut caches = Caches::default();
    for index in 0..MAX_INDEX {
        let entry = dir.join(format!("index{index}"));
        let text = |name: &str| read_text(&entry.join(name));
        let (Some(level), Some(kind), Some(size)) = (text("level"), text("type"), text("size")) else { continue };
        let line = text("coherency_line_size");
        let shared = text("shared_cpu_list");
        let Some((level, cache)) = parse_index(&level, &kind, &size, line.as_deref(), shared.as_deref()) else {
            continue;
        };
        let slot = match level {
            1 => &mut caches.l1d,
            2 => &mut caches.l2,
            3 => &mut caches.l3,
            _ => continue,
        };
        if slot.is_none_or(|old| old.bytes < cache.bytes) {
            *slot = Some(cache);
        }
    }
    caches
}

/// One `index*` entry from the text of its files: its level and the cache, unless it holds instructions only or the
/// text is no description of a cache. A missing or senseless line size counts as 64, missing sharers as one.
pub(super) fn parse_index(
    level: &str,
    kind: &str,
    size: &str,
    line: Option<&str>,
    shared: Option<&str>,
) -> Option<(u32, Cache)> {
    if !matches!(kind.trim(), "Data" | "Unified") {
        return None;
    }
    let level = level.trim().parse().ok()?;
    let bytes = parse_size(size)?;
    let line_bytes = line
        .and_then(|text| text.trim().parse::<u32>().ok())
        .filter(|n| n.is_power_of_two() && (8..=4096).contains(n))
        .unwrap_or(64);
    let shared_by = shared.and_then(list_len).unwrap_or(1).max(1);
    Some((level, Cache::new(bytes, line_bytes, shared_by)))
}

/// `32K`, `1024K`, `8M`, or plain bytes. Zero is no size.
pub(super) fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' | b'k' => (&text[..text.len() - 1], 10),
        b'M' | b'm' => (&text[..text.len() - 1], 20),
        b'G' | b'g' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let bytes = digits.trim().parse::<u64>().ok()?.checked_mul(1 << shift)?;
    (bytes > 0).then_some(bytes)
}

/// The L3 cache per core that today's server processors are built with: 4 MiB on the generous ones, 1.3 to 2 MiB on
/// others.
const GUEST_L3_PER_CPU: u64 = 4 << 20;

/// How much of the L3 cache a filter of this process can expect to keep. See [`Machine`](super::Machine) for why.
pub(super) fn l3_share(l2: Cache, l3: Option<Cache>, virtual_machine: bool) -> u64 {
    let Some(l3) = l3 else { return 0 };
    if !virtual_machine {
        return l3.bytes;
    }
    let share = GUEST_L3_PER_CPU.saturating_mul(u64::from(l3.shared_by));
    share.max(l2.bytes.saturating_mul(2)).min(l3.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("32K\n"), Some(32 << 10));
        assert_eq!(parse_size("1024K"), Some(MIB));
        assert_eq!(parse_size("8M"), Some(8 * MIB));
        assert_eq!(parse_size("1G"), Some(1 << 30));
        assert_eq!(parse_size("49152"), Some(49152));
        for bad in
            ["", "\n", "K", "0K", "-1K", "32KB", "1.5M", "KKK", "99999999999999999999K", "18446744073709551615G", "é"]
        {
            assert_eq!(parse_size(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn an_entry() {
        let l3 = parse_index("3\n", "Unified\n", "32768K\n", Some("64\n"), Some("0-1\n"));
        assert_eq!(l3, Some((3, Cache::new(32 * MIB, 64, 2))));
        let odd = parse_index("1", "Data", "128K", Some("128"), Some("0,4-6"));
        assert_eq!(odd, Some((1, Cache::new(128 << 10, 128, 4))));
        assert_eq!(parse_index("1", "Instruction", "32K", None, None), None);
        assert_eq!(parse_index("x", "Data", "32K", None, None), None);
        assert_eq!(parse_index("1", "Data", "unknown", None, None), None);
        let bare = parse_index("2", "Unified", "1M", Some("sixty-four"), Some("9-3"));
        assert_eq!(bare, Some((2, Cache::new(MIB, 64, 1))));
        let zero = parse_index("2", "Unified", "1M", Some("0"), Some(""));
        assert_eq!(zero, Some((2, Cache::new(MIB, 64, 1))));
    }

    #[test]
    fn a_share_of_l3() {
        let l2 = Cache::new(MIB, 64, 1);
        let l3 = |mib: u64, cpus| Some(Cache::new(mib * MIB, 64, cpus));
        // A guest of two CPUs on a cache of eight cores.
        assert_eq!(l3_share(l2, l3(32, 2), true), 8 * MIB);
        // A guest that sees every sharer owns the cache, and never more than the cache.
        assert_eq!(l3_share(l2, l3(32, 8), true), 32 * MIB);
        assert_eq!(l3_share(l2, l3(32, 64), true), 32 * MIB);
        // No guest: all of it, whoever shares it.
        assert_eq!(l3_share(l2, l3(32, 16), false), 32 * MIB);
        // At least twice the L2, unless the L3 is smaller still.
        let big_l2 = Cache::new(4 * MIB, 64, 1);
        assert_eq!(l3_share(big_l2, l3(32, 1), true), 8 * MIB);
        assert_eq!(l3_share(big_l2, l3(2, 1), true), 2 * MIB);
        assert_eq!(l3_share(l2, None, true), 0);
        let absurd = Cache::new(u64::MAX, 64, u32::MAX);
        assert!(l3_share(absurd, Some(absurd), true) > 0);
    }

    #[test]
    fn a_folder_that_is_not_there() {
        assert_eq!(read(Path::new("/nowhere/at/all")), Caches::default());
    }
}
