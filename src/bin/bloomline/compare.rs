//! `bloomline compare`: every layout built and measured on the same keys.

use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bloomline::hash::{Hashes, Xxh3};
use bloomline::machine::Machine;
use bloomline::{BulkOptions, Digest, FilterKind};
use serde::Serialize;

use crate::keys::{FormatArgs, KeyReader, KeySet};
use crate::measure::{self, Digests, Random};
use crate::plan::Target;
use crate::progress::Progress;
use crate::stage::{self, Bench, Entry, KEYS, Queries, Record, Stage, TIERS};
use crate::table::{self, Align, Table};
use crate::{Failure, Outcome, names, numbers, pin, report, subject};

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("source").required(true), group = clap::ArgGroup::new("target"))]
pub(crate) struct Args {
    /// File of keys, one per line; - for standard input
    #[arg(long, value_name = "FILE", group = "source")]
    pub(crate) keys_file: Option<PathBuf>,
    /// So many generated keys instead (1000000, 1e6, 1M, 2^20)
    #[arg(long, value_name = "N", value_parser = numbers::count, group = "source", allow_negative_numbers = true)]
    pub(crate) keys: Option<u64>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// False positive rate to size for (0.01 or 1%) [default: 0.01]
    #[arg(long, value_name = "P", value_parser = numbers::rate, group = "target", allow_negative_numbers = true)]
    pub(crate) fpr: Option<f64>,
    /// Bits of filter per key, instead of a rate
    #[arg(long, value_name = "B", value_parser = numbers::positive, group = "target", allow_negative_numbers = true)]
    pub(crate) bits_per_key: Option<f64>,
    /// Only these layouts (comma-separated or repeated)
    #[arg(long = "layout", value_name = "NAME", value_delimiter = ',')]
    pub(crate) layouts: Vec<String>,
    /// Only these levels of instruction set (comma-separated or repeated)
    #[arg(long = "level", value_name = "NAME", value_delimiter = ',')]
    pub(crate) levels: Vec<String>,
    /// Only these synthetic tiers of prehashed keys: L1, L2, L3, DRAM, or none [default: all]
    #[arg(long = "tiers", value_name = "NAME", value_delimiter = ',')]
    pub(crate) tiers: Vec<String>,
    /// Seconds of measuring for each tier [default: 20, or 4 with --quick]
    #[arg(long, value_name = "SECONDS", value_parser = numbers::positive, allow_negative_numbers = true)]
    pub(crate) budget: Option<f64>,
    /// Threads of the parallel build [default: all]
    #[arg(long, value_name = "T", default_value_t = 0, hide_default_value = true)]
    pub(crate) threads: usize,
    /// Seed of generated digests, and of the hasher
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Core to measure on [default: the last one usable]
    #[arg(long, value_name = "CORE")]
    pub(crate) core: Option<usize>,
    /// Fewer and shorter samples: a look, not a measurement
    #[arg(long)]
    pub(crate) quick: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the JSON to this file as well
    #[arg(long, value_name = "FILE")]
    pub(crate) json_out: Option<PathBuf>,
}

impl Args {
    /// The rate or the bits asked for; 1 % when neither is.
    pub(crate) fn target(&self) -> Target {
        match self.bits_per_key {
            Some(bits) => Target::BitsPerKey(bits),
            None => Target::Fpr(self.fpr.unwrap_or(0.01)),
        }
    }

    /// What clap's rules can't say.
    pub(crate) fn validate(&self) -> Result<(), Failure> {
        if self.keys_file.is_none() && (self.format.null || self.format.u64le) {
            let flag = if self.format.null { "--null" } else { "--u64le" };
            return Err(Failure::Usage(format!("{flag} says how to read a file of keys: it needs --keys-file")));
        }
        Ok(())
    }
}

/// Lookups of a sample in the cache tiers, and in main memory.
const QUERIES: usize = 1 << 20;
const QUERIES_IN_MEMORY: usize = 1 << 23;

/// What was measured, and how.
#[derive(Debug, Serialize)]
struct Report {
    version: &'static str,
    date: String,
    command: String,
    cpu: Option<String>,
    core: Option<usize>,
    threads: usize,
    seed: u64,
    target: String,
    source: String,
    keys: u64,
    duplicates: u64,
    hash_ns: Option<f64>,
    /// Per tier: rounds, seconds, and half the intervals' widths as shares (the median one, the widest).
    tiers: Vec<TierReport>,
    notes: Vec<String>,
    failures: Vec<String>,
    layouts: Vec<Record>,
}

#[derive(Debug, Serialize)]
struct TierReport {
    tier: &'static str,
    rounds: u32,
    seconds: f64,
    noise_median: Option<f64>,
    noise_most: Option<f64>,
}

