//! What this computer is: caches, pages, memory, and in which tier of memory a filter of a given size will live.
//!
//! Nothing here fails. What can't be read (another operating system, a sandbox without `/sys`) is replaced by a
//! plain assumption, and [`Machine::assumed`] names the field:
//!
//! | field | assumed |
//! |---|---|
//! | `logical_cpus` | as many as this process can use |
//! | `l1d` | 32 KiB, 64-byte lines |
//! | `l2` | 512 KiB |
//! | `l3` | 8 MiB (only when no cache at all can be read; a computer that lists its caches and no L3 has none) |
//! | `page_bytes` | 4,096 |
//! | `memory_bytes` | 8 GiB |
//!
//! ```
//! use bloomline::machine::{Machine, Tier};
//!
//! let machine = Machine::get();
//! assert_eq!(machine.tier(0), Tier::L1);
//! assert_eq!(machine.tier(u64::MAX), Tier::Dram);
//! println!("a filter of 4 MiB lives in {}", machine.tier(4 << 20));
//! println!("and none may take more than {} bytes", machine.memory_cap());
//! ```

mod caches;
mod memory;
mod pages;

use std::fmt;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use caches::Cache;
pub use pages::TransparentHugePages;

const ASSUMED_L1D: Cache = Cache::new(32 << 10, 64, 1);
const ASSUMED_L2: Cache = Cache::new(512 << 10, 64, 1);
const ASSUMED_L3: Cache = Cache::new(8 << 20, 64, 1);
const ASSUMED_PAGE: u64 = 4096;
const ASSUMED_MEMORY: u64 = 8 << 30;

/// Where the bits of a filter are when a lookup comes: the smallest level of the memory system that holds all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// The first-level data cache.
    L1,
    /// The second-level cache.
    L2,
    /// The last-level cache, or this process's share of it.
    L3,
    /// Main memory.
    Dram,
}

impl Tier {
    /// Every tier, nearest first.
    pub const ALL: [Self; 4] = [Self::L1, Self::L2, Self::L3, Self::Dram];

    /// `L1`, `L2`, `L3` or `DRAM`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
            Self::Dram => "DRAM",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// This computer, as far as filters care.
///
/// Caches are those of the first CPU; on a processor with two kinds of core they are the first kind's.
///
/// # The share of the L3 cache
///
/// A line of an L3 cache serves every core below it, and a filter is one object that all threads of a process read, so
/// on bare metal the whole L3 counts: dividing it by the CPUs that share it would call a 4 MiB filter on a 32 MiB
/// cache "DRAM".
///
/// A virtual machine is told the size of the whole cache but only its own CPUs as sharers; the other cores belong to
/// neighbours, who use their part. How many cores there are it can't know. So a guest counts on 4 MiB for each of its
/// CPUs below the cache, which is what the more generous server processors have per core; never on less than twice the
/// L2 cache, never on more than the L3. On a guest of two CPUs with a 32 MiB L3 that gives 8 MiB. There, independent
/// random loads from huge pages took 3.2 ns over 8 MiB, 4.9 over 16 MiB, 15.4 over 32 MiB and 17.7 over 64 MiB.
///
/// Taking the share too large or too small costs little: it only moves the size from which lookups are pipelined for
/// main memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Machine {
    /// The name of the processor, when the kernel tells it.
    pub cpu_model: Option<String>,
    /// Logical CPUs that are online.
    pub logical_cpus: u32,
    /// Logical CPUs that this process could use when it asked first (affinity and quotas counted).
    pub usable_cpus: u32,
    /// Whether the processor says that it is a guest of a hypervisor.
    pub virtual_machine: bool,
    /// First-level data cache.
    pub l1d: Cache,
    /// Second-level cache.
    pub l2: Cache,
    /// Third-level cache, if there is one.
    pub l3: Option<Cache>,
    /// The part of the L3 cache that a filter can expect to keep; 0 without an L3.
    pub l3_share_bytes: u64,
    /// Size of an ordinary page.
    pub page_bytes: u64,
    /// Size of a transparent huge page, where there are any.
    pub huge_page_bytes: Option<u64>,
    /// When transparent huge pages are used.
    pub transparent_huge_pages: TransparentHugePages,
    /// All memory of the machine.
    pub memory_bytes: u64,
    /// The smallest memory limit of the control groups that this process is in.
    pub cgroup_limit_bytes: Option<u64>,
    /// Names of the fields that could not be read and hold an assumption instead.
    pub assumed: Vec<&'static str>,
}

