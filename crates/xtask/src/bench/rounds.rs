//! Rounds of load, taken in turns.

use std::{net::SocketAddr, time::Duration};

use anyhow::Result;

use crate::rig::{
    load::{self, Round, Script, median},
    processor,
};

/// How often each of what is compared has its turn.
pub(crate) const ROUNDS: usize = 5;
/// How long a turn is.
pub(crate) const TURN: Duration = Duration::from_secs(3);
/// The turns before the first that counts: caches fill, connections and files are made.
pub(crate) const WARM_UP: Duration = Duration::from_secs(2);

/// A server that bears load.
pub(crate) struct Bearer {
    address: SocketAddr,
    process: u32,
    scripts: Vec<Script>,
    turns: Vec<Turn>,
}

/// What came of a turn, and the seconds of processor time that it took.
struct Turn {
    round: Round,
    server: f64,
    ourselves: f64,
}

impl Bearer {
    /// Warms a server up.
    pub(crate) fn warm(address: SocketAddr, process: u32, scripts: Vec<Script>) -> Result<Self> {
        load::run(address, &scripts, WARM_UP)?;
        Ok(Self {
            address,
            process,
            scripts,
            turns: Vec::new(),
        })
    }

    /// Has other scripts played from the next turn on.
    pub(crate) fn go_on_with(&mut self, scripts: Vec<Script>) {
        self.scripts = scripts;
    }

    /// Has a turn.
    pub(crate) fn take_turn(&mut self) -> Result<()> {
        let before = self.processor_seconds()?;
        let round = load::run(self.address, &self.scripts, TURN)?;
        let after = self.processor_seconds()?;
        self.turns.push(Turn {
            round,
            server: after.0 - before.0,
            ourselves: after.1 - before.1,
        });
        Ok(())
    }

    fn processor_seconds(&self) -> Result<(f64, f64)> {
        let ourselves = std::process::id();
        Ok((
            processor::seconds(self.process)?,
            processor::seconds(ourselves)?,
        ))
    }

    /// Requests a second, turn by turn.
    pub(crate) fn per_second(&self) -> Vec<f64> {
        self.each(|turn| turn.round.answers / turn.round.seconds)
    }

    /// Microseconds of processor time that a request costs the server, turn by turn.
    pub(crate) fn cost(&self) -> Vec<f64> {
        self.each(|turn| turn.server * 1e6 / turn.round.answers)
    }

    /// The share of one core that generating the load took, turn by turn. Near 1 it is the
    /// generator that was measured.
    pub(crate) fn generator_share(&self) -> Vec<f64> {
        self.each(|turn| turn.ourselves / turn.round.seconds)
    }

    /// This percentile of the latencies in milliseconds, turn by turn.
    pub(crate) fn percentile(&self, percent: usize) -> Vec<f64> {
        self.each(|turn| turn.round.latencies.percentile(percent))
    }

    /// The same without the time in the store that the answers tell of.
    pub(crate) fn percentile_elsewhere(&self, percent: usize) -> Vec<f64> {
        self.each(|turn| turn.round.elsewhere.percentile(percent))
    }

    /// Requests of all turns together.
    pub(crate) fn answers(&self) -> f64 {
        self.each(|turn| turn.round.answers).iter().sum()
    }

    fn each(&self, figure: impl Fn(&Turn) -> f64) -> Vec<f64> {
        self.turns.iter().map(figure).collect()
    }
}

/// The median of the ratios, turn by turn: what drifts on the machine does so for both.
pub(crate) fn ratio(of: &[f64], to: &[f64]) -> f64 {
    median(of.iter().zip(to).map(|(of, to)| of / to).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_taken_within_each_turn() {
        // The machine was half as fast in the second turn.
        let ratio = ratio(&[60.0, 30.0, 66.0], &[100.0, 50.0, 100.0]);
        assert!((ratio - 0.6).abs() < 1e-9);
    }
}
