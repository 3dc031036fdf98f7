//! One tier of `compare`: filters of every layout that live in the same part of the memory system, checked first and
//! then measured round by round beside the limit.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bloomline::hash::{Hashes, Xxh3};
use bloomline::machine::huge_bytes;
use bloomline::sizing::{DLeft, Geometry};
use bloomline::{BulkOptions, Digest, FilterKind, LayoutKind, Level, LoadLoop};

use crate::check::Range;
use crate::measure::{self, Digests, Median, Random, Samples, ns_per_key};
use crate::progress::Progress;
use crate::subject::{self, Subject};

/// Load loops that go into every round; the others were slower when all were tried.
const FINALISTS: usize = 4;
/// Filters up to this size are read once, untimed, before each sample: a sample of the caches, not of filling them.
const WARM: usize = 16 << 20;
/// Rounds that are enough when all intervals are narrow.
const ENOUGH_ROUNDS: u32 = 12;
/// Samples without which a limit is not called broken: a few are no interval.
const ENOUGH_TO_JUDGE: usize = 6;
/// What counts as narrow: half of an interval, as a share of its median.
const NARROW: f64 = 0.01;
/// Digests of each kind whose answers are compared one by one between levels before anything is timed. The number of
/// hits is compared over all digests, in every timed sample.
const COMPARED: usize = 1 << 20;
/// Keys that are inserted into a filter that counts, in a sample.
const COUNTED: usize = 1 << 22;
/// Lookups of a dependent chain.
const CHAIN: usize = 1 << 16;
/// A layout that is faster than the limit by more than this shows that the limit is not one.
const BROKEN: f64 = 0.97;

/// What every tier of one run shares.
#[derive(Debug)]
pub(crate) struct Bench {
    /// Ascending, never empty.
    pub(crate) levels: Vec<Level>,
    pub(crate) threads: usize,
    /// Of as many threads; not pinned.
    pub(crate) pool: rayon::ThreadPool,
    pub(crate) quick: bool,
    pub(crate) seed: u64,
}

impl Bench {
    /// The level that answers unless one is asked for.
    pub(crate) fn best(&self) -> Level {
        *self.levels.last().unwrap_or(&Level::Scalar)
    }
}

/// Lookups by how many of them hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hits {
    None,
    Half,
    All,
}

impl Hits {
    const ALL: [Self; 3] = [Self::None, Self::Half, Self::All];
}

/// The digests of a tier.
pub(crate) struct Queries {
    pub(crate) absent: Vec<Digest>,
    pub(crate) half: Vec<Digest>,
    pub(crate) hits: Vec<Digest>,
}

impl Queries {
    fn get(&self, hits: Hits) -> &[Digest] {
        match hits {
            Hits::None => &self.absent,
            Hits::Half => &self.half,
            Hits::All => &self.hits,
        }
    }
}

/// The filter of one layout.
pub(crate) struct Entry {
    pub(crate) keys: u64,
    subject: Box<dyn Subject>,
    /// Another of the same size, to build into; where there is none, members are inserted once more.
    scratch: Option<Box<dyn Subject>>,
    pub(crate) fpr_expected: f64,
    /// Of many small filters, where one would tell too little; else that of this one is measured.
    pub(crate) pooled: Option<(f64, Range)>,
    fpr_measured: f64,
    range: Range,
    /// Hits at 0, 50 and 100 %, by every level.
    counts: [u64; 3],
    huge_bytes: Option<u64>,
}

impl Entry {
    pub(crate) fn new(subject: Box<dyn Subject>, scratch: Option<Box<dyn Subject>>, keys: u64) -> Self {
        let fpr_expected = subject.kind().fpr(keys, subject.geometry());
        let range = Range { low: 0.0, high: 1.0 };
        let (pooled, counts, huge_bytes) = (None, [0; 3], None);
        Self { keys, subject, scratch, fpr_expected, pooled, fpr_measured: f64::NAN, range, counts, huge_bytes }
    }

    fn kind(&self) -> FilterKind {
        self.subject.kind()
    }
}

