//! The command line: one file per subcommand, results on stdout, prose on stderr.
//!
//! Exit codes: 0 found or done, 1 nothing found or a check failed, 2 wrong usage or bad input, with one line on stderr.
//!
//! A subcommand is a struct of arguments and `run(&args, out) -> Result<Outcome, Failure>`: it writes its results to
//! `out`, never to stdout itself, so that a closed pipe ends it quietly.

mod audit;
mod build;
mod check;
mod compare;
mod digests;
mod failure;
mod fold;
mod inspect;
mod keys;
mod machine;
mod measure;
mod merge;
mod names;
mod numbers;
mod pin;
mod plan;
mod progress;
mod query;
mod remove;
mod report;
mod secret;
mod stage;
mod stored;
mod subject;
mod table;
mod whole;

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use failure::Failure;

/// Bloom filters and their relatives, as fast as the memory system allows.
#[derive(Debug, Parser)]
#[command(name = "bloomline", version, about, max_term_width = 100, disable_help_subcommand = true)]
#[command(after_help = "\
Results go to stdout, everything else to stderr. Exit status: 0 found or done,
1 nothing found or a check failed, 2 wrong usage or bad input.

`bloomline COMMAND --help` says more about a command.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Show this computer as filters see it: caches, pages, memory, instruction sets
    Machine(machine::Args),
    /// Size every layout for a number of keys and a rate
    Plan(plan::Args),
    /// Build every layout on the same keys, check it, and measure it beside the limit of this machine's memory
    Compare(compare::Args),
    /// Make a filter file of the keys in a file
    Build(build::Args),
    /// Print the keys that may be in a filter, or those that are not
    Query(query::Args),
    /// Describe a filter file: what it was sized for, what it holds, where it would live
    Inspect(inspect::Args),
    /// Check a filter against its members and against keys that are not
    Audit(audit::Args),
    /// Unite filters of the same kind
    Merge(merge::Args),
    /// Take keys out of a filter that counts
    Remove(remove::Args),
    /// Shrink a filter that was built too large
    Fold(fold::Args),
}

/// How a command ended when nothing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Exit 0.
    Done,
    /// Exit 1: nothing was found, or a check failed.
    Failed,
}

fn main() -> ExitCode {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let result = run(std::env::args_os(), &mut out).and_then(|outcome| {
        out.flush()?;
        Ok(outcome)
    });
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => ExitCode::from(1),
        Err(failure) if failure.is_broken_pipe() => {
            // What is still buffered has no reader: dropping the writer would only try again.
            let _ = out.into_parts();
            ExitCode::SUCCESS
        }
        Err(failure) => {
            let _ = out.flush();
            // One line, whatever the message holds; where stderr is closed there is nobody to tell.
            let _ = writeln!(io::stderr(), "bloomline: {}", failure::one_line(&failure.to_string()));
            ExitCode::from(2)
        }
    }
}

fn run(args: impl Iterator<Item = OsString>, out: &mut dyn Write) -> Result<Outcome, Failure> {
    let args: Vec<OsString> = args.collect();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(help) if matches!(help.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            write!(out, "{help}")?;
            return Ok(Outcome::Done);
        }
        Err(error) => {
            let first = args.get(1).and_then(|name| name.to_str());
            let command = first.filter(|name| Cli::command().find_subcommand(name).is_some());
            return Err(Failure::usage(&error, command));
        }
    };
    names::check_environment()?;
    match cli.command {
        Command::Machine(args) => machine::run(&args, out),
        Command::Plan(args) => plan::run(&args, out),
        Command::Compare(args) => compare::run(&args, out),
        Command::Build(args) => build::run(&args, out),
        Command::Query(args) => query::run(&args, out),
        Command::Inspect(args) => inspect::run(&args, out),
        Command::Audit(args) => audit::run(&args, out),
        Command::Merge(args) => merge::run(&args, out),
        Command::Remove(args) => remove::run(&args, out),
        Command::Fold(args) => fold::run(&args, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_sound() {
        Cli::command().debug_assert();
    }
}
