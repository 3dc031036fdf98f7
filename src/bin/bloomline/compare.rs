//! `bloomline compare`: every layout built and measured on the same keys.

use std::path::PathBuf;

use crate::Failure;
use crate::keys::FormatArgs;
use crate::numbers;

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

/// What filters are sized by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    Fpr(f64),
    BitsPerKey(f64),
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
