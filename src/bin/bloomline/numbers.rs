//! Numbers as people write them.

use std::error::Error;
use std::fmt;

/// Why a text is not the number asked for. The text itself is in clap's sentence around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberError {
    /// No count.
    NotACount,
    /// A count beyond 64 bits.
    CountTooLarge,
    /// A count of nothing.
    Zero,
    /// No rate.
    NotARate,
    /// A rate that is no probability of a false positive.
    RateOutside,
    /// No number above 0.
    NotPositive,
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotACount => "expected a whole number such as 1000000, 1_000_000, 1e6, 1M or 2^20",
            Self::CountTooLarge => "more than 64 bits can count",
            Self::Zero => "there must be at least one",
            Self::NotARate => "expected a rate such as 0.01 or 1%",
            Self::RateOutside => "a rate lies between 0 and 1, both excluded",
            Self::NotPositive => "expected a number above 0",
        })
    }
}

impl Error for NumberError {}

/// A count of at least one: `1000000`, `1_000_000`, `1e6`, `1.5M` (k, M, G, T are powers of 1,000), `2^20`.
pub(crate) fn count(text: &str) -> Result<u64, NumberError> {
    let text = text.replace('_', "");
    let value = match text.split_once('^') {
        Some((base, exponent)) => {
            digits(base)?.checked_pow(u32::try_from(digits(exponent)?).map_err(|_| NumberError::CountTooLarge)?)
        }
        None => scaled(&text)?,
    };
    match value {
        None => Err(NumberError::CountTooLarge),
        Some(0) => Err(NumberError::Zero),
        Some(value) => Ok(value),
    }
}

fn digits(text: &str) -> Result<u64, NumberError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NumberError::NotACount);
    }
    text.parse().map_err(|_| NumberError::CountTooLarge)
}

/// A decimal number with an exponent or a suffix; `Ok(None)` beyond 64 bits.
fn scaled(text: &str) -> Result<Option<u64>, NumberError> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, digits(exponent)?),
        None => match text.char_indices().next_back() {
            Some((at, 'k' | 'K')) => (&text[..at], 3),
            Some((at, 'M' | 'm')) => (&text[..at], 6),
            Some((at, 'G' | 'g')) => (&text[..at], 9),
            Some((at, 'T' | 't')) => (&text[..at], 12),
            _ => (text, 0),
        },
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    if whole.is_empty() || fraction.len() as u64 > exponent {
        return Err(NumberError::NotACount);
    }
    let value = digits(&format!("{whole}{fraction}"))?;
    let power = u32::try_from(exponent - fraction.len() as u64).ok();
    Ok(if value == 0 { Some(0) } else { power.and_then(|power| 10_u64.checked_pow(power)?.checked_mul(value)) })
}

/// A false positive rate: `0.01`, `1e-4`, `1%`.
pub(crate) fn rate(text: &str) -> Result<f64, NumberError> {
    let (number, divisor) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 100.0),
        None => (text, 1.0),
    };
    let rate = number.parse::<f64>().map_err(|_| NumberError::NotARate)? / divisor;
    if rate > 0.0 && rate < 1.0 { Ok(rate) } else { Err(NumberError::RateOutside) }
}

/// A finite number above 0.
pub(crate) fn positive(text: &str) -> Result<f64, NumberError> {
    let number = text.parse::<f64>().map_err(|_| NumberError::NotPositive)?;
    if number > 0.0 && number.is_finite() { Ok(number) } else { Err(NumberError::NotPositive) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        let good = [
            ("1", 1),
            ("1000000", 1_000_000),
            ("1_000_000", 1_000_000),
            ("1e6", 1_000_000),
            ("10M", 10_000_000),
            ("1.5k", 1_500),
            ("2.50G", 2_500_000_000),
            ("3T", 3_000_000_000_000),
            ("2^40", 1 << 40),
            ("18446744073709551615", u64::MAX),
        ];
        for (text, value) in good {
            assert_eq!(count(text), Ok(value), "{text}");
        }
        for zero in ["0", "0_0", "0e9", "0M", "0^2", "0e99999999999"] {
            assert_eq!(count(zero), Err(NumberError::Zero), "{zero}");
        }
        for large in ["18446744073709551616", "1e20", "2^64", "2^99999999999", "99999999999T", "1e99999999999"] {
            assert_eq!(count(large), Err(NumberError::CountTooLarge), "{large}");
        }
        for bad in
            ["", "_", "-1", "+1", "1.5", "x", "M", "1.5e0", ".5k", "1e", "e6", "1e-3", "2^", "^2", "NaN", "é", "1 k"]
        {
            assert_eq!(count(bad), Err(NumberError::NotACount), "{bad}");
        }
    }

    #[test]
    fn rates() {
        assert_eq!(rate("0.01"), Ok(0.01));
        assert_eq!(rate("1%"), Ok(0.01));
        assert_eq!(rate("1e-4"), Ok(1e-4));
        for bad in ["0", "1", "-0.1", "NaN", "inf", "100%", "2", "0%"] {
            assert_eq!(rate(bad), Err(NumberError::RateOutside), "{bad}");
        }
        for bad in ["", "%", "one", "0,01"] {
            assert_eq!(rate(bad), Err(NumberError::NotARate), "{bad}");
        }
    }

    #[test]
    fn positives() {
        assert_eq!(positive("9.5"), Ok(9.5));
        for bad in ["", "0", "-1", "NaN", "inf", "ten"] {
            assert_eq!(positive(bad), Err(NumberError::NotPositive), "{bad}");
        }
    }
}
