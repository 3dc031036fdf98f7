//! `bloomline inspect`: what a filter file says, and what its bits say.

use std::io::Write;
use std::path::PathBuf;

use bloomline::FilterKind;
use bloomline::error::AllocError;
use bloomline::format::HEADER_BYTES;
use bloomline::hash::HasherId;
use bloomline::machine::Machine;
use serde::Serialize;

use crate::secret::SecretArgs;
use crate::stored::{self, Stored};
use crate::table;
use crate::{Failure, Outcome, report};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
All of the file is read and its checksums are compared. A keyed filter needs no
secret here; one that is given must be the filter's.")]
pub(crate) struct Args {
    /// Filter file; - for standard input
    pub(crate) file: PathBuf,
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
    format_version: u16,
    layout: &'static str,
    level: &'static str,
    hasher: &'static str,
    /// Of hashers that have one.
    seed: Option<u64>,
    /// Of keyed hashers: tells secrets apart, and does not give them away.
    key_check: Option<String>,
    bits: u64,
    k: u32,
    bytes: u64,
    file_bytes: u64,
    payload_checksum: String,
    /// What it was sized for, where that was recorded.
    keys_designed: Option<u64>,
    bits_per_key: Option<f64>,
    fpr_expected: Option<f64>,
    occupancy: f64,
    /// `null` when every bit is set: there is no telling.
    keys_estimated: Option<f64>,
    fpr_current: f64,
    /// Of filters with counters that can be.
    stuck_counters: Option<u64>,
    past_design: bool,
    tier: &'static str,
}

impl Report {
    fn new(Stored { name, header, filter }: &Stored) -> Result<Self, AllocError> {
        let (geometry, design) = (filter.geometry(), filter.design());
        let (mut seed, mut key_check) = (None, None);
        match header.hasher {
            HasherId::Blake2b => key_check = Some(format!("{:#018x}", header.seed)),
            HasherId::PreHashed | HasherId::PreHashedTrusted => {}
            _ => seed = Some(header.seed),
        }
        let keys_designed = Some(design.keys).filter(|&keys| keys > 0);
        Ok(Self {
            version: env!("CARGO_PKG_VERSION"),
            file: name.clone(),
            format_version: header.version,
            layout: filter.kind().name(),
            level: filter.level().name(),
            hasher: header.hasher.name(),
            seed,
            key_check,
            bits: geometry.bits,
            k: geometry.k,
            bytes: filter.size_in_bytes(),
            file_bytes: filter.size_in_bytes() + HEADER_BYTES as u64,
            payload_checksum: format!("{:#018x}", header.payload_checksum),
            keys_designed,
            bits_per_key: keys_designed.map(|keys| filter.size_in_bytes() as f64 * 8.0 / keys as f64),
            fpr_expected: keys_designed.map(|_| design.fpr),
            occupancy: filter.occupancy(),
            keys_estimated: filter.estimated_keys(),
            fpr_current: filter.current_fpr()?,
            stuck_counters: filter.stuck_counters(),
            past_design: filter.is_past_design(),
            tier: Machine::get().tier(filter.size_in_bytes()).name(),
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: String| text += &format!("{name:<14}{value}\n");
        line("file", format!("{}, {} bytes, format {}", self.file, table::count(self.file_bytes), self.format_version));
        line("layout", self.layout.to_owned());
        line(
            "hasher",
            match (self.seed, &self.key_check) {
                (Some(seed), _) => format!("{}, seed {seed}", self.hasher),
                (_, Some(check)) => format!("{}, keyed (check {check})", self.hasher),
                _ => self.hasher.to_owned(),
            },
        );
        let (m, bytes, k) = (table::count(self.bits), table::bytes(self.bytes), self.k);
        let (what, set) = match FilterKind::from_name(self.layout) {
            Some(FilterKind::Counting | FilterKind::BlockedCounting) => {
                (format!("{m} counters of 4 bits ({bytes}), {k} probes"), "counters set")
            }
            Some(FilterKind::DLeft) => (format!("{m} bits ({bytes}), slots of {k} bits"), "slots taken"),
            _ => (format!("{m} bits ({bytes}), {k} probes"), "bits set"),
        };
        line("size", what);
        line(
            "sized for",
            match (self.keys_designed, self.bits_per_key, self.fpr_expected) {
                (Some(keys), Some(bits), Some(fpr)) => {
                    format!("{} keys, {bits:.2} bits per key, fpr {}", table::count(keys), table::percent(fpr))
                }
                _ => "not recorded".to_owned(),
            },
        );
        line("checksum", format!("{}, right", self.payload_checksum));
        line(set, table::percent(self.occupancy));
        if let Some(stuck) = self.stuck_counters {
            line("stuck", format!("{} counters at 15", table::count(stuck)));
        }
        line(
            "holds",
            match self.keys_estimated {
                Some(keys) => format!("about {} keys", table::count(keys.round() as u64)),
                None => "more keys than can be told: every bit is set".to_owned(),
            },
        );
        line("fpr now", table::percent(self.fpr_current));
        line(
            "past design",
            match (self.past_design, self.keys_designed, self.keys_estimated) {
                (false, ..) => "no".to_owned(),
                // A filter that is just full is a little past it by half of the estimates.
                (true, Some(designed), Some(keys)) => {
                    format!("yes, by {} of its keys", table::percent(keys / designed as f64 - 1.0))
                }
                (true, ..) => "yes".to_owned(),
            },
        );
        line("tier here", format!("{}, level {}", self.tier, self.level));
        text
    }
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<Outcome, Failure> {
    let secret = args.secret.read()?;
    let stored = stored::read(&args.file, |header| match &secret {
        Some(_) => header.hasher(secret.as_ref()),
        None => Ok(header.unkeyed()),
    })?;
    let report = Report::new(&stored).map_err(|error| Failure::Usage(format!("{}: {error}", stored.name)))?;
    if args.json {
        report::write_json(out, &report)?
    } else {
        write!(out, "{}", report.text())?
    }
    Ok(Outcome::Done)
}