/// The real keys, and what they hash to.
struct Real {
    set: Option<KeySet>,
    source: String,
    distinct: Vec<Digest>,
    duplicates: u64,
}

impl Real {
    fn load(args: &Args, hasher: Xxh3) -> Result<Self, Failure> {
        if let Some(path) = &args.keys_file {
            let reader = KeyReader::open(path, args.format.format())?;
            let source = reader.name().to_owned();
            let set = KeySet::load(reader, Machine::get().memory_cap())?;
            let mut distinct: Vec<Digest> = set.iter().map(|key| hasher.digest(key)).collect();
            let all = distinct.len();
            let mut seen = HashSet::with_capacity(all);
            distinct.retain(|&digest| seen.insert(digest));
            let duplicates = (all - distinct.len()) as u64;
            return Ok(Self { set: Some(set), source, distinct, duplicates });
        }
        let keys = args.keys.unwrap_or(0);
        let bytes = keys.saturating_mul(64);
        if bytes > Machine::get().memory_cap() {
            let error = bloomline::error::AllocError::OverCap { bytes, cap: Machine::get().memory_cap() };
            return Err(Failure::Usage(format!("{keys} generated keys take too much memory: {error}")));
        }
        // URL-like keys: the bytes that a crawler or a store would hash.
        let mut text = Vec::new();
        for i in 0..keys {
            let _ = writeln!(text, "https://example.org/{:x}/item?id={i}", i.wrapping_mul(0x9e37_79b9) & 0xffff);
        }
        let reader = KeyReader::new("generated keys", crate::keys::Format::Lines, std::io::Cursor::new(text));
        let set = if keys > 0 { Some(KeySet::load(reader, u64::MAX)?) } else { None };
        let distinct = set.iter().flat_map(|set| set.iter().map(|key| hasher.digest(key))).collect();
        Ok(Self { set, source: format!("{keys} generated URL-like keys"), distinct, duplicates: 0 })
    }
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<Outcome, Failure> {
    args.validate()?;
    let kinds = names::layouts(&args.layouts)?;
    let levels = names::levels(&args.levels)?;
    let known: Vec<&str> = TIERS.iter().map(|(name, _)| *name).chain(["none"]).collect();
    let chosen = args.tiers.iter().map(|name| names::find("tier", name, &known)).collect::<Result<Vec<_>, _>>()?;
    let tiers: Vec<_> =
        (0..TIERS.len()).filter(|i| chosen.is_empty() || chosen.contains(i)).map(|i| TIERS[i]).collect();
    let json_file = args.json_out.as_deref().map(report::JsonFile::create).transpose()?;
    let hasher = Xxh3::with_seed(args.seed);
    let real = Real::load(args, hasher)?;
    let keys = real.distinct.len() as u64;
    // Sizes before anything is built, so that a bad one is told at once.
    let mut sizes = Vec::new();
    for &kind in &kinds {
        let geometry = args.target().size(kind, keys).map_err(|error| Failure::Usage(format!("{kind}: {error}")))?;
        let (bytes, cap) = (kind.bytes(geometry), Machine::get().memory_cap());
        if bytes > cap {
            let error = bloomline::error::AllocError::OverCap { bytes, cap };
            return Err(Failure::Usage(format!("{kind}: {error}")));
        }
        sizes.push((kind, geometry));
    }

    let threads = if args.threads == 0 { Machine::get().usable_cpus.max(1) as usize } else { args.threads };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Failure::Usage(format!("{threads} threads: {error}")))?;
    let core = pin::pin(args.core)?;
    let bench = Bench { levels, threads, pool, quick: args.quick, seed: args.seed };
    let budget = Duration::from_secs_f64(args.budget.unwrap_or(if args.quick { 4.0 } else { 20.0 }).min(1e6));
    let mut progress = Progress::new((tiers.len() as u64 + 1) * budget.as_millis() as u64);

    let mut report = Report {
        version: env!("CARGO_PKG_VERSION"),
        date: measure::date(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()),
        command: command(),
        cpu: Machine::get().cpu_model.clone(),
        core,
        threads,
        seed: args.seed,
        target: args.target().text(),
        source: real.source.clone(),
        keys,
        duplicates: real.duplicates,
        hash_ns: None,
        tiers: Vec::new(),
        notes: Vec::new(),
        failures: Vec::new(),
        layouts: Vec::new(),
    };