impl Machine {
    /// The computer this process runs on, read once.
    #[must_use]
    pub fn get() -> &'static Self {
        static MACHINE: OnceLock<Machine> = OnceLock::new();
        MACHINE.get_or_init(|| Self::detect(Path::new("/")))
    }

    /// Where a filter of so many bytes lives once it is warm: in the first cache that is large enough for all of it.
    ///
    /// ```
    /// use bloomline::machine::{Machine, Tier};
    ///
    /// let machine = Machine::get();
    /// assert_eq!(machine.tier(machine.l1d.bytes), Tier::L1);
    /// assert!(machine.tier(1 << 50) > machine.tier(1 << 10));
    /// ```
    #[must_use]
    pub fn tier(&self, bytes: u64) -> Tier {
        if bytes <= self.l1d.bytes {
            Tier::L1
        } else if bytes <= self.l2.bytes {
            Tier::L2
        } else if bytes <= self.l3_share_bytes {
            Tier::L3
        } else {
            Tier::Dram
        }
    }

    /// The largest filter that is allocated unless a builder says otherwise: half of the machine's memory or of the
    /// control group's limit, whichever is smaller.
    #[must_use]
    pub fn memory_cap(&self) -> u64 {
        self.memory_bytes.min(self.cgroup_limit_bytes.unwrap_or(u64::MAX)) / 2
    }

    /// Reads everything below `root`, which stands for `/`.
    fn detect(root: &Path) -> Self {
        let text = |path: &str| read_text(&below(root, Path::new(path)));
        let mut assumed = Vec::new();

        let cpuinfo = text("/proc/cpuinfo").unwrap_or_default();
        let virtual_machine = has_hypervisor(&cpuinfo) || text("/sys/hypervisor/type").is_some();
        let usable_cpus =
            std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX));
        let online = text("/sys/devices/system/cpu/online").and_then(|list| list_len(&list));
        let logical_cpus = or_assume(online, "logical_cpus", usable_cpus, &mut assumed);

        let found = caches::read(&below(root, Path::new("/sys/devices/system/cpu/cpu0/cache")));
        let l3 = if found == caches::Caches::default() {
            Some(or_assume(None, "l3", ASSUMED_L3, &mut assumed))
        } else {
            found.l3
        };
        let l1d = or_assume(found.l1d, "l1d", ASSUMED_L1D, &mut assumed);
        let l2 = or_assume(found.l2, "l2", ASSUMED_L2, &mut assumed);

        let page = read_some(&below(root, Path::new("/proc/self/auxv"))).and_then(|bytes| pages::parse_auxv(&bytes));
        let huge_page_bytes = text("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
            .and_then(|text| text.trim().parse().ok())
            .filter(|&bytes| pages::is_page_size(bytes));
        let thp = text("/sys/kernel/mm/transparent_hugepage/enabled");

        let memory = text("/proc/meminfo").and_then(|text| memory::parse_meminfo(&text));
        let cgroup = text("/proc/self/cgroup").unwrap_or_default();
        let mountinfo = text("/proc/self/mountinfo").unwrap_or_default();

        Self {
            cpu_model: parse_model(&cpuinfo),
            logical_cpus,
            usable_cpus,
            virtual_machine,
            l1d,
            l2,
            l3,
            l3_share_bytes: caches::l3_share(l2, l3, virtual_machine),
            page_bytes: or_assume(page, "page_bytes", ASSUMED_PAGE, &mut assumed),
            huge_page_bytes,
            transparent_huge_pages: thp.map_or(TransparentHugePages::Unknown, |text| pages::parse_thp(&text)),
            memory_bytes: or_assume(memory, "memory_bytes", ASSUMED_MEMORY, &mut assumed),
            cgroup_limit_bytes: memory::cgroup_limit(root, &cgroup, &mountinfo),
            assumed,
        }
    }
}

/// How many bytes of the given address range are backed by huge pages now, of whatever kind, from `/proc/self/smaps`.
///
/// The kernel counts by mapping, and merges neighbouring mappings: where the range is a part of a larger mapping the
/// answer is an upper bound (that mapping's huge bytes, at most the length of the range). `None` where the kernel does
/// not tell, or nothing is mapped there. The kernel walks the page tables for this: it takes milliseconds for large
/// processes, so ask when reporting, not when looking up.
///
/// ```
/// use bloomline::machine::huge_bytes;
///
/// let words = vec![1_u64; 1 << 16];
/// let range = words.as_ptr_range();
/// if let Some(huge) = huge_bytes(range.start.addr()..range.end.addr()) {
///     assert!(huge <= 8 << 16);
/// }
/// ```
#[must_use]
pub fn huge_bytes(range: Range<usize>) -> Option<u64> {
    let range = u64::try_from(range.start).ok()?..u64::try_from(range.end).ok()?;
    let smaps = File::open("/proc/self/smaps").ok()?;
    pages::huge_in_smaps(BufReader::with_capacity(1 << 16, smaps), &range)
}