/// A tier: filters, what they are asked, and what came out.
pub(crate) struct Stage<'k> {
    /// `keys` for the filters of the real keys, else the tier's name.
    pub(crate) name: &'static str,
    pub(crate) entries: Vec<Entry>,
    pub(crate) queries: Queries,
    /// Members, of which each entry holds those before its number of keys; in main memory only the first of them.
    pub(crate) members: Vec<Digest>,
    /// Byte keys, all of them members.
    pub(crate) byte_keys: Vec<&'k [u8]>,
    pub(crate) hasher: Xxh3,
    items: Vec<Item>,
    pub(crate) rounds: u32,
    pub(crate) failures: Vec<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) seconds: f64,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Limit(LoadLoop),
    Batch(Hits),
    Lookup,
    Kernel,
    Latency,
    Build,
    BuildAll,
    KeysBatch,
    Hash,
}

impl What {
    fn name(self) -> &'static str {
        match self {
            Self::Limit(_) => "limit",
            Self::Batch(Hits::None) => "batched",
            Self::Batch(Hits::Half) => "batched, half hits",
            Self::Batch(Hits::All) => "batched, all hits",
            Self::Lookup => "single lookups",
            Self::Kernel => "with_kernel",
            Self::Latency => "dependent lookups",
            Self::Build => "build",
            Self::BuildAll => "build, all threads",
            Self::KeysBatch => "keys, hashed and batched",
            Self::Hash => "hashing",
        }
    }
}

/// One thing that takes its turn in the rounds.
struct Item {
    entry: usize,
    level: Level,
    what: What,
    /// It is sampled in the first round and in every so many.
    every: u32,
    samples: Samples,
}

/// The synthetic tiers: name and size of the filters.
pub(crate) const TIERS: [(&str, u64); 4] = [("L1", 16 << 10), ("L2", 256 << 10), ("L3", 4 << 20), ("DRAM", 256 << 20)];

/// Probes at 10 bits a key, where the layout leaves a choice: each layout's best, but for `word`, whose fifth probe buys
/// less rate than it costs time.
fn fixed_k(kind: LayoutKind) -> u32 {
    match kind {
        LayoutKind::Word => 4,
        LayoutKind::Blocked | LayoutKind::Blocked128 => 6,
        LayoutKind::Classic | LayoutKind::Partitioned => 7,
        _ => kind.model().max_k(),
    }
}

/// The filter of a synthetic tier: at most so many bytes, and a tenth of its bits or counters as keys; of a d-left table,
/// with its smallest slots, as many keys as it is made for.
fn fixed_geometry(kind: FilterKind, bytes: u64) -> (Geometry, u64) {
    let Some(layout) = kind.layout() else {
        let geometry = Geometry { bits: bytes / 128 * 1024, k: 16 };
        return (geometry, DLeft::capacity(geometry));
    };
    let k = fixed_k(layout);
    let unit = layout.model().unit_bits(k);
    let bits = if kind.counts() { bytes * 2 } else { bytes * 8 } / unit * unit;
    (Geometry { bits, k }, bits / 10)
}

/// Members inserted at a time where there are too many to hold them all.
const CHUNK: usize = 1 << 26;

/// Bytes that a synthetic tier takes: filters, digests, and what building them needs.
pub(crate) fn bytes_needed(layouts: usize, bytes: u64, queries: usize) -> u64 {
    let members = (bytes * 8 / 10).min(CHUNK as u64) * 8;
    let scratch = BulkOptions::default().scratch_bytes as u64;
    let filters = if keeps_scratch(bytes) { 2 } else { 1 };
    // Three kinds count, and have a second filter in any case.
    (layouts as u64 * filters + 3) * bytes + 2 * members + scratch + 4 * queries as u64 * 8
}

/// Whether a tier can afford a second filter for every layout.
fn keeps_scratch(bytes: u64) -> bool {
    bytes <= WARM as u64
}

impl<'k> Stage<'k> {
    pub(crate) fn new(name: &'static str, queries: Queries, members: Vec<Digest>, hasher: Xxh3) -> Self {
        let (entries, byte_keys, items) = (Vec::new(), Vec::new(), Vec::new());
        let (failures, notes) = (Vec::new(), Vec::new());
        Self { name, entries, queries, members, byte_keys, hasher, items, rounds: 0, failures, notes, seconds: 0.0 }
    }

