//! Rounds of load on a server, in turns with the servers that it is compared with.

use std::{net::SocketAddr, time::Duration};

use anyhow::Result;
use dev_load::{
    generator::{self, Round, Script},
    latencies::median,
    process_stats,
};

/// The number of rounds of each server.
pub(crate) const ROUNDS: usize = 5;
/// The length of a round.
pub(crate) const ROUND_DURATION: Duration = Duration::from_secs(3);
/// The length of the warm-up round, which fills caches and opens connections and files.
pub(crate) const WARM_UP: Duration = Duration::from_secs(2);

/// A server under load, and its rounds so far.
pub(crate) struct MeasuredServer {
    address: SocketAddr,
    process: u32,
    scripts: Vec<Script>,
    turns: Vec<Turn>,
}

/// The result of a round, and the processor time in seconds that it took.
struct Turn {
    round: Round,
    server: f64,
    generator: f64,
}

impl MeasuredServer {
    /// Runs the warm-up round.
    pub(crate) fn warm_up(address: SocketAddr, process: u32, scripts: Vec<Script>) -> Result<Self> {
        generator::run(address, &scripts, WARM_UP)?;
        Ok(Self {
            address,
            process,
            scripts,
            turns: Vec::new(),
        })
    }

    /// Replaces the scripts of further rounds.
    pub(crate) fn use_scripts(&mut self, scripts: Vec<Script>) {
        self.scripts = scripts;
    }

    /// Runs a round.
    pub(crate) fn run_round(&mut self) -> Result<()> {
        let before = self.processor_seconds()?;
        let round = generator::run(self.address, &self.scripts, ROUND_DURATION)?;
        let after = self.processor_seconds()?;
        self.turns.push(Turn {
            round,
            server: after.0 - before.0,
            generator: after.1 - before.1,
        });
        Ok(())
    }

    /// Runs a round that is not part of the results, and returns the number of responses.
    pub(crate) fn run_uncounted_round(&self) -> Result<f64> {
        let round = generator::run(self.address, &self.scripts, ROUND_DURATION)?;
        Ok(round.responses)
    }

    fn processor_seconds(&self) -> Result<(f64, f64)> {
        let generator = std::process::id();
        Ok((
            process_stats::cpu_seconds(self.process)?,
            process_stats::cpu_seconds(generator)?,
        ))
    }

    /// Requests a second, by round.
    pub(crate) fn per_second(&self) -> Vec<f64> {
        self.each(|turn| turn.round.responses / turn.round.seconds)
    }

    /// Microseconds of the server's processor time for each request, by round.
    pub(crate) fn cpu_per_request(&self) -> Vec<f64> {
        self.each(|turn| turn.server * 1e6 / turn.round.responses)
    }

    /// The share of one core that the load generator took, by round. Near 1, the generator limits
    /// the result.
    pub(crate) fn generator_share(&self) -> Vec<f64> {
        self.each(|turn| turn.generator / turn.round.seconds)
    }

    /// A percentile of the latencies in milliseconds, by round.
    pub(crate) fn percentile(&self, percent: u32) -> Vec<f64> {
        self.each(|turn| turn.round.latencies.percentile(percent))
    }

    /// The same without the time in the store that responses report.
    pub(crate) fn percentile_outside_store(&self, percent: u32) -> Vec<f64> {
        self.each(|turn| turn.round.latencies_outside_store.percentile(percent))
    }

    /// A percentile of the times in the engine in milliseconds, by round.
    pub(crate) fn engine_percentile(&self, percent: u32) -> Vec<f64> {
        self.each(|turn| turn.round.engine_times.percentile(percent))
    }

    /// The requests of all rounds together.
    pub(crate) fn responses(&self) -> f64 {
        self.each(|turn| turn.round.responses).iter().sum()
    }

    fn each(&self, figure: impl Fn(&Turn) -> f64) -> Vec<f64> {
        self.turns.iter().map(figure).collect()
    }
}

/// The median of the ratios by round: changes of the machine's speed affect both servers of a
/// round.
pub(crate) fn ratio(of: &[f64], to: &[f64]) -> f64 {
    median(of.iter().zip(to).map(|(of, to)| of / to).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_taken_within_each_turn() {
        // The machine was half as fast in the second round.
        let ratio = ratio(&[60.0, 30.0, 66.0], &[100.0, 50.0, 100.0]);
        assert!((ratio - 0.6).abs() < 1e-9);
    }
}
