//! Pinning the current thread to one core, so that a measurement stays in that core's caches.

use std::error::Error;
use std::fmt;

use bloomline::machine::Machine;

/// The core that was asked for is not one this process may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PinError {
    /// No such core, or not for this process.
    NoSuchCore { asked: usize, usable: Vec<usize> },
    /// The system refused.
    Refused { core: usize },
}

impl fmt::Display for PinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchCore { asked, usable } => {
                let usable: Vec<String> = usable.iter().map(usize::to_string).collect();
                write!(f, "no core {asked} for this process (usable: {})", usable.join(", "))
            }
            Self::Refused { core } => write!(f, "the system refused to pin a thread to core {core}"),
        }
    }
}

impl Error for PinError {}

/// Pins the current thread to `core`, or to the last usable core (the first serves most interrupts), and returns which.
/// `Ok(None)` where nothing was asked for and the system can't pin.
pub(crate) fn pin(core: Option<usize>) -> Result<Option<usize>, PinError> {
    // The machine counts usable CPUs when it is first asked: do it before this leaves only one.
    let _ = Machine::get();
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let chosen = match core {
        None => cores.last(),
        Some(asked) => match cores.iter().find(|id| id.id == asked) {
            None => return Err(PinError::NoSuchCore { asked, usable: cores.iter().map(|id| id.id).collect() }),
            found => found,
        },
    };
    let Some(&id) = chosen else { return Ok(None) };
    if core_affinity::set_for_current(id) {
        Ok(Some(id.id))
    } else if core.is_some() {
        Err(PinError::Refused { core: id.id })
    } else {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_that_is_not_there() {
        let error = pin(Some(usize::MAX)).unwrap_err();
        assert!(
            error.to_string().starts_with(&format!("no core {} for this process (usable: ", usize::MAX)),
            "{error}"
        );
    }

    #[test]
    fn any_core() {
        // In a thread of its own: the pin stays with the thread.
        std::thread::spawn(|| {
            if let Some(core) = pin(None).unwrap() {
                assert_eq!(pin(Some(core)), Ok(Some(core)));
            }
        })
        .join()
        .unwrap();
    }
}
