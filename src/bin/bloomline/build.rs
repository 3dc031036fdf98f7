//! `bloomline build`: a filter file of the keys in a file.
//!
//! The keys are streamed and hashed as they come, so memory holds eight bytes a key, the filter, and the scratch of the
//! bulk insertion. The size follows from the number of distinct digests, which is that of distinct keys (of ten million
//! keys, two share a digest with a chance of 3 in a million).

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use bloomline::error::{AllocError, BuildError, WriteError};
use bloomline::format::HEADER_BYTES;
use bloomline::hash::{AnyHasher, Blake2b, KeyHasher, Xxh3, Xxh64};
use bloomline::machine::Machine;
use bloomline::sizing::Geometry;
use bloomline::{AnyCounting, AnyFilter, BulkOptions, Design, FilterKind, Level};
use serde::Serialize;

use crate::digests::{Digester, Distinct};
use crate::keys::{FormatArgs, KeyReader};
use crate::names;
use crate::numbers;
use crate::plan::Target;
use crate::secret::SecretArgs;
use crate::table;
use crate::whole::Output;
use crate::{Failure, Outcome, report};

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("target").required(true))]
#[command(after_help = "\
Keys are bytes: nothing is trimmed, and a \\r before the newline is part of a key.
The filter is sized by the number of distinct keys.")]
pub(crate) struct Args {
    /// File of keys, one per line; - for standard input
    pub(crate) keys: PathBuf,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Layout of the filter (see bloomline plan)
    #[arg(long, value_name = "NAME")]
    pub(crate) layout: String,
    /// False positive rate (0.01 or 1%)
    #[arg(long, value_name = "P", value_parser = numbers::rate, group = "target", allow_negative_numbers = true)]
    pub(crate) fpr: Option<f64>,
    /// Bits of filter per key, instead of a rate
    #[arg(long, value_name = "B", value_parser = numbers::positive, group = "target", allow_negative_numbers = true)]
    pub(crate) bits_per_key: Option<f64>,
    /// Hasher of the keys: xxh3, xxh64, or blake2b for keys that an adversary may choose
    #[arg(long, value_name = "NAME", default_value = "xxh3")]
    pub(crate) hasher: String,
    /// Seed of xxh3 or xxh64 [default: 0]
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    /// Threads [default: all]
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Bytes of scratch memory for the insertion; the filter is the same with any
    #[arg(long, value_name = "BYTES", value_parser = numbers::count, default_value = "2^29", allow_negative_numbers = true)]
    pub(crate) scratch: u64,
    /// File of the filter; - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Print JSON about the filter
    #[arg(long)]
    pub(crate) json: bool,
}

impl Args {
    fn target(&self) -> Target {
        match self.bits_per_key {
            Some(bits) => Target::BitsPerKey(bits),
            None => Target::Fpr(self.fpr.unwrap_or(0.01)),
        }
    }

    fn hasher(&self) -> Result<AnyHasher, Failure> {
        let secret: Option<Blake2b> = self.secret.read()?;
        let refuse = |text: &str| Err(Failure::Usage(text.to_owned()));
        match (names::find("hasher", &self.hasher, &["xxh3", "xxh64", "blake2b"])?, secret, self.seed) {
            (2, None, _) => refuse("the hasher blake2b needs a secret: --key-file"),
            (2, Some(_), Some(_)) => refuse("the hasher blake2b has a secret and no --seed"),
            (2, Some(hasher), None) => Ok(hasher.into()),
            (_, Some(_), _) => refuse("--key-file is for --hasher blake2b"),
            (0, None, seed) => Ok(Xxh3::with_seed(seed.unwrap_or(0)).into()),
            (_, None, seed) => Ok(Xxh64::with_seed(seed.unwrap_or(0)).into()),
        }
    }

    /// What clap's rules can't say.
    fn validate(&self) -> Result<(), Failure> {
        if self.json && self.output.as_os_str() == "-" {
            return Err(Failure::Usage("--json and the filter can't both go to standard output".to_owned()));
        }
        let inputs = [("keys", Some(&self.keys)), ("the secret", self.secret.key_file.as_ref())];
        for (what, input) in inputs {
            if input.is_some_and(|input| same_file(input, &self.output)) {
                let output = self.output.display();
                return Err(Failure::Usage(format!("{output} is the file of {what}: it would be lost")));
            }
        }
        Ok(())
    }
}