    let mut stage = real_stage(&real, &sizes, hasher, &bench)?;
    finish(&mut stage, budget, &bench, &mut progress, &mut report)?;
    report.hash_ns = stage.hash_ns();
    drop(stage);
    for (name, bytes) in tiers {
        let in_memory = bytes > 64 << 20;
        let bytes = if in_memory && args.quick { 64 << 20 } else { bytes };
        let queries = if in_memory { QUERIES_IN_MEMORY } else { QUERIES };
        let needed = stage::bytes_needed(kinds.len(), bytes, queries);
        if needed > Machine::get().memory_cap() {
            let (needed, cap) = (table::bytes(needed), table::bytes(Machine::get().memory_cap()));
            report.notes.push(format!("{name} left out: it needs {needed} of memory, over the cap of {cap}"));
            continue;
        }
        if in_memory && args.quick {
            report.notes.push(format!("{name} at {} instead of 256 MiB (--quick)", table::bytes(bytes)));
        }
        let mut stage = Stage::synthetic(name, bytes, &kinds, queries, &bench, &mut progress).map_err(built)?;
        finish(&mut stage, budget, &bench, &mut progress, &mut report)?;
    }
    drop(progress);

    if let Some(file) = json_file {
        file.finish(&report)?;
    }
    if args.json {
        report::write_json(out, &report)?;
    } else {
        print(&report, out)?;
    }
    out.flush()?;
    for failure in &report.failures {
        eprintln!("bloomline: check failed: {failure}");
    }
    Ok(if report.failures.is_empty() { Outcome::Done } else { Outcome::Failed })
}

/// The command that prints this report, the program's own path left out.
fn command() -> String {
    let args = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned());
    std::iter::once("bloomline".to_owned()).chain(args).collect::<Vec<_>>().join(" ")
}

fn built(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}

/// Filters of the real keys.
fn real_stage<'k>(
    real: &'k Real,
    sizes: &[(FilterKind, bloomline::sizing::Geometry)],
    hasher: Xxh3,
    bench: &Bench,
) -> Result<Stage<'k>, Failure> {
    let members = real.distinct.clone();
    let mut random = Random::new(bench.seed);
    let digests = Digests::new(bench.seed);
    // Absent: generated digests that no key has.
    let present: HashSet<Digest> = members.iter().copied().collect();
    let absent: Vec<Digest> =
        (0..).map(|i| digests.absent(i)).filter(|digest| !present.contains(digest)).take(QUERIES).collect();
    let hits = measure::hits(&members, QUERIES, &mut random);
    let half = measure::half(&hits, &absent, &mut random);
    let mut stage = Stage::new(KEYS, Queries { absent, half, hits }, members, hasher);
    stage.byte_keys = real.set.iter().flat_map(KeySet::iter).take(QUERIES).collect();
    for &(kind, geometry) in sizes {
        let keys = stage.members.len() as u64;
        let mut subject = subject::new(kind, keys, geometry, hasher).map_err(built)?;
        subject.set_level(bench.best());
        let options = BulkOptions::default().threads(bench.threads);
        bench.pool.install(|| subject.insert_bulk(&stage.members, options)).map_err(built)?;
        let scratch = subject::new(kind, keys, geometry, hasher).map_err(built)?;
        stage.entries.push(Entry::new(subject, Some(scratch), keys));
    }
    Ok(stage)
}

/// Checks, measures, and adds to the report.
fn finish(
    stage: &mut Stage<'_>,
    budget: Duration,
    bench: &Bench,
    progress: &mut Progress,
    report: &mut Report,
) -> Result<(), Failure> {
    stage.check(bench, progress).map_err(built)?;
    if stage.failures.is_empty() {
        stage.measure(budget, bench, progress);
        let records = stage.records(bench);
        report.layouts.extend(records);
        let noise = stage.noise();
        report.tiers.push(TierReport {
            tier: stage.name,
            rounds: stage.rounds,
            seconds: stage.seconds,
            noise_median: noise.map(|(median, _)| median),
            noise_most: noise.map(|(_, most)| most),
        });
    }
    report.failures.append(&mut stage.failures);
    report.notes.append(&mut stage.notes);
    Ok(())
}

