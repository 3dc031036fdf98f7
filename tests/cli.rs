//! The command line from outside: exit codes, one-line errors, the JSON that scripts read.
#![cfg(feature = "cli")]

use std::io::Read;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn bloomline(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bloomline")).args(args).stdin(Stdio::null()).output().unwrap()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

/// Asserts exit 2, nothing on stdout, one line on stderr, and returns the line.
#[track_caller]
fn refused(output: &Output) -> String {
    let stderr = std::str::from_utf8(&output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert_eq!(stdout(output), "");
    assert_eq!(stderr.matches('\n').count(), 1, "{stderr}");
    let line = stderr.strip_suffix('\n').unwrap();
    line.strip_prefix("bloomline: ").unwrap().to_owned()
}

#[test]
fn help_and_version_are_results() {
    for args in [&["--help"][..], &["-h"], &["machine", "--help"]] {
        let output = bloomline(args);
        assert_eq!(output.status.code(), Some(0));
        assert!(stdout(&output).contains("Usage: bloomline"), "{}", stdout(&output));
        assert!(output.stderr.is_empty());
    }
    let output = bloomline(&["--version"]);
    assert_eq!(stdout(&output), concat!("bloomline ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn wrong_usage_is_one_line_and_exit_2() {
    let cases: &[(&[&str], &str)] = &[
        (&[], "no command given (see bloomline --help)"),
        (&["machin"], "unknown command \"machin\": did you mean \"machine\"? (see bloomline --help)"),
        (&["frobnicate"], "unknown command \"frobnicate\" (see bloomline --help)"),
        (
            &["machine", "--jsno"],
            "unexpected argument \"--jsno\": did you mean \"--json\"? (see bloomline machine --help)",
        ),
        (&["machine", "extra"], "unexpected argument \"extra\" (see bloomline machine --help)"),
        (&["machine", "a\nb\u{1b}"], "unexpected argument \"a\\nb\\u{1b}\" (see bloomline machine --help)"),
    ];
    for (args, expected) in cases {
        assert_eq!(refused(&bloomline(args)), *expected);
    }
}

#[test]
#[cfg(unix)]
fn arguments_that_are_not_text() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let output = Command::new(env!("CARGO_BIN_EXE_bloomline")).arg(OsStr::from_bytes(b"\xff\xfe")).output().unwrap();
    refused(&output);
}

#[test]
fn machine_for_people() {
    let output = bloomline(&["machine"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
    let text = stdout(&output);
    for word in ["processor", "L1d", "L2", "pages", "memory", "filter cap"] {
        assert!(text.lines().any(|line| line.starts_with(word)), "{word} in {text}");
    }
    assert!(text.is_ascii() || !text.contains('\u{2500}'));
}

#[test]
fn machine_for_scripts() {
    let output = bloomline(&["machine", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    for field in
        ["l1d_bytes", "l2_bytes", "l3_share_bytes", "line_bytes", "page_bytes", "memory_bytes", "memory_cap_bytes"]
    {
        assert!(report[field].is_u64(), "{field} in {report}");
    }
    for field in ["l3_bytes", "huge_page_bytes", "cgroup_limit_bytes", "l3_shared_by_cpus", "cpu_model"] {
        assert!(report.get(field).is_some(), "{field} in {report}");
    }
    assert!(report["assumed"].is_array());
    let number = |field: &str| report[field].as_u64().unwrap();
    assert!(number("memory_cap_bytes") <= number("memory_bytes") / 2);
    let snake = |name: &String| name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    assert!(report.as_object().unwrap().keys().all(snake));
}

#[test]
#[cfg(unix)]
fn a_reader_that_leaves_ends_it_quietly() {
    // The reading end of the pipe is closed before the command writes.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut child = Command::new(env!("CARGO_BIN_EXE_bloomline"))
        .args(["machine", "--json"])
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(stderr, "");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_told() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_bloomline")).arg("machine").stdout(full).output().unwrap();
    assert!(refused(&output).starts_with("cannot write the results: "));
}

/// A file in a folder of this test's own.
fn file(name: &str, content: &[u8]) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

#[test]
fn plan_sizes_every_layout() {
    let output = bloomline(&["plan", "--keys", "1e6", "--fpr", "1%", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = report["layouts"].as_array().unwrap();
    assert_eq!(rows.len(), bloomline::FilterKind::all().count());
    for row in rows {
        assert!(row["fpr_expected"].as_f64().unwrap() <= 0.01, "{row}");
        // Counters have four bits.
        let bits = if row["layout"].as_str().unwrap().ends_with("counting") { 2 } else { 8 };
        assert!(row["bytes"].as_u64().unwrap() * bits == row["bits"].as_u64().unwrap(), "{row}");
        assert!(row["tier"].is_string() && row["k"].is_u64() && row["bits_per_key"].is_f64(), "{row}");
    }
    // Far beyond any memory, but representable.
    let output = bloomline(&["plan", "--keys", "2^40", "--fpr", "0.01", "--json"]);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn bad_input_is_one_line_and_exit_2() {
    let folder = env!("CARGO_TARGET_TMPDIR");
    let (empty, some) = (file("empty", b""), file("some", b"one\nthree\n"));
    let (empty, some) = (empty.to_str().unwrap(), some.to_str().unwrap());
    let cases: &[(&[&str], &str)] = &[
        (&["plan", "--keys", "0", "--fpr", "0.01"], "at least one"),
        (&["plan", "--keys", "10", "--fpr", "1.5"], "1.5"),
        (&["plan", "--keys", "10", "--fpr", "nan"], "nan"),
        (&["plan", "--keys", "10", "--fpr", "0.01", "--layout", "blokced"], "did you mean \"blocked\""),
        (&["compare", "--keys", "0"], "at least one"),
        (&["compare", "--keys", "1e15", "--fpr", "0.01"], "cap"),
        (&["compare", "--keys-file", "/no/such/file"], "/no/such/file"),
        (&["compare", "--keys-file", folder], "is a directory"),
        (&["compare", "--keys-file", empty], "is empty"),
        (&["compare", "--keys-file", some, "--layout", "wrod"], "did you mean \"word\""),
        (&["compare", "--keys-file", some, "--level", "sse9"], "sse9"),
        (&["compare", "--keys-file", some, "--tiers", "L9"], "L9"),
        (&["compare", "--keys-file", some, "--fpr", "0"], "0"),
        (&["compare", "--keys-file", some, "--u64le"], "multiple of 8"),
    ];
    for (args, expected) in cases {
        let message = refused(&bloomline(args));
        assert!(message.contains(expected), "{args:?}: {message}");
    }
    let lacking = if cfg!(target_arch = "aarch64") { "avx2" } else { "neon" };
    refused(&bloomline(&["compare", "--keys-file", some, "--level", lacking]));
    let output = Command::new(env!("CARGO_BIN_EXE_bloomline"))
        .args(["plan", "--keys", "10", "--fpr", "0.01"])
        .env("BLOOMLINE_ISA", lacking)
        .output()
        .unwrap();
    refused(&output);
}

#[test]
fn compare_checks_and_measures_awkward_keys() {
    // Empty keys, keys that are no text, a key of a megabyte, duplicates, and no newline at the end.
    let mut keys: Vec<u8> = Vec::new();
    for i in 0..2_000u32 {
        keys.extend(format!("key {i}\n").bytes());
        keys.extend([0xff, 0xfe, (i % 200) as u8 | 0x80, b'\n']);
    }
    keys.extend(b"\n\n");
    keys.extend(vec![b'x'; 1 << 20]);
    let path = file("awkward", &keys);
    let json = path.with_extension("json");
    let output = bloomline(&[
        "compare",
        "--keys-file",
        path.to_str().unwrap(),
        "--quick",
        "--budget",
        "0.001",
        "--tiers",
        "none",
        "--json-out",
        json.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout(&output).contains("split-block"));
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert!(report["duplicates"].as_u64().unwrap() > 1_000);
    let rows = report["layouts"].as_array().unwrap();
    let levels = bloomline::Level::available().iter().filter(|&&level| level <= bloomline::Level::get()).count();
    assert_eq!(rows.len(), bloomline::FilterKind::all().count() * levels);
    for row in rows {
        for field in ["limit_ns", "lookup_ns", "batch_ns", "build_ns", "ratio_to_limit", "bits_per_key"] {
            assert!(row[field].as_f64().is_some_and(|value| value > 0.0), "{field} in {row}");
        }
        let (low, high) = (row["fpr_low"].as_f64().unwrap(), row["fpr_high"].as_f64().unwrap());
        assert!((low..=high).contains(&row["fpr_measured"].as_f64().unwrap()), "{row}");
    }
}
