//! `bloomline merge`: the union of filters.
//!
//! The union is bit for bit the filter that all their keys would have made in one of this size, so it keeps what the
//! first was sized for: a size does not grow by what is put into it. Whether it now holds more than that is told.

use std::io::Write;
use std::path::PathBuf;

use serde::Serialize;

use crate::stored::{self, Stored};
use crate::table;
use crate::whole::Output;
use crate::{Failure, Outcome, report};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Filters are united when layout, size, probes, hasher and seed are the same. No
secret is needed. The result says that it was sized for what the first filter
was sized for; sizing for all keys beforehand is what keeps the rate. Filters
that count hold each key as often as both did; a d-left table may be full.
The output may be one of the inputs.")]
pub(crate) struct Args {
    /// Filter files; - for standard input
    #[arg(required = true, num_args = 1.., value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// File of the union; - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Print JSON about the union
    #[arg(long)]
    pub(crate) json: bool,
}

/// The report. Field names are promised to scripts.
#[derive(Debug, Serialize)]
struct Report {
    version: &'static str,
    layout: &'static str,
    filters: usize,
    keys_designed: Option<u64>,
    /// `null` when every bit is set.
    keys_estimated: Option<f64>,
    fpr_current: f64,
    past_design: bool,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<Outcome, Failure> {
    if args.json && args.output.as_os_str() == "-" {
        return Err(Failure::Usage("--json and the filter can't both go to standard output".to_owned()));
    }
    if args.files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
        return Err(Failure::Usage("standard input can be read once: - is given twice".to_owned()));
    }
    let output = Output::create(&args.output)?;
    let mut union: Option<Stored> = None;
    for file in &args.files {
        let next = stored::read(file, |header| Ok(header.unkeyed()))?;
        match &mut union {
            None => union = Some(next),
            Some(union) => {
                let unlike = |source| Failure::Unlike { left: union.name.clone(), right: next.name.clone(), source };
                union.filter.merge(&next.filter).map_err(unlike)?;
            }
        }
    }
    let Some(Stored { filter, .. }) = union else {
        return Err(Failure::Usage("no filter to merge".to_owned()));
    };
    output.finish_kept(&filter, out)?;

    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        layout: filter.kind().name(),
        filters: args.files.len(),
        keys_designed: Some(filter.design().keys).filter(|&keys| keys > 0),
        keys_estimated: filter.estimated_keys(),
        fpr_current: filter.current_fpr().map_err(|error| Failure::Usage(error.to_string()))?,
        past_design: filter.is_past_design(),
    };
    if args.json {
        report::write_json(out, &report)?;
        return Ok(Outcome::Done);
    }
    let keys = report.keys_estimated.map_or("more".to_owned(), |keys| table::count(keys.round() as u64));
    let sized = report.keys_designed.map(|keys| format!(" (sized for {})", table::count(keys))).unwrap_or_default();
    report::say(&format!(
        "{}: {} filters united, about {keys} keys{sized}, fpr now {}",
        report.layout,
        report.filters,
        table::percent(report.fpr_current)
    ));
    Ok(Outcome::Done)
}
