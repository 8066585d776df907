//! Steps with a name and a duration, so that a long run says where it stands.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

/// The steps taken so far.
#[derive(Default)]
pub(crate) struct Steps {
    taken: Vec<(&'static str, Duration)>,
}

impl Steps {
    /// Takes a step; its error names it.
    pub(crate) fn take<T>(
        &mut self,
        name: &'static str,
        step: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        println!("\n== {name}");
        let started = Instant::now();
        let result = step().context(name)?;
        let duration = started.elapsed();
        println!("== {name}: passed in {:.1} s", duration.as_secs_f64());
        self.taken.push((name, duration));
        Ok(result)
    }

    /// Prints what was taken and how long it took.
    pub(crate) fn print_summary(&self) {
        println!();
        for (name, duration) in &self.taken {
            println!("{name:<32} {:>7.1} s", duration.as_secs_f64());
        }
    }
}
