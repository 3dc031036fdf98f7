//! Levels: names for the instruction sets.

use crate::error::LevelError;
use core::{fmt, str::FromStr};

/// An instruction set that kernels are compiled for.
///
/// Every level sets and tests the same bits; they differ in speed alone. [`Level::get`] is what new filters use: the
/// best of this machine, or the one that the environment variable `BLOOMLINE_ISA` names.
///
/// ```
/// use bloomline::Level;
/// assert!(Level::available().contains(&Level::get()));
/// assert!(Level::Scalar.is_available());
/// assert_eq!("avx2".parse(), Ok(Level::Avx2)); // a name, on every machine
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Level {
    /// Plain Rust, one key at a time: the reference.
    Scalar,
    /// The `wide` crate, at the width that the crate was compiled for.
    Portable,
    /// NEON, on AArch64.
    Neon,
    /// AVX2, with BMI1 and BMI2, on x86-64: Haswell (2013), Zen (2017) and later.
    Avx2,
    /// And AVX-512 f, bw, dq and vl.
    Avx512,
    /// And AVX-512 vbmi and bitalg.
    Avx512Vbmi,
}

impl Level {
    /// Every level, on any machine, in ascending order.
    pub const ALL: [Level; 6] = [Self::Scalar, Self::Portable, Self::Neon, Self::Avx2, Self::Avx512, Self::Avx512Vbmi];

    /// The name that reports print and `BLOOMLINE_ISA` takes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Portable => "portable",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Avx512Vbmi => "avx512vbmi",
        }
    }

    /// The levels that this machine can run, in ascending order. Tests and benchmarks iterate over them.
    pub fn available() -> &'static [Level] {
        #[cfg(feature = "std")]
        {
            static AVAILABLE: std::sync::OnceLock<alloc::vec::Vec<Level>> = std::sync::OnceLock::new();
            AVAILABLE.get_or_init(|| Self::ALL.into_iter().filter(|level| level.detect()).collect())
        }
        #[cfg(not(feature = "std"))]
        {
            const LEVELS: ([Level; 6], usize) = {
                let (mut levels, mut n, mut i) = ([Level::Scalar; 6], 0, 0);
                while i < Level::ALL.len() {
                    if Level::ALL[i].compiled_in() {
                        levels[n] = Level::ALL[i];
                        n += 1;
                    }
                    i += 1;
                }
                (levels, n)
            };
            static LEVELS_HERE: [Level; 6] = LEVELS.0;
            LEVELS_HERE.split_at(LEVELS.1).0
        }
    }

    /// Whether this machine can run the level.
    pub fn is_available(self) -> bool {
        Self::available().contains(&self)
    }

    /// Whether the whole crate was compiled for this level, so that no detection is needed.
    #[cfg_attr(feature = "std", allow(dead_code, clippy::allow_attributes, reason = "with std, detection answers"))]
    const fn compiled_in(self) -> bool {
        match self {
            Self::Scalar | Self::Portable => true,
            Self::Neon => cfg!(all(target_arch = "aarch64", target_endian = "little", target_feature = "neon")),
            Self::Avx2 => cfg!(all(
                target_arch = "x86_64",
                target_feature = "avx2",
                target_feature = "bmi1",
                target_feature = "bmi2"
            )),
            Self::Avx512 => {
                Self::Avx2.compiled_in()
                    && cfg!(all(
                        target_feature = "avx512f",
                        target_feature = "avx512bw",
                        target_feature = "avx512dq",
                        target_feature = "avx512vl"
                    ))
            }
            Self::Avx512Vbmi => {
                Self::Avx512.compiled_in() && cfg!(all(target_feature = "avx512vbmi", target_feature = "avx512bitalg"))
            }
        }
    }

    #[cfg(feature = "std")]
    fn detect(self) -> bool {
        match self {
            Self::Scalar | Self::Portable => true,
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Self::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                std::arch::is_x86_feature_detected!("avx2")
                    && std::arch::is_x86_feature_detected!("bmi1")
                    && std::arch::is_x86_feature_detected!("bmi2")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.detect()
                    && std::arch::is_x86_feature_detected!("avx512f")
                    && std::arch::is_x86_feature_detected!("avx512bw")
                    && std::arch::is_x86_feature_detected!("avx512dq")
                    && std::arch::is_x86_feature_detected!("avx512vl")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vbmi => {
                Self::Avx512.detect()
                    && std::arch::is_x86_feature_detected!("avx512vbmi")
                    && std::arch::is_x86_feature_detected!("avx512bitalg")
            }
            #[allow(unreachable_patterns, clippy::allow_attributes, reason = "the levels of other architectures")]
            _ => false,
        }
    }

    /// The level that new filters use: the best available, lowered by `BLOOMLINE_ISA` when that names an available
    /// one. A name that is none is ignored here, since a library must not fail on its environment;
    /// [`Level::from_env`] reports it.
    pub fn get() -> Level {
        #[cfg(feature = "std")]
        {
            static CHOSEN: std::sync::OnceLock<Level> = std::sync::OnceLock::new();
            *CHOSEN.get_or_init(|| Self::from_env().ok().flatten().unwrap_or(Self::best()))
        }
        #[cfg(not(feature = "std"))]
        Self::best()
    }

    /// The best level of this machine.
    pub fn best() -> Level {
        *Self::available().last().unwrap_or(&Self::Scalar)
    }

    /// The level that `BLOOMLINE_ISA` asks for, if it is set and not empty.
    ///
    /// # Errors
    /// When it names no level, or one that this machine lacks.
    #[cfg(feature = "std")]
    pub fn from_env() -> Result<Option<Level>, LevelError> {
        match std::env::var("BLOOMLINE_ISA") {
            Ok(name) if !name.is_empty() => {
                let level: Level = name.parse()?;
                level.checked().map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Itself.
    ///
    /// # Errors
    /// When this machine lacks it.
    pub fn checked(self) -> Result<Level, LevelError> {
        if self.is_available() { Ok(self) } else { Err(LevelError::Unavailable { level: self, best: Self::best() }) }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Level {
    type Err = LevelError;
    fn from_str(name: &str) -> Result<Self, LevelError> {
        Self::ALL
            .into_iter()
            .find(|level| level.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| LevelError::Unknown { name: name.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for level in Level::ALL {
            assert_eq!(level.name().parse(), Ok(level));
        }
        assert_eq!("sse9".parse::<Level>(), Err(LevelError::Unknown { name: "sse9".into() }));
    }

    #[test]
    fn what_is_missing_is_refused() {
        for level in Level::ALL {
            assert_eq!(level.checked().is_ok(), level.is_available());
        }
        // No machine has both.
        assert!(!(Level::Neon.is_available() && Level::Avx2.is_available()));
    }
}
