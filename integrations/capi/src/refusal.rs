//! Why a call was refused, and what a C program hears of it.

use bloomline::error::{BatchError, BuildError, FormatError};
use std::{
    cell::RefCell,
    ffi::{CString, c_char, c_int},
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Why a call was refused.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// A pointer that must point to something is null.
    Null(&'static str),
    /// A null pointer came with a length.
    NullWithLength { what: &'static str, length: usize },
    /// More bytes than any object has.
    TooLong { what: &'static str, length: usize },
    /// A count below 0.
    Negative { what: &'static str, count: c_int },
    /// No layout has this name.
    Layout(String),
    /// No frame has this number.
    Frame(c_int),
    /// The caller's buffer is too small.
    Room { needed: u64, capacity: usize },
    /// The system refused memory.
    Memory { bytes: u64 },
    /// No such filter.
    Build(BuildError),
    /// No filter in these bytes.
    Format(FormatError),
    /// No room for the answers.
    Batch(BatchError),
    /// What can't happen did: a panic, or a promise of bloomline's that does not hold.
    Bug,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null(what) => write!(f, "{what} is null"),
            Self::NullWithLength { what, length } => write!(f, "{what} is null and its length is {length}"),
            Self::TooLong { what, length } => {
                write!(f, "{what} of length {length}: an object in memory takes at most {} bytes", isize::MAX)
            }
            Self::Negative { what, count } => write!(f, "{count} {what}: the least is 0"),
            Self::Layout(name) => {
                write!(f, "no layout is called {name:?}; there are:")?;
                bloomline::LayoutKind::ALL.iter().try_for_each(|kind| write!(f, " {kind}"))
            }
            Self::Frame(frame) => write!(f, "frame {frame} is neither 0 (full) nor 1 (compact)"),
            Self::Room { needed, capacity } => write!(f, "the filter takes {needed} bytes, the buffer has {capacity}"),
            Self::Memory { bytes } => write!(f, "the system refused {bytes} bytes"),
            Self::Build(e) => e.fmt(f),
            Self::Format(e) => e.fmt(f),
            Self::Batch(e) => e.fmt(f),
            Self::Bug => write!(f, "a bug in bloomline: please report it"),
        }
    }
}

impl From<BuildError> for Refusal {
    fn from(e: BuildError) -> Self {
        Self::Build(e)
    }
}

impl From<FormatError> for Refusal {
    fn from(e: FormatError) -> Self {
        Self::Format(e)
    }
}

impl From<BatchError> for Refusal {
    fn from(e: BatchError) -> Self {
        Self::Batch(e)
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Why the last refused call on this thread was refused: one line, or "" when none was. A call that succeeds leaves it.
/// The text is the library's, and is there until the next refused call on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn bloomline_last_error() -> *const c_char {
    // While a thread ends, its text may be gone before its other destructors ask.
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Runs the body of an entry: `otherwise` when it refuses or panics.
pub(crate) fn guard<T>(otherwise: T, body: impl FnOnce() -> Result<T, Refusal>) -> T {
    // Unwind safety: no body leaves a value half changed, but a builder between two keys, and that has them or not.
    let refusal = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(answer)) => return answer,
        Ok(Err(refusal)) => refusal,
        Err(_) => Refusal::Bug,
    };
    // A layout's name comes from a C string, the rest from here: there is no NUL in the text.
    let text = CString::new(refusal.to_string()).unwrap_or_default();
    let _ = LAST.try_with(|last| last.replace(text));
    otherwise
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn last() -> String {
        // SAFETY: the text ends in NUL, and no call is refused before it is copied.
        unsafe { CStr::from_ptr(bloomline_last_error()) }.to_str().expect("UTF-8").to_owned()
    }

    #[test]
    fn a_panic_stays_here() {
        assert_eq!(guard(7, || Ok(1)), 1);
        assert_eq!(last(), "");
        assert_eq!(guard(7, || panic!("not a bug: a test of what happens to one")), 7);
        assert_eq!(last(), "a bug in bloomline: please report it");
        assert_eq!(guard(7, || Err(Refusal::Null("the policy"))), 7);
        assert_eq!(guard(7, || Ok(1)), 1);
        assert_eq!(last(), "the policy is null");
    }

    #[test]
    fn a_thread_has_its_own_error() {
        guard((), || Err(Refusal::Frame(2)));
        std::thread::spawn(|| assert_eq!(last(), "")).join().expect("no panic");
        assert_eq!(last(), "frame 2 is neither 0 (full) nor 1 (compact)");
    }
}
