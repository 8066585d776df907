//! Named steps with their durations, which show the progress of a long run.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

/// The finished steps.
#[derive(Default)]
pub struct Steps {
    finished: Vec<(&'static str, Duration)>,
}

impl Steps {
    /// Runs a step; its error names it.
    pub fn run<T>(&mut self, name: &'static str, step: impl FnOnce() -> Result<T>) -> Result<T> {
        println!("\n== {name}");
        let started = Instant::now();
        let result = step().context(name)?;
        let duration = started.elapsed();
        println!("== {name}: passed in {:.1} s", duration.as_secs_f64());
        self.finished.push((name, duration));
        Ok(result)
    }

    /// Prints all finished steps and their durations.
    pub fn print_summary(&self) {
        println!();
        for (name, duration) in &self.finished {
            println!("{name:<32} {:>7.1} s", duration.as_secs_f64());
        }
    }
}
