//! `bloomline remove`: keys taken out of a filter that counts.

use std::io::Write;
use std::path::PathBuf;

use serde::Serialize;

use crate::digests::Digester;
use crate::keys::{Batch, FormatArgs, KeyReader};
use crate::progress::Progress;
use crate::secret::SecretArgs;
use crate::stored::{self, Kept, Stored};
use crate::table;
use crate::whole::Output;
use crate::{Failure, Outcome, report};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A key is removed as often as it is read. One that the filter says is not there is
refused, changes nothing, and is printed as it was read. A key that was never
inserted and is not refused, by chance, takes counters of others: remove only what
was inserted.

Without -o the file is replaced, whole or not at all. Exit status: 0 when all keys
were removed, 1 when any was refused.")]
pub(crate) struct Args {
    /// Filter file of layout counting, blocked-counting or d-left
    pub(crate) file: PathBuf,
    /// File of keys, one per line; - for standard input
    pub(crate) keys: PathBuf,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// File of the filter without them, instead of the one that was read; - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    /// Print counts as JSON instead of the refused keys
    #[arg(long)]
    pub(crate) json: bool,
}

/// The report. Field names are promised to scripts.
#[derive(Debug, Default, Serialize)]
struct Report {
    keys: u64,
    removed: u64,
    refused: u64,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<Outcome, Failure> {
    let path = args.output.as_ref().unwrap_or(&args.file);
    if args.output.is_none() && args.file.as_os_str() == "-" {
        return Err(Failure::Usage("a filter from standard input needs a place to go: -o".to_owned()));
    }
    if args.file.as_os_str() == "-" && args.keys.as_os_str() == "-" {
        return Err(Failure::Usage("the filter and the keys can't both come from standard input".to_owned()));
    }
    let secret = args.secret.read()?;
    let Stored { name, filter, .. } = stored::read(&args.file, |header| header.hasher(secret.as_ref()))?;
    let Kept::Counting(mut filter) = filter else {
        return Err(Failure::Usage(format!(
            "{name}: nothing can be removed from a filter of layout {}",
            filter.kind()
        )));
    };
    let hasher = filter.hasher().clone();
    let digester = Digester::new(&hasher, args.format.format())?;
    let reader = KeyReader::open(&args.keys, args.format.format())?;
    let output = Output::create(path)?;
    // Refused keys would stand among the bytes of a filter.
    let printed = path.as_os_str() != "-" && !args.json;

    let mut progress = reader.expected().map(Progress::new);
    let mut report = Report::default();
    let mut refused = Vec::new();
    reader.for_each_batch(&mut |batch: Batch<'_>| {
        let digests = digester.map(batch, |_, digests| digests).concat();
        let mut removed = vec![0; digests.len().div_ceil(64)];
        if filter.remove_batch(&digests, &mut removed).is_err() {
            removed.fill(0); // never: there is a word for every 64 keys
        }
        report.keys += digests.len() as u64;
        report.removed += removed.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        let mut i = 0;
        batch.for_each(|key| {
            if printed && removed[i / 64] >> (i % 64) & 1 == 0 {
                refused.extend_from_slice(key);
                refused.extend_from_slice(batch.separator());
            }
            i += 1;
        });
        if let Some(progress) = &mut progress {
            progress.advance(batch.bytes() as u64);
            progress.step("removing keys");
        }
        Ok::<(), Failure>(())
    })?;
    drop(progress);
    report.refused = report.keys - report.removed;
    output.finish(&filter, out)?;
    if args.json && path.as_os_str() != "-" {
        report::write_json(out, &report)?;
    } else {
        out.write_all(&refused)?;
        report::say(&format!(
            "{}: {} of {} keys removed, {} refused",
            filter.kind(),
            table::count(report.removed),
            table::count(report.keys),
            table::count(report.refused)
        ));
    }
    Ok(if report.refused == 0 { Outcome::Done } else { Outcome::Failed })
}
