//! `bloomline query`: the keys that may be in a filter, or those that are not.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use bloomline::Digest;
use serde::Serialize;

use crate::digests::Digester;
use crate::keys::{Batch, FormatArgs, KeyReader};
use crate::progress::Progress;
use crate::secret::SecretArgs;
use crate::stored::{self, Kept};
use crate::{Failure, Outcome, report};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Keys are printed as they were read, each with the separator that KEYS has. Exit
status: 0 when a key was printed or counted, 1 when none was.")]
pub(crate) struct Args {
    /// Filter file; - for standard input
    pub(crate) file: PathBuf,
    /// File of keys, one per line; - for standard input
    pub(crate) keys: PathBuf,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// The keys that are certainly not in the filter, instead of those that may be
    #[arg(long)]
    pub(crate) absent: bool,
    /// Only count them
    #[arg(long)]
    pub(crate) count: bool,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    /// Print the counts as JSON
    #[arg(long, requires = "count")]
    pub(crate) json: bool,
}

/// The report. Field names are promised to scripts.
#[derive(Debug, Default, Serialize)]
struct Report {
    keys: u64,
    maybe: u64,
    absent: u64,
}

/// What a filter says of some keys.
#[derive(Debug)]
struct Answer {
    keys: u64,
    maybe: u64,
    /// The keys that were asked for, as they were read.
    printed: Vec<u8>,
}

impl Answer {
    fn new(filter: &Kept, args: &Args, batch: Batch<'_>, digests: &[Digest]) -> Self {
        let mut words = vec![0; digests.len().div_ceil(64)];
        // All of them "maybe" if it failed, which it can't: there is a word for every 64 keys.
        if filter.contains_batch(digests, &mut words).is_err() {
            words.fill(u64::MAX);
        }
        let maybe = words.iter().map(|word| u64::from(word.count_ones())).sum();
        let mut printed = Vec::new();
        if !args.count {
            let mut i = 0;
            batch.for_each(|key| {
                if (words[i / 64] >> (i % 64) & 1 == 1) != args.absent {
                    printed.extend_from_slice(key);
                    printed.extend_from_slice(batch.separator());
                }
                i += 1;
            });
        }
        Self { keys: digests.len() as u64, maybe, printed }
    }
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<Outcome, Failure> {
    if args.file.as_os_str() == "-" && args.keys.as_os_str() == "-" {
        return Err(Failure::Usage("the filter and the keys can't both come from standard input".to_owned()));
    }
    let secret = args.secret.read()?;
    let filter = stored::read(&args.file, |header| header.hasher(secret.as_ref()))?.filter;
    let digester = Digester::new(filter.hasher(), args.format.format())?;
    let reader = KeyReader::open(&args.keys, args.format.format())?;

    // A bar would stand between the keys.
    let shown = args.count || !io::stdout().is_terminal();
    let mut progress = reader.expected().filter(|_| shown).map(Progress::new);
    let mut report = Report::default();
    reader.for_each_batch(&mut |batch: Batch<'_>| {
        let answer = |part: Batch<'_>, digests: Vec<Digest>| Answer::new(&filter, args, part, &digests);
        for answer in digester.map(batch, answer) {
            report.keys += answer.keys;
            report.maybe += answer.maybe;
            out.write_all(&answer.printed)?;
        }
        // What comes slowly is answered as it comes.
        out.flush()?;
        if let Some(progress) = &mut progress {
            progress.advance(batch.bytes() as u64);
            progress.step("asking for keys");
        }
        Ok::<(), Failure>(())
    })?;
    drop(progress);
    report.absent = report.keys - report.maybe;
    let found = if args.absent { report.absent } else { report.maybe };
    if args.json {
        report::write_json(out, &report)?;
    } else if args.count {
        writeln!(out, "{found}")?;
    }
    Ok(if found > 0 { Outcome::Done } else { Outcome::Failed })
}
