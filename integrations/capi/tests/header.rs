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
