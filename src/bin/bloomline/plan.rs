//! `bloomline plan`: every layout sized for a number of keys and a rate.

use std::io::Write;

use bloomline::FilterKind;
use bloomline::error::SizingError;
use bloomline::machine::Machine;
use bloomline::sizing::Geometry;
use serde::Serialize;

use crate::names;
use crate::numbers;
use crate::table::{self, Align, Table};
use crate::{Failure, Outcome, report};

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("target").required(true))]
pub(crate) struct Args {
    /// Number of distinct keys (1000000, 1e6, 1M, 2^20)
    #[arg(long, value_name = "N", value_parser = numbers::count)]
    pub(crate) keys: u64,
    /// False positive rate (0.01 or 1%)
    #[arg(long, value_name = "P", value_parser = numbers::rate, group = "target", allow_negative_numbers = true)]
    pub(crate) fpr: Option<f64>,
    /// Bits of filter per key, instead of a rate
    #[arg(long, value_name = "B", value_parser = numbers::positive, group = "target", allow_negative_numbers = true)]
    pub(crate) bits_per_key: Option<f64>,
    /// Only these layouts (comma-separated or repeated)
    #[arg(long = "layout", value_name = "NAME", value_delimiter = ',')]
    pub(crate) layouts: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What filters are sized by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    Fpr(f64),
    BitsPerKey(f64),
}

impl Target {
    /// The size of a filter for so many keys.
    pub(crate) fn size(self, kind: FilterKind, keys: u64) -> Result<Geometry, SizingError> {
        match self {
            Self::Fpr(fpr) => kind.size_for_fpr(keys, fpr),
            Self::BitsPerKey(bits) => kind.size_for_bits_per_key(keys, bits),
        }
    }

    /// `1 % false positives`, `10 bits per key`.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Fpr(fpr) => format!("{} false positives", table::percent(fpr)),
            Self::BitsPerKey(bits) => format!("{bits} bits per key"),
        }
    }
}

/// The report. Field names are promised to scripts.
#[derive(Debug, Serialize)]
struct Report {
    version: &'static str,
    keys: u64,
    fpr: Option<f64>,
    bits_per_key: Option<f64>,
    /// The most that one filter may take when it is built, unless the builder is told otherwise.
    memory_cap_bytes: u64,
    layouts: Vec<Row>,
}

/// A layout: its size, or why there is none. Of filters that count, `bits` are the counters, or the bits of a d-left
/// table, whose `k` is the bits of a slot; `bytes` and `bits_per_key` are memory.
#[derive(Debug, Default, Serialize)]
struct Row {
    layout: &'static str,
    bits: Option<u64>,
    k: Option<u32>,
    bytes: Option<u64>,
    bits_per_key: Option<f64>,
    fpr_expected: Option<f64>,
    tier: Option<&'static str>,
    over_memory_cap: Option<bool>,
    error: Option<String>,
}

impl Row {
    fn new(kind: FilterKind, keys: u64, target: Target, machine: &Machine) -> Result<Self, SizingError> {
        let geometry = target.size(kind, keys)?;
        let bytes = kind.bytes(geometry);
        Ok(Self {
            layout: kind.name(),
            bits: Some(geometry.bits),
            k: Some(geometry.k),
            bytes: Some(bytes),
            bits_per_key: Some(bytes as f64 * 8.0 / keys as f64),
            fpr_expected: Some(kind.fpr(keys, geometry)),
            tier: Some(machine.tier(bytes).name()),
            over_memory_cap: Some(bytes > machine.memory_cap()),
            error: None,
        })
    }