    /// The filters of a synthetic tier, filled.
    pub(crate) fn synthetic(
        name: &'static str,
        bytes: u64,
        kinds: &[FilterKind],
        queries: usize,
        bench: &Bench,
        progress: &mut Progress,
    ) -> Result<Self, String> {
        progress.step(&format!("{name}: making digests"));
        let sizes: Vec<_> = kinds.iter().map(|&kind| (kind, fixed_geometry(kind, bytes))).collect();
        let (least, most) = sizes.iter().fold((u64::MAX, 0), |(a, b), &(_, (_, n))| (a.min(n), b.max(n)));
        let digests = Digests::new(bench.seed);
        let mut random = Random::new(bench.seed);
        let held = most.min(CHUNK as u64);
        let members: Vec<Digest> = (0..held).map(|i| digests.member(i)).collect();
        let absent: Vec<Digest> = (0..queries as u64).map(|i| digests.absent(i)).collect();
        let hits = measure::hits(&members[..held.min(least) as usize], queries, &mut random);
        let half = measure::half(&hits, &absent, &mut random);
        let mut stage = Self::new(name, Queries { absent, half, hits }, members, Xxh3::default());
        for (kind, (geometry, keys)) in sizes {
            let mut subject = subject::new(kind, keys, geometry, stage.hasher).map_err(|error| error.to_string())?;
            subject.set_level(bench.best());
            // What counts would count members that are inserted once more.
            let scratch = match keeps_scratch(bytes) || kind.counts() {
                true => Some(subject::new(kind, keys, geometry, stage.hasher).map_err(|error| error.to_string())?),
                false => None,
            };
            stage.entries.push(Entry::new(subject, scratch, keys));
        }
        let mut later = Vec::new();
        for start in (0..most).step_by(CHUNK) {
            let end = most.min(start + CHUNK as u64);
            if start > 0 {
                later.clear();
                later.extend((start..end).map(|i| digests.member(i)));
            }
            for entry in &mut stage.entries {
                progress.step(&format!("{name}: filling {}", entry.kind()));
                let chunk = if start == 0 { &stage.members } else { &later };
                let chunk = &chunk[..(entry.keys.min(end).saturating_sub(start)) as usize];
                let options = BulkOptions::default().threads(bench.threads);
                bench.pool.install(|| entry.subject.insert_bulk(chunk, options))?;
            }
        }
        Ok(stage)
    }

    /// Everything that must hold before a speed means anything. What does not is told in `failures`.
    pub(crate) fn check(&mut self, bench: &Bench, progress: &mut Progress) -> Result<(), String> {
        for entry in &mut self.entries {
            let kind = entry.kind();
            progress.step(&format!("{}: checking {kind}", self.name));
            let failed = |what: String| format!("{}, {kind}: {what}", self.name);
            let keys = self.members.len().min(usize::try_from(entry.keys).unwrap_or(usize::MAX));
            let members = &self.members[..keys];

            // No false negative, at any level; answers as the scalar reference gives them.
            let compared = |hits| {
                let digests = self.queries.get(hits);
                &digests[..digests.len().min(COMPARED)]
            };
            entry.subject.set_level(Level::Scalar);
            let reference = Hits::ALL.map(|hits| entry.subject.answers(compared(hits)));
            for &level in &bench.levels {
                entry.subject.set_level(level);
                for (hits, reference) in Hits::ALL.into_iter().zip(&reference) {
                    let digests = compared(hits);
                    let ones: u64 = reference.iter().map(|word| u64::from(word.count_ones())).sum();
                    let agree = entry.subject.answers(digests) == *reference
                        && entry.subject.lookups(digests) == ones
                        && entry.subject.kernel(digests) == ones;
                    if !agree {
                        self.failures.push(failed(format!("{level} answers otherwise than scalar")));
                    }
                }
                // In main memory the best level's word is taken for all: every sample counts its hits again.
                if entry.scratch.is_some() || level == bench.best() {
                    let found = entry.subject.batch(members);
                    if found != keys as u64 {
                        let missing = keys as u64 - found;
                        self.failures
                            .push(failed(format!("{missing} of {keys} members are reported absent at {level}")));
                    }
                }
            }
            entry.counts = Hits::ALL.map(|hits| entry.subject.batch(self.queries.get(hits)));
            if !self.byte_keys.is_empty() && entry.subject.keys_batch(&self.byte_keys) != self.byte_keys.len() as u64 {
                self.failures.push(failed("a key is reported absent by contains_keys".to_owned()));
            }

            // The rate, against the formula.
            let absent = self.queries.absent.len() as u64;
            let measured = entry.counts[0] as f64 / absent.max(1) as f64;
            let variance = || entry.subject.variance(entry.keys);
            (entry.fpr_measured, entry.range) =
                entry.pooled.unwrap_or_else(|| (measured, Range::new(entry.fpr_expected, variance(), absent)));
            if !entry.range.holds(entry.fpr_measured) {
                self.failures.push(failed(format!(
                    "{:.4e} false positives measured, {:.4e} expected ({:.4e} to {:.4e})",
                    entry.fpr_measured, entry.fpr_expected, entry.range.low, entry.range.high
                )));
            }

            // The bytes, by every level and every way to insert.
            let small = keeps_scratch(entry.subject.bytes().len() as u64);
            if let Some(scratch) = entry.scratch.as_mut().filter(|_| small) {
                scratch.set_level(Level::Scalar);
                scratch.clear();
                scratch.insert_batch(members);
                if scratch.bytes() != entry.subject.bytes() {
                    self.failures.push(failed(format!("built by {}, its bytes are not scalar's", bench.best())));
                }
                for &level in &bench.levels {
                    scratch.set_level(level);
                    for threads in [0, 1, bench.threads] {
                        scratch.clear();
                        match threads {
                            0 => scratch.insert_batch(members),
                            threads => {
                                let options = BulkOptions::default().threads(threads);
                                bench.pool.install(|| scratch.insert_bulk(members, options))?;
                            }
                        }
                        if scratch.bytes() != entry.subject.bytes() {
                            let how = if threads == 0 { "in batches" } else { "in bulk" };
                            self.failures.push(failed(format!("inserted {how}, {level} sets other bits than scalar")));
                        }
                    }
                }
            }
            let range = entry.subject.bytes().as_ptr_range();
            entry.huge_bytes = huge_bytes(range.start.addr()..range.end.addr());
        }
        Ok(())
    }

