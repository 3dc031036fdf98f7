//! Filter files from outside: `build`, `query`, `inspect`, `audit`, `merge`, `fold`, on good files and on every bad one.
#![cfg(feature = "cli")]

use std::collections::HashSet;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use bloomline::format::{self, Frame, HEADER_BYTES};
use bloomline::hash::{Blake2b, Xxh3};
use bloomline::{Contains, LayoutKind};
use serde_json::Value;

/// A folder of one test's own, empty at first.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-files").join(test);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), content).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.join(name)).unwrap()
    }

    /// All names in it, hidden ones too.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs `bloomline` in the folder; the arguments are what stands between spaces.
    fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bloomline"));
        command.current_dir(&self.0).args(args.split_whitespace()).stdin(Stdio::null());
        command
    }

    fn run(&self, args: &str) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs it with something on standard input.
    fn pipe(&self, args: &str, input: &[u8]) -> Output {
        let mut command = self.command(args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input))); // it may not read all
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        output
    }

    /// Runs it, asserts exit 0, and returns stdout.
    #[track_caller]
    fn done(&self, args: &str) -> Vec<u8> {
        ended(&self.run(args), 0)
    }

    /// Runs it, asserts exit 2, nothing on stdout and one line on stderr, and returns the line.
    #[track_caller]
    fn refused(&self, args: &str) -> String {
        refused(&self.run(args), args)
    }

    #[track_caller]
    fn json(&self, args: &str) -> Value {
        serde_json::from_slice(&self.done(args)).unwrap()
    }
}

#[track_caller]
fn ended(output: &Output, code: i32) -> Vec<u8> {
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout.clone()
}

