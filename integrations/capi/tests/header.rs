//! The C header is what cbindgen makes of the sources.

use std::{fs, path::Path};

#[test]
fn the_header_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("a configuration");
    // In the order of the header.
    let sources = ["policy", "builder", "filter", "leveldb", "refusal"];
    let builder = sources.iter().fold(cbindgen::Builder::new().with_config(config), |builder, source| {
        builder.with_src(root.join(format!("src/{source}.rs")))
    });
    let mut made = Vec::new();
    builder.generate().expect("C can say it").write(&mut made);

    let path = root.join("include/bloomline.h");
    if std::env::var_os("BLOOMLINE_WRITE_HEADER").is_some() {
        fs::write(&path, &made).expect("can be written");
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored.as_bytes() == made,
        "include/bloomline.h is out of date: BLOOMLINE_WRITE_HEADER=1 cargo test --test header"
    );
}

/// README.md shows the part of leveldb/example.c that is between two marks; leveldb/test runs it.
#[test]
fn the_readme_shows_the_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| fs::read_to_string(root.join(name)).expect("is there");
    let (example, readme) = (read("leveldb/example.c"), read("README.md"));
    let mut lines = example.lines().skip_while(|line| line.trim() != "/* README: from here */").skip(1);
    let shown: String = (&mut lines)
        .take_while(|line| line.trim() != "/* README: to here */")
        .map(|line| format!("{}\n", line.trim_start_matches("    ")))
        .collect();
    assert!(shown.lines().count() >= 10 && lines.next().is_some(), "the marks are gone");
    // Continued lines keep their own indentation in neither.
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat(&readme).contains(&flat(&shown)), "README.md shows another example");
}
