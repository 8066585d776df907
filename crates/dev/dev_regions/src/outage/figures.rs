//! The figures of an outage.

use std::{collections::BTreeMap, ops::Range, time::Duration};

use anyhow::Result;
use dev_load::{
    figures::{Figure, Part, Target},
    latencies::Latencies,
};
use tokio::time::Instant;

use super::{
    measure::{AFTER, Outage},
    observer::{HOME_WRITE, READ, SOCKET, WRITE},
};
use crate::numbers::count;

/// The longest that a write may take during the cut.
const REFUSED: Duration = Duration::from_secs(1);
/// The time in which a write reaches the home region.
const ON_THE_WAY: Duration = Duration::from_millis(200);
/// The longest until all works again after the cut, in seconds.
const HEALED: f64 = 5.0;
/// The longest that a local read may take, in milliseconds.
const LOCAL: f64 = 25.0;

impl Outage {
    pub(super) fn figures(&self) -> Result<Vec<Figure>> {
        let mut figures = self.during()?;
        figures.extend(self.afterwards());
        Ok(figures)
    }

    fn during(&self) -> Result<Vec<Figure>> {
        let cut = self.cut..self.healed;
        let reads = self.transcript.of(READ, cut);
        let reads = Latencies::new(reads.map(|read| read.elapsed))?;
        let mut results = BTreeMap::<&str, usize>::new();
        // A later one may still succeed.
        for write in self.transcript.of(WRITE, self.cut..self.healed - REFUSED) {
            *results.entry(&write.result).or_default() += 1;
        }
        // The first ones are on their way when the cut begins.
        let writes = self
            .transcript
            .of(WRITE, self.cut - ON_THE_WAY..self.healed);
        let slowest = writes.map(|write| write.elapsed).max().unwrap_or_default();
        let other = results.iter();
        let other = other.filter(|(result, _)| !result.starts_with("503"));
        let other = other.map(|(_, number)| number).sum();
        let results = results.iter();
        let results = results.map(|(result, number)| Part::new(*result, count(*number), ""));
        let percentile = reads.percentile(95);
        Ok(vec![
            at_most(
                "reads during the cut, p95",
                LOCAL,
                (percentile, "ms"),
                vec![],
            ),
            at_most(
                "writes during the cut that are not refused with 503",
                0.0,
                (count(other), ""),
                results.collect(),
            ),
            at_most(
                "slowest write during the cut",
                REFUSED.as_secs_f64(),
                (slowest.as_secs_f64(), "s"),
                vec![],
            ),
        ])
    }

    fn afterwards(&self) -> Vec<Figure> {
        let all = self.cut..self.healed + AFTER;
        let none = |work, number| at_most(work, 0.0, (count(number), ""), vec![]);
        let within = |work, seconds| at_most(work, HEALED, (seconds, "s"), vec![]);
        vec![
            none(
                "reads that fail in Frankfurt",
                self.failed(READ, all.clone()),
            ),
            none(
                "writes that fail in Washington",
                self.failed(HOME_WRITE, all.clone()),
            ),
            none("sockets closed", self.transcript.of(SOCKET, all).count()),
            none("gaps and repetitions on the socket", self.violations.len()),
            within("first write after the cut", self.first_write()),
            within(
                "all missed events on the socket after the cut",
                self.caught_up(),
            ),
        ]
    }

    fn failed(&self, what: &'static str, time: Range<Instant>) -> usize {
        let all = self.transcript.of(what, time);
        all.filter(|it| it.result != "200").count()
    }

    /// Seconds from the end of the cut to the end of the first write that succeeds; infinite if
    /// none does.
    fn first_write(&self) -> f64 {
        let after = self.healed..self.healed + AFTER;
        let mut writes = self.transcript.of(WRITE, after);
        let first = writes.find(|write| write.result == "200");
        first.map_or(f64::INFINITY, |write| {
            (write.started + write.elapsed - self.healed).as_secs_f64()
        })
    }

    /// Seconds from the end of the cut until the socket has all events of the cut; infinite if it
    /// never has.
    fn caught_up(&self) -> f64 {
        let mut received = self.received.iter();
        let last = received.find(|(seq, _)| *seq >= self.head);
        last.map_or(f64::INFINITY, |(_, at)| {
            at.saturating_duration_since(self.healed).as_secs_f64()
        })
    }
}

fn at_most(
    work: &'static str,
    most: f64,
    (value, unit): (f64, &'static str),
    parts: Vec<Part>,
) -> Figure {
    Figure::new(("R7", work), Target::AtMost(most), value, unit, parts)
}