/// Tables for people: one for each tier.
fn print(report: &Report, out: &mut dyn Write) -> std::io::Result<()> {
    let ns = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |ns| format!("{ns:.2}"));
    writeln!(
        out,
        "bloomline {} on {}, {}",
        report.version,
        report.cpu.as_deref().unwrap_or("unknown CPU"),
        report.date
    )?;
    writeln!(out, "{}", report.command)?;
    let (keys, duplicates) = (table::count(report.keys), table::count(report.duplicates));
    writeln!(
        out,
        "{}: {keys} distinct keys, {duplicates} duplicates; sized for {}; seed {}",
        report.source, report.target, report.seed
    )?;
    writeln!(
        out,
        "Nanoseconds a key; absent keys, one pinned core. x limit: batched, as a multiple of the fastest load-only loop."
    )?;
    for tier in &report.tiers {
        let rows: Vec<&Record> = report.layouts.iter().filter(|record| record.tier == tier.tier).collect();
        let Some(first) = rows.first() else { continue };
        let what = if tier.tier == KEYS {
            "the keys themselves".to_owned()
        } else {
            format!("{}: {} of prehashed keys", tier.tier, table::bytes(first.bytes))
        };
        writeln!(out)?;
        let noise = tier.noise_median.map_or_else(String::new, |noise| format!(", intervals +-{:.1} %", noise * 100.0));
        let rounds = match tier.rounds {
            1 => "1 round, no intervals".to_owned(),
            rounds => format!("{rounds} rounds{noise}"),
        };
        writeln!(out, "{what} ({rounds})")?;
        let mut text = Table::new([
            ("layout", Align::Left),
            ("level", Align::Left),
            ("bytes", Align::Right),
            ("k", Align::Right),
            ("bits/key", Align::Right),
            ("fpr", Align::Right),
            ("expected", Align::Right),
            ("limit", Align::Right),
            ("batched", Align::Right),
            ("x limit", Align::Right),
            ("50 %", Align::Right),
            ("100 %", Align::Right),
            ("single", Align::Right),
            ("kernel", Align::Right),
            ("cold", Align::Right),
            ("build", Align::Right),
            ("all", Align::Right),
            ("keys", Align::Right),
        ]);
        for record in rows {
            text.push(vec![
                record.layout.to_owned(),
                record.level.to_owned(),
                table::bytes(record.bytes),
                record.k.to_string(),
                format!("{:.2}", record.bits_per_key),
                table::percent(record.fpr_measured),
                table::percent(record.fpr_expected),
                ns(record.limit_ns),
                ns(record.batch_ns),
                ns(record.ratio_to_limit),
                ns(record.batch_50_ns),
                ns(record.batch_100_ns),
                ns(record.lookup_ns),
                ns(record.kernel_ns),
                ns(record.latency_ns),
                ns(record.build_ns),
                ns(record.build_all_threads_ns),
                ns(record.keys_batch_ns),
            ]);
        }
        write!(out, "{text}")?;
    }
    writeln!(out)?;
    writeln!(
        out,
        "cold: each lookup waits for the one before. build: one thread; all: {} threads. keys: byte keys, hashed and batched.",
        report.threads
    )?;
    if let Some(hash) = report.hash_ns {
        writeln!(out, "Hashing one of the keys takes {hash:.2} ns.")?;
    }
    for note in &report.notes {
        writeln!(out, "Note: {note}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Format;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    fn parse(args: &[&str]) -> Result<Args, String> {
        let cli = Cli::try_parse_from([&["compare"], args].concat())
            .map_err(|error| Failure::usage(&error, Some("compare")).to_string())?;
        cli.args.validate().map_err(|failure| failure.to_string())?;
        Ok(cli.args)
    }

    #[test]
    fn good_arguments() {
        let args = parse(&["--keys-file", "-", "-0", "--quick", "--level", "avx2", "--level", "scalar"]).unwrap();
        assert_eq!(args.keys_file.as_deref().and_then(|path| path.to_str()), Some("-"));
        assert_eq!(args.format.format(), Format::Null);
        assert_eq!(args.target(), Target::Fpr(0.01));
        assert_eq!(args.levels, ["avx2", "scalar"]);
        assert!(args.quick && !args.json);
        let args = parse(&["--keys", "2^20", "--bits-per-key", "10", "--json-out", "a.json", "--core", "1"]).unwrap();
        assert_eq!(args.target(), Target::BitsPerKey(10.0));
        assert_eq!((args.keys, args.core), (Some(1 << 20), Some(1)));
        assert_eq!(parse(&["--keys-file", "f", "--u64le"]).unwrap().format.format(), Format::U64Le);
        assert_eq!(parse(&["--keys-file", "f"]).unwrap().format.format(), Format::Lines);
    }

    #[test]
    fn bad_arguments() {
        let cases: &[(&[&str], &str)] = &[
            (&[], "missing --keys-file <FILE> or --keys <N>"),
            (&["--keys", "5", "--keys-file", "f"], "cannot be used with"),
            (&["--keys", "5", "-0"], "--null says how to read a file of keys: it needs --keys-file"),
            (&["--keys-file", "f", "-0", "--u64le"], "cannot be used with"),
            (&["--keys", "many"], "invalid value 'many' for '--keys <N>': expected a whole number"),
            (&["--keys", "-5"], "invalid value '-5' for '--keys <N>'"),
            (&["--keys", "5", "--core", "first"], "invalid value 'first' for '--core <CORE>'"),
        ];
        for (args, expected) in cases {
            let error = parse(args).unwrap_err();
            assert!(error.contains(expected) && !error.contains('\n'), "{error}");
        }
    }
}
