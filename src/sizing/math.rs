//! The elementary functions, from one portable implementation.
//!
//! `core` has no logarithm, and the platforms' own ones differ in the last bit. A filter's size follows from these
//! functions, and two machines that size a filter for the same keys and rate must agree on it, bit for bit: they could
//! not exchange or merge filters otherwise. So `libm` is used everywhere, with or without `std`.

pub(super) fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// e^x − 1, exact to the last digits for small x.
pub(super) fn exp_m1(x: f64) -> f64 {
    libm::expm1(x)
}

pub(super) fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// ln(1 + x), exact to the last digits for small x.
pub(super) fn ln_1p(x: f64) -> f64 {
    libm::log1p(x)
}

pub(super) fn ceil(x: f64) -> f64 {
    libm::ceil(x)
}

pub(super) fn sqrt(x: f64) -> f64 {
    libm::sqrt(x)
}

/// x^k by squaring: a relative error of at most k rounding steps, and no logarithm.
pub(super) fn powi(x: f64, k: u32) -> f64 {
    let (mut result, mut base, mut left) = (1.0, x, k);
    while left > 0 {
        if left & 1 == 1 {
            result *= base;
        }
        base *= base;
        left >>= 1;
    }
    result
}
