//! Progress on stderr: only on a terminal, and only for work that takes over a second.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar that appears when it is worth it and disappears when dropped. Call it between measurements, not inside them.
#[derive(Debug)]
pub(crate) struct Progress {
    total: u64,
    done: u64,
    started: Instant,
    on_terminal: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// For `total` steps, of whatever size.
    pub(crate) fn new(total: u64) -> Self {
        Self { total, done: 0, started: Instant::now(), on_terminal: io::stderr().is_terminal(), bar: None }
    }

    /// Says what is being done now.
    pub(crate) fn step(&mut self, what: &str) {
        if self.on_terminal && self.bar.is_none() && self.started.elapsed() >= PATIENCE {
            self.bar = Some(self.new_bar());
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
            bar.set_message(what.to_owned());
        }
    }

    /// Says that so many steps are done.
    pub(crate) fn advance(&mut self, steps: u64) {
        self.done = self.done.saturating_add(steps).min(self.total);
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        }
    }

    fn new_bar(&self) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(Some(self.total), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("[{bar:30}] {percent:>3}% {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_work_shows_nothing() {
        let mut progress = Progress::new(2);
        progress.step("first");
        progress.advance(1);
        progress.step("second");
        progress.advance(5);
        assert!(progress.bar.is_none());
        assert_eq!(progress.done, 2);
    }

    #[test]
    fn the_template_is_sound() {
        let bar = Progress::new(3).new_bar();
        bar.finish_and_clear();
        assert!(ProgressStyle::with_template("[{bar:30}] {percent:>3}% {msg}").is_ok());
    }
}
