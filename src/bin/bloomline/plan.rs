//! `bloomline plan`: every layout sized for a number of keys and a rate.

use crate::numbers;

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