/// `found`, or the assumption, with its field noted.
fn or_assume<T>(found: Option<T>, field: &'static str, default: T, assumed: &mut Vec<&'static str>) -> T {
    found.unwrap_or_else(|| {
        assumed.push(field);
        default
    })
}

/// The most that is read of any file: `cpuinfo` repeats itself for every CPU, and the first will do.
const READ_MAX: u64 = 64 << 10;

fn read_some(path: &Path) -> Option<Vec<u8>> {
    if fs::metadata(path).ok()?.is_dir() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(READ_MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn read_text(path: &Path) -> Option<String> {
    read_some(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The absolute `path`, moved below `root`.
fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// How many CPUs a list such as `0-3,8,10-11` names.
fn list_len(list: &str) -> Option<u32> {
    let mut total = 0_u32;
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        total = total.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(total)
}

/// The value of the first line of `cpuinfo` with this name.
fn cpuinfo_field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim()).filter(|value| !value.is_empty())
    })
}

/// The processor's name; ARM kernels give numbers instead.
fn parse_model(text: &str) -> Option<String> {
    if let Some(name) = cpuinfo_field(text, "model name") {
        return Some(name.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    let implementer = cpuinfo_field(text, "CPU implementer")?;
    let part = cpuinfo_field(text, "CPU part")?;
    Some(format!("ARM implementer {implementer} part {part}"))
}

fn has_hypervisor(text: &str) -> bool {
    cpuinfo_field(text, "flags").is_some_and(|flags| flags.split_ascii_whitespace().any(|flag| flag == "hypervisor"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small `/` in a temporary folder, removed when dropped.
    struct Root(PathBuf);

    impl Root {
        fn new(name: &str, files: &[(&str, &[u8])]) -> Self {
            let root = std::env::temp_dir().join(format!("bloomline-machine-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&root);
            fs::create_dir_all(&root).unwrap();
            for (path, bytes) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, bytes).unwrap();
            }
            Self(root)
        }

        fn detect(&self) -> Machine {
            Machine::detect(&self.0)
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn cpu_lists() {
        assert_eq!(list_len("0\n"), Some(1));
        assert_eq!(list_len("0-1"), Some(2));
        assert_eq!(list_len("0-3,8,10-11"), Some(7));
        for bad in ["", "-", "0-", "-3", "a", "3-1", "0,,1", "0-4294967295", "0-4294967294,0-5", "99999999999"] {
            assert_eq!(list_len(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn cpu_names() {
        let x86 = "processor\t: 0\nmodel name\t: AMD  EPYC 9B14 \nflags\t\t: fpu sse hypervisor avx2\n";
        assert_eq!(parse_model(x86).as_deref(), Some("AMD EPYC 9B14"));
        assert!(has_hypervisor(x86));
        assert!(!has_hypervisor("flags : fpu hypervisors\n"));
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(parse_model(arm).as_deref(), Some("ARM implementer 0x41 part 0xd0c"));
        for bad in ["", ":", "model name:", "model name", "CPU part: 1"] {
            assert_eq!(parse_model(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn nothing_to_read() {
        let machine = Root::new("nothing", &[]).detect();
        assert_eq!(machine.assumed, ["logical_cpus", "l3", "l1d", "l2", "page_bytes", "memory_bytes"]);
        assert_eq!(machine.memory_cap(), 4 << 30);
        assert_eq!(machine.tier(32 << 10), Tier::L1);
        assert_eq!(machine.tier((32 << 10) + 1), Tier::L2);
        assert_eq!(machine.tier(8 << 20), Tier::L3);
        assert_eq!(machine.tier((8 << 20) + 1), Tier::Dram);
        assert_eq!(machine.cpu_model, None);
        assert_eq!(machine.transparent_huge_pages, TransparentHugePages::Unknown);
    }

    #[test]
    fn garbage_everywhere() {
        let noise: &[u8] = b"\xff\xfe\0: [-]\n-1K 0:: \\777\n";
        let paths = [
            "proc/cpuinfo",
            "proc/meminfo",
            "proc/self/auxv",
            "proc/self/cgroup",
            "proc/self/mountinfo",
            "sys/devices/system/cpu/online",
            "sys/devices/system/cpu/cpu0/cache/index0/level",
            "sys/devices/system/cpu/cpu0/cache/index0/type",
            "sys/devices/system/cpu/cpu0/cache/index0/size",
            "sys/kernel/mm/transparent_hugepage/enabled",
            "sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
        ];
        let machine = Root::new("garbage", &paths.map(|path| (path, noise))).detect();
        assert_eq!(machine.assumed.len(), 6);
        assert_eq!(machine.huge_page_bytes, None);
        assert_eq!(machine.cgroup_limit_bytes, None);
        // Folders where files should be.
        let inside = paths.map(|path| format!("{path}/x"));
        let files: Vec<(&str, &[u8])> = inside.iter().map(|path| (path.as_str(), noise)).collect();
        assert_eq!(Root::new("folders", &files).detect().assumed.len(), 6);
    }

    const CACHE: &str = "sys/devices/system/cpu/cpu0/cache";

    fn cache_files(index: u32, level: &str, kind: &str, size: &str, cpus: &str) -> Vec<(String, Vec<u8>)> {
        [("level", level), ("type", kind), ("size", size), ("coherency_line_size", "64"), ("shared_cpu_list", cpus)]
            .map(|(name, text)| (format!("{CACHE}/index{index}/{name}"), format!("{text}\n").into_bytes()))
            .to_vec()
    }

    #[test]
    fn a_guest_in_a_container() {
        let mut files = cache_files(0, "1", "Data", "48K", "0");
        files.extend(cache_files(1, "1", "Instruction", "32K", "0"));
        files.extend(cache_files(2, "2", "Unified", "1024K", "0"));
        files.extend(cache_files(3, "3", "Unified", "32768K", "0-1"));
        let texts = [
            ("proc/cpuinfo", "model name : Some CPU\nflags : hypervisor\n"),
            ("proc/meminfo", "MemTotal: 8388608 kB\n"),
            ("proc/self/cgroup", "0::/box/inner\n"),
            ("sys/fs/cgroup/memory.max", "max\n"),
            ("sys/fs/cgroup/box/memory.max", "1073741824\n"),
            ("sys/fs/cgroup/box/inner/memory.max", "4294967296\n"),
            ("sys/devices/system/cpu/online", "0-1\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n"),
        ];
        files.extend(texts.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())));
        let files: Vec<(&str, &[u8])> = files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
        let machine = Root::new("guest", &files).detect();
        assert_eq!(machine.assumed, ["page_bytes"]);
        assert_eq!(machine.l1d.bytes, 48 << 10);
        assert_eq!(machine.l2.bytes, 1 << 20);
        assert_eq!(machine.l3.map(|l3| (l3.bytes, l3.shared_by)), Some((32 << 20, 2)));
        assert_eq!(machine.l3_share_bytes, 8 << 20);
        assert_eq!(machine.logical_cpus, 2);
        assert_eq!(machine.memory_bytes, 8 << 30);
        // The parent's limit is the smaller one.
        assert_eq!(machine.cgroup_limit_bytes, Some(1 << 30));
        assert_eq!(machine.memory_cap(), 1 << 29);
        assert_eq!(machine.huge_page_bytes, Some(2 << 20));
        assert!(machine.virtual_machine);
    }

    #[test]
    fn control_groups_of_version_1_and_no_l3() {
        let mut files = cache_files(0, "1", "Data", "64K", "0");
        files.extend(cache_files(1, "2", "Unified", "512K", "0-3"));
        let texts = [
            ("proc/meminfo", "MemTotal: 1048576 kB\n"),
            ("proc/self/cgroup", "5:cpu:/\n4:memory:/docker/abc\n0::/\n"),
            ("proc/self/mountinfo", "9 8 0:3 /docker/abc /cg/mem rw - cgroup cgroup rw,memory\n"),
            ("cg/mem/memory.limit_in_bytes", "268435456\n"),
            ("cg/memory.limit_in_bytes", "1\n"),
        ];
        files.extend(texts.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())));
        let files: Vec<(&str, &[u8])> = files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
        let machine = Root::new("v1", &files).detect();
        assert_eq!(machine.cgroup_limit_bytes, Some(256 << 20));
        assert_eq!(machine.memory_cap(), 128 << 20);
        assert_eq!(machine.l3, None);
        assert_eq!(machine.tier(512 << 10), Tier::L2);
        assert_eq!(machine.tier((512 << 10) + 1), Tier::Dram);
        assert!(!machine.virtual_machine);
    }

    #[test]
    fn this_machine() {
        let machine = Machine::get();
        assert!(machine.l1d.bytes >= 4 << 10);
        assert!(machine.page_bytes.is_power_of_two());
        assert!(machine.memory_cap() > 0);
        assert!(machine.memory_cap() <= machine.memory_bytes / 2);
        assert!(std::ptr::eq(machine, Machine::get()));
        let order: Vec<Tier> = (0..64).map(|shift| machine.tier(1 << shift)).collect();
        assert!(order.is_sorted());
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[cfg_attr(miri, ignore = "Miri's addresses are not the process's")]
    fn huge_pages_of_this_process() {
        let bytes = vec![1_u8; 1 << 20];
        let range = bytes.as_ptr_range();
        let range = range.start.addr()..range.end.addr();
        let huge = huge_bytes(range).expect("smaps is readable for one's own process");
        assert!(huge <= 1 << 20);
        assert_eq!(huge_bytes(0..1), None);
    }
}
