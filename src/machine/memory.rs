//! Memory: the machine's, and what the control group of this process allows.

use std::path::{Path, PathBuf};

use super::{below, read_text};

/// Limits from here on mean "no limit": version 1 writes the largest page-aligned `i64`.
const NO_LIMIT: u64 = 1 << 62;

/// `MemTotal` of `/proc/meminfo`, in bytes.
pub(super) fn parse_meminfo(text: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let mut words = rest.split_ascii_whitespace();
    let kib: u64 = words.next()?.parse().ok()?;
    (words.next() == Some("kB")).then_some(())?;
    kib.checked_mul(1024).filter(|&bytes| bytes > 0)
}

/// One limit file: `max` (version 2) and absurdly large numbers (version 1) are no limit, and neither is nonsense.
pub(super) fn parse_limit(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|&bytes| bytes > 0 && bytes < NO_LIMIT)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V2,
}

impl Version {
    fn limit_file(self) -> &'static str {
        match self {
            Version::V1 => "memory.limit_in_bytes",
            Version::V2 => "memory.max",
        }
    }
}

/// The path of this process in the hierarchy that `version` uses for memory, from the text of `/proc/self/cgroup`.
pub(super) fn parse_cgroup(text: &str, version: Version) -> Option<&str> {
    text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (id, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let found = match version {
            Version::V1 => controllers.split(',').any(|name| name == "memory"),
            Version::V2 => id == "0" && controllers.is_empty(),
        };
        (found && path.starts_with('/')).then_some(path)
    })
}

/// Where a hierarchy is mounted, and which part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) root: String,
    pub(super) point: String,
}

/// The mount of the hierarchy that `version` uses for memory, from the text of `/proc/self/mountinfo`.
pub(super) fn parse_mountinfo(text: &str, version: Version) -> Option<Mount> {
    text.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let mut fields = after.split(' ');
        let (kind, options) = (fields.next()?, fields.nth(1)?);
        let found = match version {
            Version::V1 => kind == "cgroup" && options.split(',').any(|name| name == "memory"),
            Version::V2 => kind == "cgroup2",
        };
        found.then(|| Mount { root: unescape(root), point: unescape(point) })
    })
}

/// Undoes the octal escapes (`\040` for a space) of `mountinfo`.
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if byte.is_ascii() => {
                out.push(char::from(byte));
                out.push_str(&part[3..]);
            }
            _ => {
                out.push('\\');
                out.push_str(part);
            }
        }
    }
    out
}

/// The folders that can hold a limit on this process: its own, then its parents, up to the mount point.
///
/// A path that does not lie under the mounted part (a container that sees only its own subtree, a path with `..`)
/// leaves the mount point itself, which is then the container's own group.
pub(super) fn folders(mount: &Mount, path: &str) -> Vec<PathBuf> {
    let inside = match path.strip_prefix(mount.root.trim_end_matches('/')) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => rest.trim_matches('/'),
        _ => "",
    };
    let inside = if inside.split('/').any(|part| part == "..") { "" } else { inside };
    let top = PathBuf::from(&mount.point);
    let start = if inside.is_empty() { top.clone() } else { top.join(inside) };
    start.ancestors().take_while(|folder| folder.starts_with(&top)).map(Path::to_path_buf).collect()
}