    /// The fastest load loops over the first filter's memory, of any level of this machine.
    fn finalists(&self, bench: &Bench) -> Vec<(Level, LoadLoop)> {
        let Some(entry) = self.entries.first() else { return Vec::new() };
        let digests = &self.queries.absent[..self.queries.absent.len().min(1 << 21)];
        let mut loops: Vec<_> = Level::available()
            .iter()
            .flat_map(|&level| LoadLoop::ALL.map(|which| (level, which, f64::INFINITY)))
            .collect();
        for _ in 0..if bench.quick { 2 } else { 3 } {
            for (level, which, best) in &mut loops {
                let started = Instant::now();
                let _ = black_box(which.run(entry.subject.bytes(), black_box(digests), *level));
                *best = best.min(started.elapsed().as_secs_f64());
            }
        }
        loops.sort_by(|a, b| a.2.total_cmp(&b.2));
        loops.truncate(FINALISTS);
        loops.into_iter().map(|(level, which, _)| (level, which)).collect()
    }

    fn plan_rounds(&mut self, bench: &Bench) {
        let in_memory = self.entries.iter().any(|entry| entry.scratch.is_none());
        let mut items = Vec::new();
        let mut add =
            |entry, level, what, every| items.push(Item { entry, level, what, every, samples: Samples::default() });
        let finalists = self.finalists(bench);
        for entry in 0..self.entries.len() {
            for &(level, which) in &finalists {
                add(entry, level, What::Limit(which), 1);
            }
            for &level in &bench.levels {
                add(entry, level, What::Batch(Hits::None), 1);
                let slow = if in_memory { 3 } else { 2 };
                for what in [What::Batch(Hits::Half), What::Batch(Hits::All), What::Lookup, What::Kernel, What::Latency]
                {
                    add(entry, level, what, slow);
                }
                // A build in main memory takes seconds: other levels than the best once.
                let is_best = level == bench.best();
                add(entry, level, What::Build, if in_memory && !is_best { u32::MAX } else { slow });
                if is_best || !in_memory {
                    add(entry, level, What::BuildAll, slow);
                }
                if !self.byte_keys.is_empty() {
                    add(entry, level, What::KeysBatch, slow);
                }
            }
        }
        if !self.byte_keys.is_empty() {
            add(0, bench.best(), What::Hash, 1);
        }
        self.items = items;
    }

