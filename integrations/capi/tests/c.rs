//! C programs against the library: the interface, and LevelDB. Each needs a compiler, and says aloud when it was
//! skipped; where CI=true nothing is skipped.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn run(command: &mut Command) -> Option<Output> {
    let output = command.output().ok()?;
    print!("{}", String::from_utf8_lossy(&output.stdout));
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    Some(output)
}

fn skip(what: &str) {
    assert!(env::var("CI").as_deref() != Ok("true"), "{what}, and CI=true");
    // Past the capture of the test's output.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("SKIPPED: {what}\n").as_bytes());
}

/// The directory that `cargo build --release` leaves the libraries in.
fn built() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--lib"])
        .current_dir(root())
        .env("CARGO_TARGET_DIR", &target)
        .status();
    assert!(status.is_ok_and(|status| status.success()), "the library does not build");
    target.join("release")
}

#[test]
fn the_interface() {
    if run(Command::new("cc").arg("--version")).is_none() {
        return skip("no C compiler (apt-get install gcc)");
    }
    let release = built();
    let program = release.join("bloomline-api-test");
    let compile = |extra: &[&str]| {
        let mut cc = Command::new("cc");
        cc.args(["-std=c11", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Iinclude"]).args(extra);
        cc.arg("tests/api.c").arg(release.join("libbloomline_c.a")).args(["-lpthread", "-ldl", "-lm", "-o"]);
        run(cc.arg(&program).current_dir(root())).is_some_and(|output| output.status.success())
    };
    if !compile(&["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]) {
        skip("no sanitizers for C: the interface is tested without them");
        assert!(compile(&[]), "tests/api.c does not compile");
    }
    let output = run(&mut Command::new(&program)).expect("runs");
    assert!(output.status.success(), "tests/api.c failed");
}

#[test]
fn the_header_is_cpp_too() {
    if run(Command::new("c++").arg("--version")).is_none() {
        return skip("no C++ compiler (apt-get install g++)");
    }
    let header = root().join("include/bloomline.h");
    let output =
        run(Command::new("c++").args(["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c++"]).arg(header));
    assert!(output.expect("runs").status.success(), "the header is no C++");
}

#[test]
fn leveldb() {
    let output = run(&mut Command::new(root().join("leveldb/test"))).expect("bash runs");
    if output.status.code() == Some(77) {
        return skip("LevelDB or a compiler is missing, see above (apt-get install g++ libleveldb-dev)");
    }
    assert!(output.status.success(), "leveldb/test failed");
}
