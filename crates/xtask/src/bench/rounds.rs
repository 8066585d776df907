//! Rounds of load, taken in turns.

use std::{net::SocketAddr, time::Duration};

use anyhow::Result;

use super::load::{self, Round, Script, median};

/// How often each of what is compared has its turn.
pub(crate) const ROUNDS: usize = 5;
/// How long a turn is.
pub(crate) const TURN: Duration = Duration::from_secs(3);
/// The turns before the first that counts: caches fill, connections and files are made.
pub(crate) const WARM_UP: Duration = Duration::from_secs(2);

/// Something that bears load.
pub(crate) struct Bearer {
    address: SocketAddr,
    scripts: Vec<Script>,
    rounds: Vec<Round>,
}

impl Bearer {
    /// Warms it up.
    pub(crate) fn warm(address: SocketAddr, scripts: Vec<Script>) -> Result<Self> {
        load::run(address, &scripts, WARM_UP)?;
        Ok(Self {
            address,
            scripts,
            rounds: Vec::new(),
        })
    }

    /// Has a turn.
    pub(crate) fn take_turn(&mut self) -> Result<()> {
        let round = load::run(self.address, &self.scripts, TURN)?;
        self.rounds.push(round);
        Ok(())
    }

    /// Requests a second, turn by turn.
    pub(crate) fn per_second(&self) -> Vec<f64> {
        self.rounds.iter().map(|round| round.per_second).collect()
    }

    /// This percentile of the latencies in milliseconds, turn by turn.
    pub(crate) fn percentile(&self, percent: usize) -> Vec<f64> {
        let rounds = self.rounds.iter();
        rounds
            .map(|round| round.latencies.percentile(percent))
            .collect()
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