    /// Rounds until all intervals are narrow or the time is spent; at least one.
    pub(crate) fn measure(&mut self, budget: Duration, bench: &Bench, progress: &mut Progress) {
        let started = Instant::now();
        progress.step(&format!("{}: looking for the fastest load loop", self.name));
        self.plan_rounds(bench);
        let before: Vec<_> = self.entries.iter().map(|entry| self.hasher.digest(entry.subject.bytes())).collect();
        let mut random = Random::new(bench.seed ^ 1);
        let mut order: Vec<usize> = (0..self.items.len()).collect();
        let mut shown = Duration::ZERO;
        loop {
            let round = Instant::now();
            random.shuffle(&mut order);
            for &i in &order {
                let Item { entry, level, what, every, .. } = self.items[i];
                if self.rounds > 0 && !(self.rounds + i as u32).is_multiple_of(every) {
                    continue;
                }
                let kind = self.entries[entry].kind();
                progress.step(&format!("{}: {kind}, {level}, {} (round {})", self.name, what.name(), self.rounds + 1));
                let ns = self.sample(entry, level, what, bench);
                self.items[i].samples.push(ns);
                let elapsed = started.elapsed().min(budget);
                progress.advance((elapsed - shown).as_millis() as u64);
                shown = elapsed;
            }
            self.rounds += 1;
            let next = started.elapsed() + round.elapsed().mul_f64(0.6);
            if next > budget || (self.rounds >= ENOUGH_ROUNDS && self.is_narrow()) {
                break;
            }
        }
        progress.advance((budget - shown).as_millis() as u64);
        for (entry, before) in self.entries.iter().zip(before) {
            if self.hasher.digest(entry.subject.bytes()) != before {
                let kind = entry.kind();
                self.failures.push(format!("{}, {kind}: members inserted again set bits that were not set", self.name));
            }
        }
        self.seconds = started.elapsed().as_secs_f64();
    }

    fn is_narrow(&self) -> bool {
        let mut main = self.items.iter().filter(|item| item.every == 1).filter_map(|item| item.samples.median());
        main.all(|median| median.noise() < NARROW)
    }

    /// One sample, in nanoseconds a key. Every lookup's hits are counted and must be those of the check.
    fn sample(&mut self, at: usize, level: Level, what: What, bench: &Bench) -> f64 {
        let entry = &mut self.entries[at];
        entry.subject.set_level(level);
        if let Some(scratch) = &mut entry.scratch {
            scratch.set_level(level);
        }
        let target = match (&entry.scratch, what) {
            (Some(scratch), What::Build | What::BuildAll) => scratch,
            _ => &entry.subject,
        };
        if target.bytes().len() <= WARM {
            black_box(target.bytes().iter().step_by(64).fold(0_u8, |sum, &byte| sum.wrapping_add(byte)));
        }
        let digests = match what {
            What::Batch(hits) => self.queries.get(hits),
            What::Build | What::BuildAll if entry.scratch.is_none() || self.name == KEYS || entry.kind().counts() => {
                let keys = self.members.len().min(usize::try_from(entry.keys).unwrap_or(usize::MAX));
                // Key by key, many take long and tell no more.
                &self.members[..if entry.kind().counts() { keys.min(COUNTED) } else { keys }]
            }
            What::Latency => {
                // Another part of them in every round.
                let parts = self.queries.absent.len().div_ceil(CHAIN).max(1);
                let part = self.rounds as usize * 7 % parts;
                self.queries.absent.chunks(CHAIN).nth(part).unwrap_or_default()
            }
            _ => &self.queries.absent,
        };
        let digests = black_box(digests);
        let first = &digests[..digests.len().min(1 << 12)];
        // The code, the predictors and the vector units awake.
        match what {
            What::Batch(_) => drop(black_box(entry.subject.batch(first))),
            What::Lookup | What::Latency => drop(black_box(entry.subject.lookups(first))),
            What::Kernel => drop(black_box(entry.subject.kernel(first))),
            _ => {}
        }
        let mut keys = digests.len();
        let mut hits = None;
        let mut refused = None;
        let started = Instant::now();
        match what {
            What::Limit(which) => drop(black_box(which.run(entry.subject.bytes(), digests, level))),
            What::Batch(share) => hits = Some((entry.subject.batch(digests), entry.counts[share as usize])),
            What::Lookup => hits = Some((entry.subject.lookups(digests), entry.counts[0])),
            What::Kernel => hits = Some((entry.subject.kernel(digests), entry.counts[0])),
            What::Latency => keys = entry.subject.chain(digests),
            What::Build | What::BuildAll => {
                let target = entry.scratch.as_mut().unwrap_or(&mut entry.subject);
                let threads = if what == What::Build { 1 } else { bench.threads };
                let options = BulkOptions::default().threads(threads);
                // A few keys are inserted several times, so that the clock sees something.
                let passes = ((1 << 18) / digests.len().max(1)).max(1);
                keys *= passes;
                let insert = |target: &mut Box<dyn Subject>| {
                    (0..passes).try_for_each(|_| {
                        // Else its counters would be stuck, or a table full.
                        if target.kind().counts() {
                            target.clear();
                        }
                        target.insert_bulk(digests, options)
                    })
                };
                let done = if threads == 1 { insert(target) } else { bench.pool.install(|| insert(target)) };
                refused = done.err();
            }
            What::KeysBatch => {
                keys = self.byte_keys.len();
                hits = Some((entry.subject.keys_batch(black_box(&self.byte_keys)), keys as u64));
            }
            What::Hash => {
                keys = self.byte_keys.len();
                black_box(black_box(&self.byte_keys).iter().fold(0, |sum, &key| sum ^ self.hasher.digest(key).0));
            }
        }
        let time = started.elapsed();
        if let Some((found, expected)) = hits
            && found != expected
        {
            let (kind, name) = (entry.kind(), self.name);
            self.failures.push(format!("{name}, {kind}: {level} finds {found} of {expected} hits ({})", what.name()));
        }
        if let Some(error) = refused {
            self.failures.push(format!("{}, {}: {error}", self.name, entry.kind()));
        }
        ns_per_key(time, keys)
    }