    fn cells(&self) -> Vec<String> {
        let mut cells = vec![self.layout.to_owned()];
        match (&self.error, self.bits, self.k, self.bytes, self.bits_per_key, self.fpr_expected, self.tier) {
            (None, Some(bits), Some(k), Some(bytes), Some(per_key), Some(fpr), Some(tier)) => {
                let note = if self.over_memory_cap == Some(true) { "over the memory cap" } else { "" };
                cells.extend([table::count(bits), k.to_string(), table::bytes(bytes), format!("{per_key:.2}")]);
                cells.extend([table::percent(fpr), tier.to_owned(), note.to_owned()]);
            }
            (error, ..) => {
                cells.resize(7, String::from("-"));
                cells.push(error.clone().unwrap_or_default());
            }
        }
        cells
    }
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<Outcome, Failure> {
    let machine = Machine::get();
    let kinds = names::layouts(&args.layouts)?;
    let target = match (args.fpr, args.bits_per_key) {
        (_, Some(bits)) => Target::BitsPerKey(bits),
        (fpr, None) => Target::Fpr(fpr.unwrap_or(0.01)),
    };
    let mut refused = None;
    let mut layouts = Vec::new();
    for kind in kinds {
        layouts.push(Row::new(kind, args.keys, target, machine).unwrap_or_else(|error| {
            let row = Row { layout: kind.name(), error: Some(error.to_string()), ..Row::default() };
            refused.get_or_insert(error);
            row
        }));
    }
    // A table of reasons alone is no answer.
    if let Some(error) = refused.filter(|_| layouts.iter().all(|row| row.error.is_some())) {
        return Err(Failure::Size { what: "no layout has a size", source: error.into() });
    }
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        keys: args.keys,
        fpr: args.fpr,
        bits_per_key: args.bits_per_key,
        memory_cap_bytes: machine.memory_cap(),
        layouts,
    };
    if args.json {
        report::write_json(out, &report)?
    } else {
        write!(out, "{}", text(&report, target))?
    }
    Ok(Outcome::Done)
}

fn text(report: &Report, target: Target) -> String {
    let mut rows = Table::new([
        ("layout", Align::Left),
        ("bits m", Align::Right),
        ("k", Align::Right),
        ("size", Align::Right),
        ("bits/key", Align::Right),
        ("fpr expected", Align::Right),
        ("tier", Align::Left),
        ("", Align::Left),
    ]);
    report.layouts.iter().for_each(|row| rows.push(row.cells()));
    let mut text = format!("{} keys at {}\n\n{rows}", table::count(report.keys), target.text());
    if report.layouts.iter().any(|row| row.over_memory_cap == Some(true)) {
        let cap = table::bytes(report.memory_cap_bytes);
        text += &format!("\nThe memory cap here is {cap} for one filter; a builder can be given another.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Failure;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    fn parse(args: &[&str]) -> Result<Args, String> {
        Cli::try_parse_from([&["plan"], args].concat())
            .map(|cli| cli.args)
            .map_err(|error| Failure::usage(&error, Some("plan")).to_string())
    }

    #[test]
    fn good_arguments() {
        let args = parse(&["--keys", "1M", "--fpr", "1%", "--layout", "word,blocked", "--json"]).unwrap();
        assert_eq!((args.keys, args.fpr, args.bits_per_key), (1_000_000, Some(0.01), None));
        assert_eq!(args.layouts, ["word", "blocked"]);
        assert!(args.json);
        assert_eq!(parse(&["--keys", "5", "--bits-per-key", "10.5"]).unwrap().bits_per_key, Some(10.5));
    }

    #[test]
    fn bad_arguments_name_the_value() {
        let cases: &[(&[&str], &str)] = &[
            (&["--keys", "0", "--fpr", "0.01"], "invalid value '0' for '--keys <N>': there must be at least one"),
            (&["--keys", "5", "--fpr", "1"], "invalid value '1' for '--fpr <P>': a rate lies between 0 and 1"),
            (&["--keys", "5", "--fpr", "NaN"], "invalid value 'NaN' for '--fpr <P>'"),
            (&["--keys", "5", "--fpr", "-1"], "invalid value '-1' for '--fpr <P>'"),
            (&["--keys", "5", "--bits-per-key", "0"], "invalid value '0' for '--bits-per-key <B>'"),
            (&["--keys", "5"], "missing --fpr <P> or --bits-per-key <B>"),
            (&["--fpr", "0.1"], "missing --keys <N>"),
            (&["--keys", "5", "--fpr", "0.1", "--bits-per-key", "9"], "cannot be used with"),
            (&["--keys", "5", "--fpt", "0.1"], "unexpected argument \"--fpt\": did you mean \"--fpr\"?"),
        ];
        for (args, expected) in cases {
            let error = parse(args).unwrap_err();
            assert!(error.contains(expected), "{error}");
            assert!(error.ends_with("(see bloomline plan --help)") && !error.contains('\n'), "{error}");
        }
    }
}
