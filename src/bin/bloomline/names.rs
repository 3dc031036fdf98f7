//! Names given by people: known, or the nearest known one suggested.

use std::error::Error;
use std::fmt;

use bloomline::error::LevelError;
use bloomline::{FilterKind, LayoutKind, Level};

use crate::Failure;

/// A name that is none of the known ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnknownName {
    /// What it should name: `layout`, `level`.
    kind: &'static str,
    given: String,
    nearest: Option<String>,
    known: Vec<String>,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {} {:?}", self.kind, self.given)?;
        if let Some(nearest) = &self.nearest {
            write!(f, ": did you mean {nearest:?}?")?;
        }
        write!(f, " (one of: {})", self.known.join(", "))
    }
}

impl Error for UnknownName {}

/// The place of `given` in `known`.
pub(crate) fn find(kind: &'static str, given: &str, known: &[&str]) -> Result<usize, UnknownName> {
    known.iter().position(|&name| name == given).ok_or_else(|| UnknownName {
        kind,
        given: given.to_owned(),
        nearest: nearest(given, known).map(str::to_owned),
        known: known.iter().map(|&name| name.to_owned()).collect(),
    })
}

/// The kinds of filters of these names, in the order of the list; all of them when no name is given.
pub(crate) fn layouts(names: &[String]) -> Result<Vec<FilterKind>, UnknownName> {
    let known: Vec<&str> = FilterKind::all().map(FilterKind::name).collect();
    let chosen = names.iter().map(|name| find("layout", name, &known)).collect::<Result<Vec<_>, _>>()?;
    let wanted = |(i, kind): (usize, FilterKind)| (names.is_empty() || chosen.contains(&i)).then_some(kind);
    Ok(FilterKind::all().enumerate().filter_map(wanted).collect())
}

/// The kind of this name.
pub(crate) fn layout(name: &str) -> Result<FilterKind, UnknownName> {
    let known: Vec<&str> = FilterKind::all().map(FilterKind::name).collect();
    let at = find("layout", name, &known)?;
    Ok(FilterKind::all().nth(at).unwrap_or(LayoutKind::Classic.into())) // it is one of them
}

/// The levels of these names, ascending; those of this machine up to the chosen one when no name is given.
pub(crate) fn levels(names: &[String]) -> Result<Vec<Level>, Failure> {
    if names.is_empty() {
        return Ok(Level::available().iter().copied().filter(|&level| level <= Level::get()).collect());
    }
    let known = Level::ALL.map(Level::name);
    let mut levels = Vec::new();
    for name in names {
        levels.push(Level::ALL[find("level", name, &known)?].checked()?);
    }
    levels.sort_unstable();
    levels.dedup();
    Ok(levels)
}

/// The level that `BLOOMLINE_ISA` asks for is one, and this machine has it.
pub(crate) fn check_environment() -> Result<(), Failure> {
    const VARIABLE: &str = "BLOOMLINE_ISA";
    let in_variable = |error: LevelError| Failure::Usage(format!("{VARIABLE}: {error}"));
    match std::env::var_os(VARIABLE) {
        Some(name) if name.to_str().is_none() => {
            Err(in_variable(LevelError::Unknown { name: name.to_string_lossy().into_owned() }))
        }
        _ => Level::from_env().map(drop).map_err(in_variable),
    }
}

/// The known name that `given` most likely means: few slips away from it, or the beginning of it.
fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    let given = given.to_lowercase().replace(['_', ' '], "-");
    let slips = |name: &str| strsim::damerau_levenshtein(&given, &name.to_lowercase());
    let allowed = (given.chars().count() / 3).max(1);
    let near = known.iter().copied().min_by_key(|name| slips(name)).filter(|name| slips(name) <= allowed);
    near.or_else(|| known.iter().copied().find(|name| given.len() > 1 && name.starts_with(&given)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUTS: [&str; 6] = ["classic", "partitioned", "blocked", "split-block", "split-line", "word"];

    #[test]
    fn known_names() {
        assert_eq!(find("layout", "blocked", &LAYOUTS), Ok(2));
    }

    #[test]
    fn misspelt_names() {
        let message = |given: &str| find("layout", given, &LAYOUTS).unwrap_err().to_string();
        assert_eq!(
            message("blokced"),
            "unknown layout \"blokced\": did you mean \"blocked\"? \
             (one of: classic, partitioned, blocked, split-block, split-line, word)"
        );
        for (given, meant) in [
            ("Classic", "classic"),
            ("split_line", "split-line"),
            ("splitblock", "split-block"),
            ("part", "partitioned"),
        ] {
            assert!(message(given).contains(&format!("did you mean {meant:?}?")), "{given}");
        }
        for strange in ["", "x", "\n", "quotient", "\u{1f980}"] {
            assert!(message(strange).starts_with(&format!("unknown layout {strange:?} (one of")), "{strange:?}");
        }
        assert_eq!(find("level", "x", &[]).unwrap_err().to_string(), "unknown level \"x\" (one of: )");
    }
}