    fn median(&self, entry: usize, level: Level, what: What) -> Option<Median> {
        let item = self.items.iter().find(|item| (item.entry, item.level, item.what) == (entry, level, what))?;
        item.samples.median()
    }

    /// Nanoseconds to digest a real key.
    pub(crate) fn hash_ns(&self) -> Option<f64> {
        Some(self.items.iter().find(|item| item.what == What::Hash)?.samples.median()?.value)
    }

    /// Half the width of the intervals, as shares: of half of the medians at most the first, of all at most the second.
    pub(crate) fn noise(&self) -> Option<(f64, f64)> {
        let mut noise: Vec<f64> = self
            .items
            .iter()
            .filter(|item| item.every == 1)
            .filter_map(|item| Some(item.samples.median()?.noise()))
            .collect();
        noise.sort_by(f64::total_cmp);
        Some((*noise.get(noise.len() / 2)?, *noise.last()?))
    }

    /// What was found, a record for each layout and level; and whether the limit is one.
    pub(crate) fn records(&mut self, bench: &Bench) -> Vec<Record> {
        let mut records = Vec::new();
        let mut broken = Vec::new();
        for (e, entry) in self.entries.iter().enumerate() {
            let limits = self.items.iter().filter(|item| item.entry == e);
            let limits = limits.filter_map(|item| match item.what {
                What::Limit(which) => Some((item, which, item.samples.median()?)),
                _ => None,
            });
            let limit = limits.min_by(|a, b| a.2.value.total_cmp(&b.2.value));
            for &level in &bench.levels {
                let value = |what| self.median(e, level, what).map(|median| median.value);
                let batch = self
                    .items
                    .iter()
                    .find(|item| (item.entry, item.level, item.what) == (e, level, What::Batch(Hits::None)));
                let batch_ns = batch.and_then(|item| item.samples.median());
                let ratio =
                    limit.as_ref().zip(batch).and_then(|((limit, ..), batch)| batch.samples.ratio(&limit.samples));
                let quotient = limit.as_ref().zip(batch_ns).map(|((.., limit), batch)| batch.value / limit.value);
                if let (Some(quotient), Some(ratio)) = (quotient, ratio)
                    && batch.is_some_and(|item| item.samples.len() >= ENOUGH_TO_JUDGE)
                    && quotient < BROKEN
                    && ratio.high < BROKEN
                {
                    broken.push(format!(
                        "{}, {}, {level}: broken limit: {quotient:.3} times the fastest load loop ({:.3} to {:.3})",
                        self.name,
                        entry.kind(),
                        ratio.low,
                        ratio.high
                    ));
                }
                let geometry = entry.subject.geometry();
                records.push(Record {
                    layout: entry.kind().name(),
                    tier: self.name,
                    level: level.name(),
                    keys: entry.keys,
                    bits: geometry.bits,
                    k: geometry.k,
                    bytes: entry.kind().bytes(geometry),
                    huge_bytes: entry.huge_bytes,
                    bits_per_key: entry.kind().bytes(geometry) as f64 * 8.0 / entry.keys as f64,
                    fpr_expected: entry.fpr_expected,
                    fpr_measured: entry.fpr_measured,
                    fpr_low: entry.range.low,
                    fpr_high: entry.range.high,
                    limit_ns: limit.as_ref().map(|(.., median)| median.value),
                    limit_ns_low: limit.as_ref().map(|(.., median)| median.low),
                    limit_ns_high: limit.as_ref().map(|(.., median)| median.high),
                    limit_loop: limit.as_ref().map(|(_, which, _)| which.to_string()),
                    limit_level: limit.as_ref().map(|(item, ..)| item.level.name()),
                    batch_ns: batch_ns.map(|median| median.value),
                    batch_ns_low: batch_ns.map(|median| median.low),
                    batch_ns_high: batch_ns.map(|median| median.high),
                    ratio_to_limit: quotient,
                    ratio_to_limit_low: ratio.map(|median| median.low),
                    ratio_to_limit_high: ratio.map(|median| median.high),
                    batch_50_ns: value(What::Batch(Hits::Half)),
                    batch_100_ns: value(What::Batch(Hits::All)),
                    lookup_ns: value(What::Lookup),
                    kernel_ns: value(What::Kernel),
                    latency_ns: value(What::Latency),
                    build_ns: value(What::Build),
                    build_all_threads_ns: value(What::BuildAll),
                    keys_batch_ns: value(What::KeysBatch),
                    samples: batch.map_or(0, |item| item.samples.len()),
                });
            }
        }
        if bench.quick {
            self.notes.extend(broken)
        } else {
            self.failures.extend(broken)
        }
        records
    }
}