/// The smallest memory limit on the way up from this process, in either version; `None` when there is none. `root`
/// stands for `/`.
pub(super) fn cgroup_limit(root: &Path, cgroup: &str, mountinfo: &str) -> Option<u64> {
    let usual = |point: &str| Mount { root: "/".to_owned(), point: point.to_owned() };
    let places = [(Version::V1, "/sys/fs/cgroup/memory"), (Version::V2, "/sys/fs/cgroup")];
    places
        .into_iter()
        .filter_map(|(version, point)| {
            let path = parse_cgroup(cgroup, version)?;
            let mount = parse_mountinfo(mountinfo, version).unwrap_or_else(|| usual(point));
            let files = folders(&mount, path).into_iter().map(|folder| folder.join(version.limit_file()));
            files.filter_map(|file| parse_limit(&read_text(&below(root, &file))?)).min()
        })
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = "9:name=systemd:/\n7:blkio:/\n4:cpu,memory:/jobs/a:b\n0::/\n";
    const V2: &str = "0::/user.slice/user-1000.slice/session-2.scope\n";
    const MOUNTS_V1: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 master:2 - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

    #[test]
    fn meminfo() {
        assert_eq!(parse_meminfo("MemTotal:       24684084 kB\nMemFree: 1 kB\n"), Some(24_684_084 << 10));
        assert_eq!(parse_meminfo("MemFree: 1 kB\nMemTotal: 7 kB"), Some(7 << 10));
        for bad in ["", "MemTotal:", "MemTotal: x kB", "MemTotal: 1", "MemTotal: 1 MB", "MemTotal: 0 kB"] {
            assert_eq!(parse_meminfo(bad), None, "{bad:?}");
        }
        assert_eq!(parse_meminfo("MemTotal: 18446744073709551615 kB"), None);
    }

    #[test]
    fn limits() {
        assert_eq!(parse_limit("536870912\n"), Some(512 << 20));
        for none in
            ["max\n", "9223372036854771712\n", "18446744073709551615", "", "0", "-1", "12 34", "1e9", "\u{fffd}"]
        {
            assert_eq!(parse_limit(none), None, "{none:?}");
        }
    }

    #[test]
    fn cgroup_paths() {
        assert_eq!(parse_cgroup(V1, Version::V1), Some("/jobs/a:b"));
        assert_eq!(parse_cgroup(V1, Version::V2), Some("/"));
        assert_eq!(parse_cgroup(V2, Version::V2), Some("/user.slice/user-1000.slice/session-2.scope"));
        assert_eq!(parse_cgroup(V2, Version::V1), None);
        for bad in ["", "0", "0:", "0::", "0::relative", ":::", "\0\0", "4:memoryless:/"] {
            assert_eq!(parse_cgroup(bad, Version::V1), None, "{bad:?}");
            assert_eq!(parse_cgroup(bad, Version::V2), None, "{bad:?}");
        }
    }

    #[test]
    fn mounts() {
        let mount = |root: &str, point: &str| Some(Mount { root: root.to_owned(), point: point.to_owned() });
        assert_eq!(parse_mountinfo(MOUNTS_V1, Version::V1), mount("/", "/sys/fs/cgroup/memory"));
        assert_eq!(parse_mountinfo(MOUNTS_V1, Version::V2), mount("/", "/sys/fs/cgroup/unified"));
        let odd = "30 20 0:26 /docker/ab\\040c /c\\134g rw - cgroup2 cgroup2 rw\n";
        assert_eq!(parse_mountinfo(odd, Version::V2), mount("/docker/ab c", "/c\\g"));
        for bad in ["", " - ", "1 2 3 - cgroup2", "1 2 3 4 5 6 - cgroup2", "a - b - c d e f"] {
            assert_eq!(parse_mountinfo(bad, Version::V2), None, "{bad:?}");
        }
        assert_eq!(unescape("\\"), "\\");
        assert_eq!(unescape("a\\04"), "a\\04");
        assert_eq!(unescape("a\\777"), "a\\777");
        assert_eq!(unescape("\\éé"), "\\éé");
    }

    #[test]
    fn folders_from_the_group_to_the_mount() {
        let at = |root: &str, path: &str| {
            let mount = Mount { root: root.to_owned(), point: "/cg".to_owned() };
            folders(&mount, path).iter().map(|folder| folder.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(at("/", "/a/b"), ["/cg/a/b", "/cg/a", "/cg"]);
        assert_eq!(at("/", "/"), ["/cg"]);
        assert_eq!(at("/docker/x", "/docker/x"), ["/cg"]);
        assert_eq!(at("/docker/x", "/docker/x/y"), ["/cg/y", "/cg"]);
        assert_eq!(at("/docker/x", "/docker/xyz"), ["/cg"]);
        assert_eq!(at("/", "/../../etc"), ["/cg"]);
    }
}