fn same_file(a: &Path, b: &Path) -> bool {
    let regular = |path: &Path| fs::canonicalize(path).ok().filter(|path| path.is_file());
    regular(a).is_some_and(|a| regular(b).is_some_and(|b| a == b))
}

/// The report. Field names are promised to scripts.
#[derive(Debug, Serialize)]
struct Report {
    version: &'static str,
    layout: &'static str,
    level: &'static str,
    hasher: &'static str,
    keys: u64,
    keys_distinct: u64,
    bits: u64,
    k: u32,
    bytes: u64,
    file_bytes: u64,
    bits_per_key: f64,
    fpr_expected: f64,
}

/// The size for so many keys, when so large a filter may be made here.
fn sized(kind: FilterKind, target: Target, keys: u64) -> Result<Geometry, Failure> {
    let failure = |source: BuildError| Failure::Size { what: kind.name(), source };
    let geometry = target.size(kind, keys).map_err(|error| failure(error.into()))?;
    let (bytes, cap) = (kind.bytes(geometry), Machine::get().memory_cap());
    if bytes > cap { Err(failure(AllocError::OverCap { bytes, cap }.into())) } else { Ok(geometry) }
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<Outcome, Failure> {
    args.validate()?;
    let kind = names::layout(&args.layout)?;
    let hasher = args.hasher()?;
    // What is too much for one key is too much for all, and is told before they are read.
    sized(kind, args.target(), 1)?;
    if let Some(threads) = args.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into());
        pool.build_global().map_err(|error| Failure::Usage(format!("{threads} threads: {error}")))?;
    }
    let digester = Digester::new(&hasher, args.format.format())?;
    let reader = KeyReader::open(&args.keys, args.format.format())?;
    let output = Output::create(&args.output)?;

    let Distinct { digests, keys } = Distinct::read(reader, digester)?;
    let distinct = digests.len() as u64;
    let geometry = sized(kind, args.target(), distinct)?;
    let design = Design { keys: distinct, fpr: kind.fpr(distinct, geometry) };
    let failure = |source: BuildError| Failure::Size { what: kind.name(), source };
    let (level, bytes) = (Level::get(), kind.bytes(geometry));
    match kind {
        FilterKind::Bits(layout) => {
            let filter = AnyFilter::with_geometry(layout, geometry, design, hasher.clone(), level);
            let mut filter = filter.map_err(failure)?;
            let scratch = usize::try_from(args.scratch).unwrap_or(usize::MAX);
            let options = BulkOptions::default().scratch_bytes(scratch);
            filter.insert_bulk(&digests, options).map_err(|error| match error {
                WriteError::Alloc(error) => failure(error.into()),
                error => Failure::Usage(format!("{kind}: {error}")),
            })?;
            drop(digests);
            output.finish(&filter, out)?;
        }
        kind => {
            let filter = AnyCounting::with_geometry(kind, geometry, design, hasher.clone(), level);
            let mut filter = filter.map_err(failure)?;
            filter.insert_batch(&digests).map_err(|error| Failure::Usage(format!("{kind}: {error}")))?;
            drop(digests);
            output.finish(&filter, out)?;
        }
    }

    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        layout: kind.name(),
        level: level.name(),
        hasher: hasher.id().name(),
        keys,
        keys_distinct: distinct,
        bits: geometry.bits,
        k: geometry.k,
        bytes,
        file_bytes: bytes + HEADER_BYTES as u64,
        bits_per_key: bytes as f64 * 8.0 / distinct as f64,
        fpr_expected: design.fpr,
    };
    if args.json {
        report::write_json(out, &report)?;
    } else {
        report::say(&format!(
            "{kind}: {} distinct keys of {} read, {}, {:.2} bits per key, expected fpr {}",
            table::count(distinct),
            table::count(keys),
            table::bytes(report.bytes),
            report.bits_per_key,
            table::percent(design.fpr),
        ));
    }
    Ok(Outcome::Done)
}