/// The name of the tier of the real keys.
pub(crate) const KEYS: &str = "keys";

/// One layout at one level in one tier. Field names are promised to scripts; times are nanoseconds a key.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Record {
    pub(crate) layout: &'static str,
    pub(crate) tier: &'static str,
    pub(crate) level: &'static str,
    pub(crate) keys: u64,
    pub(crate) bits: u64,
    pub(crate) k: u32,
    pub(crate) bytes: u64,
    /// Of these bytes, in huge pages.
    pub(crate) huge_bytes: Option<u64>,
    pub(crate) bits_per_key: f64,
    pub(crate) fpr_expected: f64,
    pub(crate) fpr_measured: f64,
    /// What the measured rate had to lie between.
    pub(crate) fpr_low: f64,
    pub(crate) fpr_high: f64,
    pub(crate) limit_ns: Option<f64>,
    pub(crate) limit_ns_low: Option<f64>,
    pub(crate) limit_ns_high: Option<f64>,
    pub(crate) limit_loop: Option<String>,
    pub(crate) limit_level: Option<&'static str>,
    /// 0 % hits.
    pub(crate) batch_ns: Option<f64>,
    pub(crate) batch_ns_low: Option<f64>,
    pub(crate) batch_ns_high: Option<f64>,
    /// `batch_ns` / `limit_ns`.
    pub(crate) ratio_to_limit: Option<f64>,
    /// The interval of the ratios within rounds.
    pub(crate) ratio_to_limit_low: Option<f64>,
    pub(crate) ratio_to_limit_high: Option<f64>,
    pub(crate) batch_50_ns: Option<f64>,
    pub(crate) batch_100_ns: Option<f64>,
    pub(crate) lookup_ns: Option<f64>,
    pub(crate) kernel_ns: Option<f64>,
    pub(crate) latency_ns: Option<f64>,
    pub(crate) build_ns: Option<f64>,
    pub(crate) build_all_threads_ns: Option<f64>,
    pub(crate) keys_batch_ns: Option<f64>,
    pub(crate) samples: usize,
}
