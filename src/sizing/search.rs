//! One search for every inverse: the least whole number at which a rising function has reached zero.

/// What a search sees at one number.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    /// Whether the goal is reached here. Must not turn back to false at a larger number.
    pub(super) reached: bool,
    /// A signed distance to the goal, to interpolate with; only its smoothness matters. May be infinite or NaN.
    pub(super) distance: f64,
}

/// The least u in 1 ..= `last` at which `see` has reached the goal, or `None` if it has not at `last`.
///
/// Gallops from `guess`, then alternates false position (Illinois) with halving: some ten looks where the function is
/// smooth, at most about 200 where it is not.
pub(super) fn first(guess: f64, last: u64, mut see: impl FnMut(u64) -> Seen) -> Option<u64> {
    let mut at = (guess as u64).clamp(1, last);
    let mut seen = see(at);
    let mut stride = 1.0 / 64.0;
    // Bracket: `low` has not reached, `high` has. Strides grow from 1.5 % to a factor of 4.
    let (mut low, mut high);
    if seen.reached {
        high = (at, seen.distance);
        loop {
            if at == 1 {
                return Some(1);
            }
            at = ((at as f64 / (1.0 + stride)) as u64).clamp(1, at - 1);
            stride = (stride * 3.0_f64).min(3.0);
            seen = see(at);
            if !seen.reached {
                low = (at, seen.distance);
                break;
            }
            high = (at, seen.distance);
        }
    } else {
        low = (at, seen.distance);
        loop {
            if at >= last {
                return None;
            }
            at = ((at as f64 * (1.0 + stride)) as u64).clamp(at + 1, last);
            stride = (stride * 3.0_f64).min(3.0);
            seen = see(at);
            if seen.reached {
                high = (at, seen.distance);
                break;
            }
            low = (at, seen.distance);
        }
    }
    let mut looks = 0_u32;
    let mut last_side = 0_i8;
    while high.0 - low.0 > 1 {
        let width = high.0 - low.0;
        let step = -low.1 / (high.1 - low.1) * width as f64; // NaN or 0 where a distance is infinite
        looks += 1;
        // Every fourth look halves, so that a bad shape costs four times a bisection and no more.
        at = if looks.is_multiple_of(4) || !step.is_finite() || step == 0.0 {
            low.0 + width / 2
        } else {
            low.0 + (step as u64).clamp(1, width - 1)
        };
        seen = see(at);
        if seen.reached {
            high = (at, seen.distance);
            if last_side == 1 {
                low.1 *= 0.5;
            }
            last_side = 1;
        } else {
            low = (at, seen.distance);
            if last_side == -1 {
                high.1 *= 0.5;
            }
            last_side = -1;
        }
    }
    Some(high.0)
}
