//! Why a command ended with exit code 2, in one line.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use bloomline::error::{BuildError, DLeftMergeError, LevelError};

use crate::keys::KeyError;
use crate::names::UnknownName;
use crate::pin::PinError;
use crate::secret::SecretError;
use crate::stored::StoredError;

#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments make no sense.
    Usage(String),
    /// The keys can't be had.
    Keys(KeyError),
    /// The thread can't be pinned.
    Pin(PinError),
    /// A name stands for nothing.
    Name(UnknownName),
    /// This machine lacks a level.
    Level(LevelError),
    /// There is no such filter, or no memory for it.
    Size { what: &'static str, source: BuildError },
    /// A filter can't be had from its file.
    Stored(StoredError),
    /// A secret can't be had from its file.
    Secret(SecretError),
    /// Two filters can't be united.
    Unlike { left: String, right: String, source: DLeftMergeError },
    /// A report or a filter can't be saved.
    Save { path: PathBuf, source: io::Error },
    /// The results can't be written.
    Output(io::Error),
}

impl Failure {
    /// What clap has to say, in one sentence and a hint where to read on: at `command`, if it is one.
    pub(crate) fn usage(error: &clap::Error, command: Option<&str>) -> Self {
        let text = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.as_str()),
            Some(ContextValue::Strings(list)) => list.first().map(String::as_str),
            _ => None,
        };
        let suggestion = |kind| text(kind).map(|name| format!(": did you mean {name:?}?")).unwrap_or_default();
        let message = match error.kind() {
            ErrorKind::InvalidSubcommand => format!(
                "unknown command {:?}{}",
                text(ContextKind::InvalidSubcommand).unwrap_or_default(),
                suggestion(ContextKind::SuggestedSubcommand)
            ),
            ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                "no command given".to_owned()
            }
            ErrorKind::UnknownArgument => format!(
                "unexpected argument {:?}{}",
                text(ContextKind::InvalidArg).unwrap_or_default(),
                suggestion(ContextKind::SuggestedArg)
            ),
            ErrorKind::MissingRequiredArgument => {
                let missing = match error.get(ContextKind::InvalidArg) {
                    Some(ContextValue::Strings(list)) => list.iter().map(|name| bare(name)).collect(),
                    _ => Vec::new(),
                };
                format!("missing {}", missing.join(" and "))
            }
            _ => first_paragraph(&error.to_string()),
        };
        let command = command.map(|name| format!("{name} ")).unwrap_or_default();
        Self::Usage(format!("{message} (see bloomline {command}--help)"))
    }

    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// A group of arguments is shown as `<--a <A>|--b <B>>`: here `--a <A> or --b <B>`.
fn bare(group: &str) -> String {
    match group.strip_prefix("<--").and_then(|rest| rest.strip_suffix('>')) {
        Some(inner) => format!("--{}", inner.replace("|--", " or --")),
        None => group.to_owned(),
    }
}

/// The text of a rendered clap error before its tips and usage.
fn first_paragraph(text: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let lines = text.lines().map(str::trim).take_while(|line| !line.is_empty() && !line.starts_with("Usage:"));
    lines.collect::<Vec<_>>().join(" ")
}

/// `text` with line breaks and other control characters escaped: arguments and paths may hold any.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() { line.extend(character.escape_default()) } else { line.push(character) }
    }
    line
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) => f.write_str(message),
            Self::Keys(error) => error.fmt(f),
            Self::Pin(error) => error.fmt(f),
            Self::Name(error) => error.fmt(f),
            Self::Level(error) => error.fmt(f),
            Self::Size { what, source } => write!(f, "{what}: {source}"),
            Self::Stored(error) => error.fmt(f),
            Self::Secret(error) => error.fmt(f),
            Self::Unlike { left, right, source } => write!(f, "{left} and {right} can't be merged: {source}"),
            Self::Save { path, source } => write!(f, "cannot write {}: {source}", path.display()),
            Self::Output(error) => write!(f, "cannot write the results: {error}"),
        }
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Usage(_) => None,
            Self::Keys(error) => Some(error),
            Self::Pin(error) => Some(error),
            Self::Name(error) => Some(error),
            Self::Level(error) => Some(error),
            Self::Size { source, .. } => Some(source),
            Self::Stored(error) => Some(error),
            Self::Secret(error) => Some(error),
            Self::Unlike { source, .. } => Some(source),
            Self::Output(error) | Self::Save { source: error, .. } => Some(error),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<KeyError> for Failure {
    fn from(error: KeyError) -> Self {
        Self::Keys(error)
    }
}

impl From<StoredError> for Failure {
    fn from(error: StoredError) -> Self {
        Self::Stored(error)
    }
}

impl From<SecretError> for Failure {
    fn from(error: SecretError) -> Self {
        Self::Secret(error)
    }
}

impl From<UnknownName> for Failure {
    fn from(error: UnknownName) -> Self {
        Self::Name(error)
    }
}

impl From<LevelError> for Failure {
    fn from(error: LevelError) -> Self {
        Self::Level(error)
    }
}

impl From<PinError> for Failure {
    fn from(error: PinError) -> Self {
        Self::Pin(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_stay_on_the_line() {
        assert_eq!(one_line("a\nb\r\tc\u{1b}[0m é"), "a\\nb\\r\\tc\\u{1b}[0m é");
    }

    #[test]
    fn a_closed_pipe_is_no_failure_to_speak_of() {
        assert!(Failure::from(io::Error::from(io::ErrorKind::BrokenPipe)).is_broken_pipe());
        // serde_json wraps it; the kind must come through.
        let json = serde_json::Error::io(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(Failure::from(io::Error::from(json)).is_broken_pipe());
        assert!(!Failure::Usage("no".to_owned()).is_broken_pipe());
        assert!(!Failure::from(io::Error::from(io::ErrorKind::StorageFull)).is_broken_pipe());
    }
}
