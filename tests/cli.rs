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
