//! The sizes worth looking at for a number of keys: what the searches of this room walk on.

use crate::{
    error::SizingError,
    sizing::{DIGEST_FLOOR, Geometry, Model},
};
use alloc::{vec, vec::Vec};

/// A size, and the rate that it buys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    /// `None`: no filter.
    pub(super) geometry: Option<Geometry>,
    pub(super) fpr: f64,
}

impl Step {
    pub(super) const NO_FILTER: Self = Self { geometry: None, fpr: 1.0 };

    pub(super) fn bits(self) -> u64 {
        self.geometry.map_or(0, |g| g.bits)
    }
}

/// Sizes for n keys, each with more bits and a lower rate than the one before. The first is no filter.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    model: Model,
    keys: u64,
    /// The fewest bits that one size has more than another.
    unit: u64,
    /// Bits at which the rate is as low as digests of 64 bits let it be.
    ceiling: u64,
    list: Vec<Step>,
}

impl Steps {
    /// Steps of half a bit per key and, beyond 8 bits per key, of a 16th of the size, but of one unit at least; up to
    /// `most` bits or to the digest floor. Fewer than 800 of them: 17/16 to the 800th power is beyond 64 bits.
    pub(super) fn new(model: Model, keys: u64, most: u64) -> Result<Self, SizingError> {
        // The size of one unit says whether the model is in range, and how large a unit is.
        let unit = model.size_for_bits_per_key(keys, f64::MIN_POSITIVE)?.bits;
        let mut steps = Self { model, keys, unit, ceiling: u64::MAX, list: vec![Step::NO_FILTER] };
        let unit = unit.div_ceil(8);
        let most = most / 8;
        let mut bytes = unit;
        while bytes <= most {
            let step = steps.at_most(bytes.saturating_mul(8));
            steps.insert(step);
            if step.fpr <= keys as f64 * DIGEST_FLOOR {
                steps.ceiling = step.bits();
                break;
            }
            if bytes == most {
                break;
            }
            let stride = unit.max(keys / 16).max(bytes / 16);
            bytes = bytes.saturating_add(stride).min(most);
        }
        Ok(steps)
    }

    pub(super) fn as_slice(&self) -> &[Step] {
        &self.list
    }

    pub(super) fn unit(&self) -> u64 {
        self.unit
    }

    pub(super) fn keys(&self) -> u64 {
        self.keys
    }

    /// The largest filter within so many bits and the digest floor; none where not one unit fits, or where it would
    /// refuse nothing.
    pub(super) fn at_most(&self, bits: u64) -> Step {
        let within = self.model.size_for_bytes(self.keys, bits.min(self.ceiling) / 8).ok();
        let step = within.map(|g| Step { geometry: Some(g), fpr: self.model.fpr(self.keys, g) });
        step.filter(|step| step.fpr < 1.0).unwrap_or(Step::NO_FILTER)
    }

    /// Cuts the gaps on both sides of a step in four. False where nothing lies between.
    pub(super) fn refine(&mut self, step: Step) -> bool {
        const PARTS: u64 = 4;
        let at = self.list.partition_point(|s| s.bits() < step.bits());
        let around = self.list[at.saturating_sub(1)..self.list.len().min(at + 2)].to_vec();
        let mut found = false;
        for pair in around.windows(2) {
            let (low, gap) = (pair[0].bits(), pair[1].bits() - pair[0].bits());
            let mut last = low;
            for part in 1..PARTS {
                let bits = low + gap / PARTS * part;
                // A look costs up to some 0.3 ms: none at a size that was seen already.
                if bits - last >= self.unit {
                    last = bits - (bits - low) % self.unit;
                    found |= self.insert(self.at_most(bits));
                }
            }
        }
        found
    }

    /// True if the step is new and none of its size or smaller is as good.
    fn insert(&mut self, step: Step) -> bool {
        let at = self.list.partition_point(|s| s.bits() <= step.bits());
        let better = at == 0 || self.list[at - 1].fpr > step.fpr;
        if better {
            let same = at > 0 && self.list[at - 1].bits() == step.bits();
            let from = at - usize::from(same);
            let worse = self.list[at..].iter().take_while(|s| s.fpr >= step.fpr).count();
            self.list.splice(from..at + worse, [step]);
        }
        better
    }
}