#[track_caller]
fn refused(output: &Output, what: &str) -> String {
    let stderr = std::str::from_utf8(&output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{what}: {stderr}");
    assert!(output.stdout.is_empty(), "{what}");
    assert_eq!(stderr.matches('\n').count(), 1, "{what}: {stderr}");
    let line = stderr.strip_suffix('\n').unwrap();
    line.strip_prefix("bloomline: ").unwrap_or_else(|| panic!("{what}: {line}")).to_owned()
}

/// Is the number the one that was written? The parser of JSON may lose its last bit.
#[track_caller]
fn close(value: &Value, expected: f64) {
    let value = value.as_f64().unwrap();
    assert!((value - expected).abs() <= expected.abs() * 1e-14, "{value:?} is not {expected:?}");
}

/// `key 0` to `key n − 1`, one a line.
fn lines(name: &str, n: u32) -> String {
    (0..n).map(|i| format!("{name} {i}\n")).collect()
}

#[test]
fn every_layout_and_hasher_there_and_back() {
    let folder = Folder::new("layouts");
    folder.file("members", lines("member", 5_000) + &lines("member", 1_000)); // a thousand of them twice
    folder.file("absent", lines("absent", 20_000));
    folder.file("secret", "a secret of more than sixteen bytes\n");
    for kind in LayoutKind::ALL {
        for hasher in ["xxh3", "xxh64 --seed 7", "blake2b --key-file secret"] {
            let key = if hasher.starts_with("blake2b") { "--key-file secret" } else { "" };
            let report = folder
                .json(&format!("build members --layout {kind} --fpr 0.01 --hasher {hasher} -o {kind}.filter --json"));
            assert_eq!((report["keys"].as_u64(), report["keys_distinct"].as_u64()), (Some(6_000), Some(5_000)));
            assert!(report["fpr_expected"].as_f64().unwrap() <= 0.01, "{report}");

            // What was written is what the library would have made.
            let bytes = folder.read(&format!("{kind}.filter"));
            assert_eq!(report["file_bytes"].as_u64(), Some(bytes.len() as u64));
            let secret = Blake2b::new(b"a secret of more than sixteen bytes").unwrap();
            let filter = format::decode(&bytes, Some(&secret)).unwrap();
            assert_eq!(filter.geometry(), kind.model().size_for_fpr(5_000, 0.01).unwrap());
            assert_eq!(filter.design().keys, 5_000);
            assert!((0..5_000).all(|i| filter.contains_bytes(format!("member {i}").as_bytes())));

            // Every member is printed, in order, as it was read; absent keys with the answers of the library.
            let members = folder.done(&format!("query {kind}.filter members {key}"));
            assert_eq!(members, folder.read("members"));
            let wrong: String = (0..20_000)
                .map(|i| format!("absent {i}"))
                .filter(|name| filter.contains_bytes(name.as_bytes()))
                .map(|name| name + "\n")
                .collect();
            assert_eq!(folder.done(&format!("query {kind}.filter absent {key}")), wrong.as_bytes());
            let hits = wrong.lines().count();
            assert!((100..300).contains(&hits), "{hits}");
            let count = folder.done(&format!("query {kind}.filter absent --count {key}"));
            assert_eq!(count, format!("{hits}\n").as_bytes());
            let others = folder.done(&format!("query {kind}.filter absent --absent {key}"));
            let listed: HashSet<&str> = std::str::from_utf8(&others).unwrap().lines().collect();
            assert_eq!(listed.len() + hits, 20_000);
            assert!(wrong.lines().all(|key| !listed.contains(key)));
            let report = folder.json(&format!("query {kind}.filter absent --absent --count --json {key}"));
            assert_eq!(report["maybe"].as_u64(), Some(hits as u64));
            assert_eq!(report["absent"].as_u64(), Some(20_000 - hits as u64));
        }
    }
}

#[test]
fn nothing_found_is_exit_1() {
    let folder = Folder::new("nothing");
    folder.file("members", lines("member", 100));
    folder.file("absent", "not there\n");
    folder.file("empty", "");
    folder.done("build members --layout classic --fpr 1e-6 -o f");
    assert_eq!(ended(&folder.run("query f absent"), 1), b"");
    assert_eq!(ended(&folder.run("query f absent --count"), 1), b"0\n");
    assert_eq!(ended(&folder.run("query f members --absent"), 1), b"");
    assert_eq!(ended(&folder.run("query f members --absent --count"), 1), b"0\n");
    assert_eq!(folder.done("query f absent --absent"), b"not there\n");
    // No keys to ask for: nothing was found, and nothing is wrong.
    assert_eq!(ended(&folder.run("query f empty"), 1), b"");
    assert_eq!(ended(&folder.run("query f empty --absent --count"), 1), b"0\n");
}

#[test]
fn keys_are_bytes() {
    let folder = Folder::new("bytes");
    // Keys that are no text, with NUL bytes, with a \r, of a megabyte, empty; and no newline at the end.
    let mut keys: Vec<u8> = b"\xff\xfe\n\0a\0\nwindows\r\n\n".to_vec();
    keys.extend(vec![b'x'; 1 << 20]);
    keys.extend(b"\nlast");
    folder.file("keys", &keys);
    let report = folder.json("build keys --layout word --fpr 0.0001 -o f --json");
    assert_eq!(report["keys"].as_u64(), Some(6));
    let mut printed = keys.clone();
    printed.push(b'\n');
    assert_eq!(folder.done("query f keys"), printed);
    assert_eq!(folder.done("query f keys --count"), b"6\n");
    folder.file("others", "windows\nlast\r\n\0a\n");
    assert_eq!(folder.done("query f others --absent"), b"windows\nlast\r\n\0a\n");

    // The same keys, NUL between them: the newline is no part of any.
    folder.file("nulls", "one\0two\nlines\0\0");
    let report = folder.json("build nulls -0 --layout word --fpr 0.0001 -o f --json");
    assert_eq!(report["keys"].as_u64(), Some(3));
    assert_eq!(folder.done("query f nulls -0"), b"one\0two\nlines\0\0");

    // Integers, of which one has a newline in it.
    let integers: Vec<u8> = [1_u64, 0x0a0a, u64::MAX].iter().flat_map(|i| i.to_le_bytes()).collect();
    folder.file("integers", &integers);
    let report = folder.json("build integers --u64le --layout word --fpr 0.0001 -o f --json");
    assert_eq!(report["keys"].as_u64(), Some(3));
    assert_eq!(folder.done("query f integers --u64le"), integers);
    let filter = format::decode(&folder.read("f"), None).unwrap();
    assert!(filter.contains_bytes(&1_u64.to_le_bytes()) && !filter.contains_bytes(&2_u64.to_le_bytes()));
}

#[test]
fn pipes() {
    let folder = Folder::new("pipes");
    let keys = lines("key", 30_000);
    folder.file("keys", &keys);
    folder.done("build keys --layout blocked --fpr 0.01 -o f");
    let filter = folder.read("f");
    // Keys from a pipe, the filter to a pipe; and the filter from one.
    let output = folder.pipe("build - --layout blocked --fpr 0.01 -o -", keys.as_bytes());
    assert_eq!(ended(&output, 0), filter);
    assert_eq!(ended(&folder.pipe("query f -", keys.as_bytes()), 0), keys.as_bytes());
    assert_eq!(ended(&folder.pipe("query - keys", &filter), 0), keys.as_bytes());
    let text = ended(&folder.pipe("inspect -", &filter), 0);
    assert!(String::from_utf8(text).unwrap().contains("standard input"));
    // One standard input can't be two things.
    for args in ["query - -", "audit - --members -", "audit f --members - --absent -", "merge - - -o g"] {
        assert!(refused(&folder.pipe(args, &filter), args).contains("standard input"), "{args}");
    }
    // More, or less, than a filter.
    let longer = [&filter[..], b"x"].concat();
    assert!(refused(&folder.pipe("inspect -", &longer), "longer").contains("behind the end"));
    let shorter = &filter[..filter.len() - 1];
    assert!(refused(&folder.pipe("inspect -", shorter), "shorter").contains("cut short"));
    assert_eq!(folder.names(), ["f", "keys"]);
}

#[test]
#[cfg(unix)]
fn a_reader_that_leaves_ends_it_quietly() {
    let folder = Folder::new("closed");
    folder.file("keys", lines("key", 100_000));
    folder.done("build keys --layout blocked --fpr 0.01 -o f");
    for args in ["query f keys", "build keys --layout word --fpr 0.1 -o -", "inspect f --json"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut child = folder.command(args).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert!(!stderr.contains("bloomline:") && !stderr.contains("panicked"), "{args}: {stderr}");
        assert_eq!(child.wait().unwrap().code(), Some(0), "{args}");
    }
}

#[test]
fn inspect_tells_everything() {
    let folder = Folder::new("inspect");
    folder.file("keys", lines("key", 10_000));
    folder.file("secret", "the secret");
    folder.done("build keys --layout split-line --bits-per-key 12 --seed 99 -o f");
    let report = folder.json("inspect f --json");
    let bytes = folder.read("f");
    let frame = Frame::open(&bytes).unwrap();
    let filter = format::decode(&bytes, None).unwrap();
    let expected = [
        ("file", Value::from("f")),
        ("format_version", frame.header().version.into()),
        ("layout", "split-line".into()),
        ("hasher", "xxh3".into()),
        ("seed", 99.into()),
        ("key_check", Value::Null),
        ("bits", filter.geometry().bits.into()),
        ("k", 8.into()),
        ("bytes", filter.size_in_bytes().into()),
        ("file_bytes", (bytes.len() as u64).into()),
        ("keys_designed", 10_000.into()),
        ("past_design", filter.is_past_design().into()),
    ];
    for (field, value) in expected {
        assert_eq!(report[field], value, "{field}");
    }
    close(&report["fpr_expected"], filter.design().fpr);
    close(&report["occupancy"], filter.occupancy());
    close(&report["keys_estimated"], filter.estimated_cardinality());
    close(&report["fpr_current"], filter.current_fpr());
    assert!(report["tier"].is_string() && report["level"].is_string());
    let text = String::from_utf8(folder.done("inspect f")).unwrap();
    for word in ["split-line", "seed 99", "10,000 keys", "fpr now", "tier here"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    // A keyed filter without its secret: everything but the secret.
    folder.done("build keys --layout word --fpr 0.1 --hasher blake2b --key-file secret -o keyed");
    let report = folder.json("inspect keyed --json");
    assert_eq!((&report["hasher"], &report["seed"]), (&Value::from("blake2b"), &Value::Null));
    assert!(report["key_check"].as_str().unwrap().starts_with("0x"));
    folder.done("inspect keyed --key-file secret");
    folder.file("wrong", "another");
    assert!(folder.refused("inspect keyed --key-file wrong").contains("another key"));
}

#[test]
fn a_filter_that_is_full() {
    let folder = Folder::new("full");
    let geometry = bloomline::sizing::Geometry { bits: 4096, k: 6 };
    for &kind in LayoutKind::ALL {
        let geometry = kind.model().size_for_bits_per_key(100, 40.0).unwrap_or(geometry);
        let ones = vec![0xff; (geometry.bits / 8) as usize];
        let design = bloomline::Design { keys: 100, fpr: 0.01 };
        let filter = bloomline::AnyFilter::from_bytes(kind, &ones, geometry, design, Xxh3::default().into()).unwrap();
        folder.file("f", format::to_vec(&filter));
        folder.file("keys", lines("key", 10));
        let report = folder.json("inspect f --json");
        assert_eq!((&report["keys_estimated"], &report["past_design"]), (&Value::Null, &Value::Bool(true)));
        assert_eq!(report["fpr_current"].as_f64(), Some(1.0));
        folder.done("inspect f");
        ended(&folder.run("fold f --fpr 0.5 -o g"), 1);
        ended(&folder.run("audit f --members keys --absent keys"), 2);
        folder.done("merge f f -o h");
    }
}

#[test]
fn audit_judges_by_the_load_that_there_is() {
    let folder = Folder::new("audit");
    folder.file("members", lines("member", 20_000));
    // With duplicates, and with members among the absent.
    folder.file("absent", lines("absent", 100_000) + &lines("absent", 7) + &lines("member", 11));
    for kind in LayoutKind::ALL {
        folder.done(&format!("build members --layout {kind} --fpr 0.02 --seed 1 -o f"));
        let report = folder.json("audit f --members members --absent absent --json");
        let number = |field: &str| report[field].as_f64().unwrap_or_else(|| panic!("{field} in {report}"));
        assert_eq!((number("members"), number("members_distinct"), number("members_missed")), (2e4, 2e4, 0.0));
        assert_eq!((number("absent"), number("absent_asked")), (100_018.0, 100_000.0));
        assert_eq!((number("absent_duplicates"), number("absent_members")), (7.0, 11.0));
        let filter = format::decode(&folder.read("f"), None).unwrap();
        let hits = (0..100_000).filter(|i| filter.contains_bytes(format!("absent {i}").as_bytes())).count();
        assert_eq!(report["absent_maybe"].as_u64(), Some(hits as u64));
        close(&report["fpr_measured"], hits as f64 / 1e5);
        close(&report["fpr_expected"], kind.model().fpr(20_000, filter.geometry()));
        close(&report["fpr_current"], filter.current_fpr());
        let (low, high) = (number("fpr_low"), number("fpr_high"));
        assert!(low < number("fpr_measured") && number("fpr_measured") < high, "{report}");
        // At least as wide as two standard deviations of the sample to each side, and not several times that.
        let sample = 3.9 * (0.02_f64 * 0.98 / 1e5).sqrt();
        assert!(high - low > sample * 0.9 && high - low < sample * 4.0, "{kind}: {}", (high - low) / sample);
        assert_eq!(report["passed"], Value::Bool(true), "{report}");
        let text = String::from_utf8(folder.done("audit f --members members --absent absent")).unwrap();
        assert!(text.contains("inside") && text.contains("passed") && text.contains("11 members"), "{text}");
    }
    // Members alone.
    let report = folder.json("audit f --members members --json");
    assert!(report.get("fpr_measured").is_none() && report["passed"] == Value::Bool(true));
}

#[test]
fn audit_fails_what_is_wrong() {
    let folder = Folder::new("audit-fails");
    folder.file("members", lines("member", 20_000));
    folder.file("half", lines("member", 10_000));
    folder.file("more", lines("member", 20_003));
    folder.file("absent", lines("absent", 50_000));
    folder.done("build members --layout blocked --fpr 0.001 -o f");
    // Members that were never put in.
    let output = folder.run("audit f --members more --json");
    let report: Value = serde_json::from_slice(&ended(&output, 1)).unwrap();
    assert_eq!((&report["members_missed"], &report["passed"]), (&Value::from(3), &Value::Bool(false)));
    // Half of the members: the formula expects less than is measured.
    folder.done("build members --layout blocked --fpr 0.01 -o f");
    let output = folder.run("audit f --members half --absent absent");
    let text = String::from_utf8(ended(&output, 1)).unwrap();
    assert!(text.contains("OUTSIDE") && text.contains("FAILED"), "{text}");
    // Nothing to measure with.
    assert!(folder.refused("audit f --members members --absent half").contains("every key in it is a member"));
}

#[test]
fn merge_is_the_union() {
    let folder = Folder::new("merge");
    folder.file("a", lines("a", 1_000));
    folder.file("b", lines("b", 1_000));
    folder.file("both", lines("a", 1_000) + &lines("b", 1_000));
    folder.file("secret", "the secret");
    for hasher in ["xxh3", "blake2b --key-file secret"] {
        let key = if hasher == "xxh3" { "" } else { "--key-file secret" };
        for keys in ["a", "b"] {
            folder.done(&format!("build {keys} --layout blocked --fpr 0.01 --hasher {hasher} -o {keys}.f"));
        }
        let first = folder.read("a.f");
        let report = folder.json("merge a.f b.f -o union.f --json");
        assert_eq!((&report["filters"], &report["past_design"]), (&Value::from(2), &Value::Bool(true)));
        assert_eq!(folder.done(&format!("query union.f both {key}")), folder.read("both"));
        // The header is the first one's but for the checksums, and the bits are those of both.
        let (a, b, union) = (first.clone(), folder.read("b.f"), folder.read("union.f"));
        let (a, b, union) = (Frame::open(&a).unwrap(), Frame::open(&b).unwrap(), Frame::open(&union).unwrap());
        assert_eq!(union.header().design, a.header().design);
        assert_eq!((union.header().hasher, union.header().seed), (a.header().hasher, a.header().seed));
        let ored: Vec<u8> = a.payload().iter().zip(b.payload()).map(|(a, b)| a | b).collect();
        assert_eq!(union.payload(), ored);
        // Onto one of its inputs.
        folder.done("merge a.f b.f -o a.f");
        assert_eq!(folder.read("a.f"), folder.read("union.f"));
        // One filter alone is its own union.
        folder.done("merge b.f -o copy.f");
        assert_eq!(folder.read("copy.f"), folder.read("b.f"));
    }
}

#[test]
fn merge_names_the_field_that_differs() {
    let folder = Folder::new("unlike");
    folder.file("keys", lines("key", 1_000));
    folder.file("secret", "the secret");
    folder.file("other", "the other secret");
    let build = |args: &str, name: &str| folder.done(&format!("build keys {args} -o {name}"));
    build("--layout blocked --fpr 0.01", "f");
    for (args, field) in [
        ("--layout classic --fpr 0.01", "layouts differ: blocked and classic"),
        ("--layout blocked --fpr 0.001", "sizes differ"),
        ("--layout blocked --fpr 0.01 --hasher xxh64", "hashers differ: xxh3 and xxh64"),
        ("--layout blocked --fpr 0.01 --seed 1", "seeds differ: 0x0 and 0x1"),
    ] {
        build(args, "g");
        let before = folder.read("g");
        let message = folder.refused("merge f g -o g");
        assert!(message.starts_with("f and g can't be merged: ") && message.contains(field), "{message}");
        assert_eq!(folder.read("g"), before);
    }
    build("--layout blocked --fpr 0.01 --hasher blake2b --key-file secret", "f");
    build("--layout blocked --fpr 0.01 --hasher blake2b --key-file other", "g");
    assert!(folder.refused("merge f g -o h").contains("seeds differ"));
    assert_eq!(folder.names(), ["f", "g", "keys", "other", "secret"]);
}

#[test]
fn fold_shrinks_and_keeps_the_rate() {
    let folder = Folder::new("fold");
    folder.file("few", lines("key", 2_000));
    folder.file("many", lines("key", 64_000));
    folder.file("secret", "the secret");
    for kind in LayoutKind::ALL {
        // The size of many, with few keys in it.
        folder.done(&format!("build many --layout {kind} --fpr 0.01 --hasher blake2b --key-file secret -o many.f"));
        let secret = Blake2b::new(b"the secret").unwrap();
        let many = format::decode(&folder.read("many.f"), Some(&secret)).unwrap();
        let mut large = bloomline::AnyFilter::with_geometry(
            *kind,
            many.geometry(),
            many.design(),
            secret.clone().into(),
            bloomline::Level::get(),
        )
        .unwrap();
        let digests: Vec<_> = (0..2_000).map(|i| large.digest_bytes(format!("key {i}").as_bytes()).unwrap()).collect();
        large.insert_bulk(&digests, bloomline::BulkOptions::default()).unwrap();
        folder.file("large.f", format::to_vec(&large));

        let report = folder.json("fold large.f --fpr 0.01 -o small.f --json");
        let factor = report["factor"].as_u64().unwrap();
        assert!(factor > 1 && factor == large.best_fold(0.01), "{report}");
        assert_eq!(report["bytes"].as_u64().unwrap() * factor, large.size_in_bytes());
        assert!(report["fpr_current"].as_f64().unwrap() < 0.012, "{report}");
        let small = format::decode(&folder.read("small.f"), Some(&secret)).unwrap();
        assert_eq!(small.as_bytes(), large.fold(factor).unwrap().as_bytes());
        assert_eq!(folder.done("query small.f few --key-file secret"), folder.read("few"));
        // Onto itself.
        folder.done("fold large.f --fpr 0.01 -o large.f");
        assert_eq!(folder.read("large.f"), folder.read("small.f"));
        // It keeps no less: there is nothing left to fold, and no file.
        let output = folder.run("fold small.f --fpr 0.0001 -o none.f");
        assert_eq!(ended(&output, 1), b"");
        assert!(String::from_utf8_lossy(&output.stderr).contains("no factor keeps 0.0100 %"));
        assert!(!folder.0.join("none.f").exists());
    }
}

#[test]
fn the_filter_is_the_same_with_any_threads_and_scratch() {
    let folder = Folder::new("threads");
    folder.file("keys", lines("key", 200_000));
    folder.done("build keys --layout blocked --fpr 0.001 -o f");
    for (i, args) in ["--threads 1", "--threads 3", "--scratch 1", "--scratch 2^20 --threads 2"].iter().enumerate() {
        folder.done(&format!("build keys --layout blocked --fpr 0.001 {args} -o {i}"));
        assert_eq!(folder.read(&i.to_string()), folder.read("f"), "{args}");
    }
}

#[test]
fn secrets() {
    let folder = Folder::new("secrets");
    folder.file("keys", lines("key", 100));
    for (name, secret) in [
        ("plain", "secret"),
        ("newline", "secret\n"),
        ("two", "secret\n\n"),
        ("cr", "secret\r\n"),
        ("no", ""),
        ("nl", "\n"),
    ] {
        folder.file(name, secret);
    }
    folder.file("most", [b'x'; 64]);
    folder.file("most-newline", [&[b'x'; 64][..], b"\n"].concat());
    folder.file("over", [b'x'; 65]);
    let build = |secret: &str| format!("build keys --layout word --fpr 0.01 --hasher blake2b --key-file {secret} -o f");
    folder.done(&build("most"));
    folder.done("query f keys --key-file most-newline");
    folder.done(&build("plain"));
    folder.done("query f keys --key-file newline"); // the editor's newline is no part of it
    for wrong in ["two", "cr", "most"] {
        let message = folder.refused(&format!("query f keys --key-file {wrong}"));
        assert!(message.starts_with("f: ") && message.contains("another key"), "{message}");
    }
    for (args, expected) in [
        ("query f keys", "--key-file"),
        ("audit f --members keys", "--key-file"),
        ("query f keys --key-file missing", "missing"),
        ("query f keys --key-file .", "."),
        ("query f keys --key-file no", "not 0"),
        ("query f keys --key-file nl", "not 0"),
        ("query f keys --key-file over", "1 to 64 bytes"),
        ("build keys --layout word --fpr 0.01 --hasher blake2b -o g", "needs a secret"),
        ("build keys --layout word --fpr 0.01 --hasher blake2b --seed 1 --key-file plain -o g", "--seed"),
        ("build keys --layout word --fpr 0.01 --key-file plain -o g", "--hasher blake2b"),
    ] {
        let message = folder.refused(args);
        assert!(message.contains(expected), "{args}: {message}");
    }
    // No secret is written anywhere.
    assert!(!folder.read("f").windows(6).any(|window| window == b"secret"));
    if cfg!(target_os = "linux") {
        assert!(folder.refused("query f keys --key-file /dev/zero").contains("1 to 64 bytes"));
    }
}

#[test]
fn filters_of_hashes_take_integers() {
    let folder = Folder::new("prehashed");
    let hashes: Vec<u64> = (0..100u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let mut filter = bloomline::Filter::<bloomline::Blocked>::builder(100)
        .fpr(1e-6)
        .hasher(bloomline::hash::PreHashed)
        .build()
        .unwrap();
    for hash in &hashes {
        filter.insert(hash);
    }
    folder.file("f", format::to_vec(&filter));
    let bytes: Vec<u8> = hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect();
    folder.file("hashes", &bytes);
    assert_eq!(folder.done("query f hashes --u64le"), bytes);
    folder.file("others", [1u64.to_le_bytes(), 3u64.to_le_bytes()].concat());
    assert_eq!(folder.done("query f others --u64le --absent --count"), b"2\n");
    assert!(folder.refused("query f hashes").contains("--u64le"));
}

#[test]
fn files_that_are_no_filters() {
    let folder = Folder::new("no-filters");
    folder.file("keys", lines("key", 1_000));
    folder.done("build keys --layout blocked --fpr 0.01 -o f");
    let good = folder.read("f");
    let changed = |at: usize, by: u8| {
        let mut bytes = good.clone();
        bytes[at] ^= by;
        bytes
    };
    folder.file("empty", "");
    folder.file("text", "a text that is no filter, and longer than the header of one would be\n");
    folder.file("short", &good[..40]);
    folder.file("cut", &good[..good.len() - 64]);
    folder.file("long", [&good[..], &[0; 7]].concat());
    folder.file("newer", changed(4, 8));
    folder.file("header", changed(33, 1));
    folder.file("bits", changed(HEADER_BYTES + 100, 1));
    for (name, expected) in [
        ("empty", "empty is empty, and no filter"),
        ("text", "text: not a bloomline filter"),
        ("keys", "keys: not a bloomline filter"),
        ("short", "short: cut short: 40 bytes where 64 are needed"),
        ("cut", "cut: cut short"),
        ("long", "long: 7 bytes behind the end"),
        ("newer", "newer: format version 9"),
        ("header", "header: the header is damaged"),
        ("bits", "bits: the filter's bits are damaged"),
        ("missing", "cannot open missing"),
        (".", ". is a directory, not a filter"),
    ] {
        for args in [
            format!("query {name} keys"),
            format!("inspect {name}"),
            format!("inspect {name} --json"),
            format!("audit {name} --members keys"),
            format!("merge f {name} -o out"),
            format!("fold {name} --fpr 0.9 -o out"),
        ] {
            let message = folder.refused(&args);
            assert!(message.starts_with(expected), "{args}: {message}");
        }
    }
    assert!(!folder.0.join("out").exists());
    assert!(!folder.names().iter().any(|name| name.contains("part")));
}

/// A header that promises more than any memory holds is told by its promise; a device without end is no filter.
#[test]
#[cfg(target_os = "linux")]
fn nothing_exhausts_the_memory() {
    let folder = Folder::new("endless");
    folder.file("keys", lines("key", 10));
    assert!(folder.refused("inspect /dev/zero").contains("not a bloomline filter"));
    folder.done("build keys --layout classic --fpr 0.01 -o f");
    // Sealed anew with 2^50 bits, alone and with zeros behind it.
    let mut header = folder.read("f")[..HEADER_BYTES].to_vec();
    header[32..40].copy_from_slice(&(1u64 << 50).to_le_bytes());
    header[48..56].copy_from_slice(&(1u64 << 47).to_le_bytes());
    header[12..16].fill(0);
    let checksum = xxhash_rust::xxh3::xxh3_64(&header) as u32;
    header[12..16].copy_from_slice(&checksum.to_le_bytes());
    folder.file("promise", &header);
    assert!(folder.refused("inspect promise").contains("cut short"));
    assert!(refused(&folder.pipe("inspect -", &header), "promise").contains("over the cap"));
    // A whole one that is too large: a file with a hole.
    let file = fs::OpenOptions::new().write(true).open(folder.0.join("promise")).unwrap();
    if file.set_len((1 << 47) + HEADER_BYTES as u64).is_ok() {
        assert!(folder.refused("inspect promise").contains("over the cap"));
    }
    fs::remove_file(folder.0.join("promise")).unwrap();
    // Keys without a separator, for ever.
    assert!(folder.refused("query f /dev/zero --count").contains("separator"));
    assert!(folder.refused("build /dev/zero --layout word --fpr 0.1 -o g").contains("separator"));
    assert_eq!(folder.names(), ["f", "keys"]);
}

#[test]
fn bad_arguments() {
    let folder = Folder::new("arguments");
    folder.file("keys", lines("key", 10));
    folder.file("empty", "");
    folder.done("build keys --layout blocked --fpr 0.01 -o f");
    let before = folder.names();
    for (args, expected) in [
        ("build keys --layout blokced --fpr 0.01 -o g", "did you mean \"blocked\""),
        ("build keys --layout blocked --fpr 0.01 --hasher xx3 -o g", "did you mean \"xxh3\""),
        ("build keys --layout blocked --fpr 0 -o g", "between 0 and 1"),
        ("build keys --layout blocked --fpr 1 -o g", "between 0 and 1"),
        ("build keys --layout blocked --fpr NaN -o g", "between 0 and 1"),
        ("build keys --layout blocked --fpr -1 -o g", "between 0 and 1"),
        ("build keys --layout blocked --bits-per-key -1 -o g", "above 0"),
        ("build keys --layout blocked --bits-per-key NaN -o g", "above 0"),
        ("build keys --layout blocked --fpr 0.01 --bits-per-key 8 -o g", "cannot be used with"),
        ("build keys --layout blocked -o g", "missing --fpr <P> or --bits-per-key <B>"),
        ("build keys --fpr 0.01 -o g", "missing --layout"),
        ("build keys --layout blocked --fpr 0.01", "missing --output"),
        ("build --layout blocked --fpr 0.01 -o g", "missing <KEYS>"),
        ("build keys --layout blocked --fpr 0.01 --threads 0 -o g", "1..=1024"),
        ("build keys --layout blocked --fpr 0.01 --scratch 0 -o g", "at least one"),
        ("build keys --layout blocked --fpr 0.01 --json -o -", "both"),
        ("build keys --layout blocked --fpr 1e-19 -o g", "floor"),
        ("build keys --layout classic --bits-per-key 1e14 -o g", "over the cap"),
        ("build keys --layout blocked --bits-per-key 1e300 -o g", "bits"),
        ("build keys --layout blocked --fpr 0.01 -o keys", "keys is the file of keys"),
        ("build keys --layout word --fpr 0.01 --hasher blake2b --key-file f -o f", "f is the file of the secret"),
        ("build keys --layout blocked --fpr 0.01 -o .", "cannot write .: "),
        ("build keys --layout blocked --fpr 0.01 -o no/folder", "cannot write no/folder: "),
        ("build keys --layout blocked --fpr 0.01 -o f/g", "cannot write f/g: "),
        ("build empty --layout blocked --fpr 0.01 -o g", "empty is empty"),
        ("build missing --layout blocked --fpr 0.01 -o g", "cannot open missing"),
        ("build . --layout blocked --fpr 0.01 -o g", "is a directory"),
        ("build f --u64le -0 --layout blocked --fpr 0.01 -o g", "cannot be used with"),
        ("build keys --u64le --layout blocked --fpr 0.01 -o g", "multiple of 8"),
        ("query f missing", "cannot open missing"),
        ("query f .", "is a directory"),
        ("query f keys --json", "--count"),
        ("query f", "missing <KEYS>"),
        ("audit f", "missing --members"),
        ("audit f --members empty", "empty is empty"),
        ("audit f --members keys --absent empty", "empty is empty"),
        ("audit f --members keys --absent missing", "cannot open missing"),
        ("merge -o g", "missing <FILE>"),
        ("merge f --json -o -", "both"),
        ("merge f f", "missing --output"),
        ("fold f -o g", "missing --fpr"),
        ("fold f --fpr 1 -o g", "between 0 and 1"),
        ("inspct f", "did you mean \"inspect\""),
    ] {
        let message = folder.refused(args);
        assert!(message.contains(expected), "{args}: {message}");
    }
    assert_eq!(folder.names(), before);
}

#[test]
fn a_file_that_was_there_is_replaced_whole_or_stays() {
    let folder = Folder::new("replace");
    folder.file("keys", lines("key", 1_000));
    folder.file("f", "what was there before");
    // Fails after the output was found to be writable.
    folder.file("empty", "");
    folder.refused("build empty --layout blocked --fpr 0.01 -o f");
    assert_eq!(folder.read("f"), b"what was there before");
    folder.done("build keys --layout blocked --fpr 0.01 -o f");
    assert_eq!(folder.done("query f keys"), folder.read("keys"));
    assert_eq!(folder.names(), ["empty", "f", "keys"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{PermissionsExt, symlink};
        // A link stays a link, and permissions stay.
        let (link, file) = (folder.0.join("link"), folder.0.join("f"));
        symlink("f", &link).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        folder.done("build keys --layout word --fpr 0.01 -o link");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(folder.json("inspect f --json")["layout"], Value::from("word"));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_told() {
    let folder = Folder::new("disk");
    folder.file("keys", lines("key", 100_000));
    folder.done("build keys --layout blocked --fpr 0.01 -o f");
    for args in ["build keys --layout blocked --fpr 0.01 -o /dev/full", "merge f -o /dev/full"] {
        assert!(folder.refused(args).starts_with("cannot write /dev/full: "), "{args}");
    }
    for args in ["query f keys", "build keys --layout blocked --fpr 0.01 -o -", "merge f -o -"] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = folder.command(args).stdout(full).output().unwrap();
        assert!(refused(&output, args).starts_with("cannot write the results: "), "{args}");
    }
    folder.done("merge f -o /dev/null");
    // A limit on the size of files stands for a disk that fills half way.
    let limited = |args: &str| {
        let line = format!("trap '' XFSZ; ulimit -f 16; exec \"$0\" {args}");
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(line).arg(env!("CARGO_BIN_EXE_bloomline")).current_dir(&folder.0).stdin(Stdio::null());
        shell.output().unwrap()
    };
    for args in ["build keys --layout blocked --fpr 0.01 -o g", "merge f f -o g", "merge f f -o f"] {
        let name = args.rsplit(' ').next().unwrap();
        assert!(refused(&limited(args), args).starts_with(&format!("cannot write {name}: ")), "{args}");
        assert_eq!(folder.names(), ["f", "keys"]);
    }
    assert_eq!(folder.done("query f keys --count"), b"100000\n");
}

/// Filters that count: there and back, removed from, and merged.
#[test]
fn filters_that_count() {
    let folder = Folder::new("filters-that-count");
    folder.file("members", lines("m", 3_000));
    folder.file("half", lines("m", 1_500));
    folder.file("others", lines("o", 20_000));
    for layout in ["counting", "blocked-counting", "d-left"] {
        folder.done(&format!("build members --layout {layout} --fpr 1% -o f"));
        let about = folder.json("inspect f --json");
        assert_eq!(about["layout"], layout);
        assert!(about["keys_estimated"].as_f64().unwrap() > 2_900.0);
        assert_eq!(about["stuck_counters"].as_u64(), if layout == "d-left" { None } else { Some(0) });
        let audit = folder.json("audit f --members members --absent others --json");
        assert_eq!((&audit["members_missed"], &audit["passed"]), (&0.into(), &true.into()));
        assert_eq!(about["bytes"].as_u64().unwrap() + 64, folder.read("f").len() as u64);
        assert_eq!(folder.done("query f members"), folder.read("members"));

        // Half of them go; the file that was read stays.
        let before = folder.read("f");
        let output = folder.run("remove f half -o less");
        assert_eq!(ended(&output, 0), b"");
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(told, format!("{layout}: 1,500 of 1,500 keys removed, 0 refused\n"));
        assert_eq!(folder.read("f"), before);
        let left = String::from_utf8(folder.done("query less members")).unwrap();
        assert!(left.lines().count() >= 1_500 && left.lines().count() < 1_550, "{layout}");
        let audit = folder.json("inspect less --json");
        assert!((1_400.0..1_600.0).contains(&audit["keys_estimated"].as_f64().unwrap()));

        // Once more they are refused, and listed; in place.
        let output = folder.run("remove less half");
        let refused = String::from_utf8(ended(&output, 1)).unwrap();
        assert!(refused.lines().count() > 1_450 && refused.lines().all(|key| key.starts_with('m')));
        assert_eq!(folder.names(), ["f", "half", "less", "members", "others"]);
        let counts = ended(&folder.run("remove less half --json"), 1);
        let counts: Value = serde_json::from_slice(&counts).unwrap();
        assert_eq!(counts["keys"], 1_500);
        assert_eq!(counts["removed"].as_u64().unwrap() + counts["refused"].as_u64().unwrap(), 1_500);

        // Both together: each key of the first half once more.
        folder.done(&format!("build half --layout {layout} --bits-per-key 200 -o small"));
        let unlike = folder.refused("merge f small -o both");
        assert!(unlike.contains("can't be merged: the sizes differ"), "{unlike}");
        folder.done("merge f less -o both");
        fs::remove_file(folder.0.join("both")).unwrap();
        fs::remove_file(folder.0.join("small")).unwrap();
    }
    folder.done("build members --layout word --fpr 1% -o w");
    folder.done("build members --layout counting --fpr 1% -o c");
    let cases = [
        ("remove w half", "w: nothing can be removed from a filter of layout word"),
        ("remove - half", "a filter from standard input needs a place to go: -o"),
        ("remove - - -o x", "the filter and the keys can't both come from standard input"),
        ("remove members half", "members: not a bloomline filter"),
        ("remove c missing", "cannot open missing"),
        ("fold c --fpr 50% -o x", "c: a filter of kind counting can't be folded"),
        ("merge w c -o x", "w and c can't be merged: the layouts differ: word and counting"),
        ("merge c f -o x", "c and f can't be merged: the layouts differ: counting and d-left"),
    ];
    for (args, expected) in cases {
        let told = folder.refused(args);
        assert!(told.contains(expected), "{args}: {told}");
    }
    // Damage is found before anything is answered or removed.
    let mut bytes = folder.read("c");
    bytes[100] ^= 1;
    folder.file("damaged", &bytes);
    for args in ["remove damaged half", "query damaged half", "inspect damaged"] {
        let told = folder.refused(args);
        assert!(told.contains("bits are damaged"), "{told}");
    }
    assert_eq!(folder.read("damaged"), bytes);
    assert!(!folder.names().iter().any(|name| name == "x" || name.starts_with('.')));
}
