//! `bloomline audit`: a filter against keys that are in it, and keys that are not.
//!
//! Two things can be wrong with a filter: that it misses a member, and that its rate is not the formula's. The rate is
//! the formula's for the number of distinct members, not the one it was sized for, so a filter that is half full or
//! twice full is judged by what it should do then.
//!
//! Keys are told apart by their digests: those given as absent are asked once each, and not at all when a member has the
//! same digest.

use std::io::Write;
use std::path::PathBuf;

use bloomline::error::AllocError;
use bloomline::{Digest, FilterKind};
use serde::Serialize;

use crate::check::{self, Range};
use crate::digests::{Digester, Distinct};
use crate::keys::{FormatArgs, KeyReader};
use crate::secret::SecretArgs;
use crate::stored::{self, Kept, Stored};
use crate::table;
use crate::{Failure, Outcome, report};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The interval of the measured rate is one of 95 %: it allows for the finite number
of absent keys and for what one filter's own rate differs from the mean of all
filters of its kind. One sound filter in 20, or fewer, lies outside by luck. Members
must be all keys of the filter: of fewer keys, the formula expects a lower rate.

Exit status: 1 when a member is missed or the formula lies outside the interval.")]
pub(crate) struct Args {
    /// Filter file; - for standard input
    pub(crate) file: PathBuf,
    /// File of all keys that the filter was built from, one per line; - for standard input
    #[arg(long, value_name = "KEYS")]
    pub(crate) members: PathBuf,
    /// File of keys that are not in it; - for standard input
    #[arg(long, value_name = "KEYS")]
    pub(crate) absent: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The report. Field names are promised to scripts.
#[derive(Debug, Serialize)]
struct Report {
    version: &'static str,
    file: String,
    layout: &'static str,
    bytes: u64,
    bits_per_key: f64,
    members: u64,
    members_distinct: u64,
    members_missed: u64,
    #[serde(flatten)]
    rate: Option<Rate>,
    /// By the formula, for so many members.
    fpr_expected: f64,
    /// By the bits that are set.
    fpr_current: f64,
    /// `null` when every bit is set.
    keys_estimated: Option<f64>,
    passed: bool,
}

/// What the absent keys told.
#[derive(Debug, Serialize)]
struct Rate {
    absent: u64,
    absent_duplicates: u64,
    absent_members: u64,
    absent_asked: u64,
    absent_maybe: u64,
    fpr_measured: f64,
    fpr_low: f64,
    fpr_high: f64,
}

/// Of these digests, how many the filter says may be present.
fn maybe(filter: &Kept, digests: &[Digest]) -> u64 {
    let mut words = [0; 64];
    let mut count = |digests: &[Digest]| {
        let words = &mut words[..digests.len().div_ceil(64)];
        match filter.contains_batch(digests, words) {
            Ok(()) => words.iter().map(|word| u64::from(word.count_ones())).sum(),
            Err(_) => digests.len() as u64, // it has a word for every 64 keys
        }
    };
    digests.chunks(64 * 64).map(&mut count).sum()
}

/// Removes from `digests` those that are in `others`, both ascending.
fn remove(digests: &mut Vec<Digest>, others: &[Digest]) {
    let mut others = others.iter().peekable();
    digests.retain(|digest| {
        while others.next_if(|other| *other < digest).is_some() {}
        others.peek() != Some(&digest)
    });
}

/// The variance of the filter's own rate around the formula's.
fn variance(filter: &Kept, members: u64) -> Result<f64, AllocError> {
    let geometry = filter.geometry();
    let of = |bits: &bloomline::AnyFilter<'_>| check::variance(bits.kind().model(), geometry, members, bits.as_bytes());
    Ok(match filter {
        Kept::Bits(filter) => of(filter),
        // How many elements are members is all that matters, and hardly varies.
        Kept::Counting(filter) if filter.kind() == FilterKind::DLeft => 0.0,
        Kept::Counting(filter) => filter.to_bloom()?.as_ref().map_or(0.0, of),
    })
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<Outcome, Failure> {
    let inputs = [Some(&args.file), Some(&args.members), args.absent.as_ref()];
    if inputs.iter().flatten().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Failure::Usage("standard input can be read once: - is given twice".to_owned()));
    }
    let secret = args.secret.read()?;
    let Stored { name, filter, .. } = stored::read(&args.file, |header| header.hasher(secret.as_ref()))?;
    let digester = Digester::new(filter.hasher(), args.format.format())?;
    let open = |path| KeyReader::open(path, args.format.format());
    let absent = args.absent.as_deref().map(open).transpose()?;
    let members = Distinct::read(open(&args.members)?, digester)?;

