//! `bloomline fold`: a filter that was built too large, shrunk.

use std::io::Write;
use std::path::PathBuf;

use bloomline::Contains;
use serde::Serialize;

use crate::stored::{self, Kept, Stored};
use crate::whole::Output;
use crate::{Failure, Outcome, numbers, report, table};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The factor follows from the number of keys that the bits tell of, not from what
the filter was sized for. No secret is needed. Exit status: 1, and no file, when
no factor keeps the rate.")]
pub(crate) struct Args {
    /// Filter file; - for standard input
    pub(crate) file: PathBuf,
    /// False positive rate that must be kept (0.01 or 1%)
    #[arg(long, value_name = "P", value_parser = numbers::rate, allow_negative_numbers = true)]
    pub(crate) fpr: f64,
    /// File of the smaller filter; - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Print JSON about the fold
    #[arg(long)]
    pub(crate) json: bool,
}

/// The report. Field names are promised to scripts.
#[derive(Debug, Serialize)]
struct Report {
    version: &'static str,
    layout: &'static str,
    /// 1 when nothing was folded.
    factor: u64,
    /// `null` when every bit is set.
    keys_estimated: Option<f64>,
    bytes_before: u64,
    fpr_before: f64,
    bytes: u64,
    fpr_current: f64,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<Outcome, Failure> {
    if args.json && args.output.as_os_str() == "-" {
        return Err(Failure::Usage("--json and the filter can't both go to standard output".to_owned()));
    }
    let Stored { name, filter, .. } = stored::read(&args.file, |header| Ok(header.unkeyed()))?;
    let Kept::Bits(filter) = filter else {
        return Err(Failure::Usage(format!("{name}: a filter of kind {} can't be folded", filter.kind())));
    };
    let mut report = Report {
        version: env!("CARGO_PKG_VERSION"),
        layout: filter.kind().name(),
        factor: filter.best_fold(args.fpr),
        keys_estimated: Some(filter.estimated_cardinality()).filter(|keys| keys.is_finite()),
        bytes_before: filter.size_in_bytes(),
        fpr_before: filter.current_fpr(),
        bytes: filter.size_in_bytes(),
        fpr_current: filter.current_fpr(),
    };
    let keys = report.keys_estimated.map_or("more".to_owned(), |keys| table::count(keys.round() as u64));
    let kept = table::percent(args.fpr);
    if report.factor <= 1 {
        if args.json {
            report::write_json(out, &report)?;
        }
        let now = table::percent(report.fpr_before);
        report::say(&format!("{name}: no factor keeps {kept} with about {keys} keys; it is at {now}, nothing written"));
        return Ok(Outcome::Failed);
    }
    let output = Output::create(&args.output)?;
    let folded = filter.fold(report.factor).map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
    output.finish(&folded, out)?;
    report.bytes = folded.size_in_bytes();
    report.fpr_current = folded.current_fpr();
    if args.json {
        report::write_json(out, &report)?;
        return Ok(Outcome::Done);
    }
    report::say(&format!(
        "{}: folded by {}, {} to {}, about {keys} keys, fpr {} to {}",
        report.layout,
        report.factor,
        table::bytes(report.bytes_before),
        table::bytes(report.bytes),
        table::percent(report.fpr_before),
        table::percent(report.fpr_current)
    ));
    Ok(Outcome::Done)
}