    let (kind, geometry) = (filter.kind(), filter.geometry());
    let fpr_expected = kind.fpr(members.len(), geometry);
    let rate = match absent {
        None => None,
        Some(reader) => {
            let name = reader.name().to_owned();
            let Distinct { mut digests, keys } = Distinct::read(reader, digester)?;
            let distinct = digests.len() as u64;
            remove(&mut digests, &members.digests);
            let (asked, maybe) = (digests.len() as u64, maybe(&filter, &digests));
            if asked == 0 {
                return Err(Failure::Usage(format!(
                    "{name}: every key in it is a member: there is nothing to measure"
                )));
            }
            let variance =
                variance(&filter, members.len()).map_err(|error| Failure::Usage(format!("{kind}: {error}")))?;
            let Range { low, high } = check::interval(maybe, asked, fpr_expected, variance);
            Some(Rate {
                absent: keys,
                absent_duplicates: keys - distinct,
                absent_members: distinct - asked,
                absent_asked: asked,
                absent_maybe: maybe,
                fpr_measured: maybe as f64 / asked as f64,
                fpr_low: low,
                fpr_high: high,
            })
        }
    };
    let members_missed = members.len() - maybe(&filter, &members.digests);
    let inside = rate.as_ref().is_none_or(|rate| (rate.fpr_low..=rate.fpr_high).contains(&fpr_expected));
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        file: name,
        layout: kind.name(),
        bytes: filter.size_in_bytes(),
        bits_per_key: filter.size_in_bytes() as f64 * 8.0 / members.len() as f64,
        members: members.keys,
        members_distinct: members.len(),
        members_missed,
        rate,
        fpr_expected,
        fpr_current: filter.current_fpr().map_err(|error| Failure::Usage(format!("{kind}: {error}")))?,
        keys_estimated: filter.estimated_keys(),
        passed: members_missed == 0 && inside,
    };
    if args.json {
        report::write_json(out, &report)?
    } else {
        write!(out, "{}", text(&report, inside))?
    }
    Ok(if report.passed { Outcome::Done } else { Outcome::Failed })
}

fn text(report: &Report, inside: bool) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| text += &format!("{name:<14}{value}\n");
    let (distinct, bytes) = (table::count(report.members_distinct), table::bytes(report.bytes));
    line("filter", format!("{}: {}, {bytes}, {:.2} bits per member", report.file, report.layout, report.bits_per_key));
    line("members", format!("{distinct} distinct of {} read", table::count(report.members)));
    line("missed", table::count(report.members_missed));
    if let Some(rate) = &report.rate {
        line(
            "absent",
            format!(
                "{} asked of {} read (left out: {} seen before, {} members)",
                table::count(rate.absent_asked),
                table::count(rate.absent),
                table::count(rate.absent_duplicates),
                table::count(rate.absent_members)
            ),
        );
        let (low, high) = (table::percent(rate.fpr_low), table::percent(rate.fpr_high));
        line("fpr measured", format!("{}, with 95 % between {low} and {high}", table::percent(rate.fpr_measured)));
    }
    let verdict = if report.rate.is_none() {
        ""
    } else if inside {
        ", inside"
    } else {
        ", OUTSIDE"
    };
    line("fpr formula", format!("{} for {distinct} keys{verdict}", table::percent(report.fpr_expected)));
    let keys = report.keys_estimated.map_or("more".to_owned(), |keys| table::count(keys.round() as u64));
    line("fpr by bits", format!("{}, of about {keys} keys", table::percent(report.fpr_current)));
    line("result", if report.passed { "passed" } else { "FAILED" }.to_owned());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_both_is_removed() {
        let list = |numbers: &[u64]| numbers.iter().map(|&number| Digest(number)).collect::<Vec<_>>();
        for (digests, others, left) in [
            (&[1, 2, 3, 9][..], &[0, 2, 9, 10][..], &[1, 3][..]),
            (&[1, 2], &[], &[1, 2]),
            (&[], &[1], &[]),
            (&[5], &[1, 2, 3, 4, 5], &[]),
        ] {
            let mut digests = list(digests);
            remove(&mut digests, &list(others));
            assert_eq!(digests, list(left));
        }
    }
}
