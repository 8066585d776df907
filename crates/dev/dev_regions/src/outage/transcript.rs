//! The observations of an outage.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;

/// The pause between two lines about the same result.
const REPEATED: Duration = Duration::from_secs(10);

/// The result of a request, or the state of a socket.
#[derive(Debug, Clone)]
pub(super) struct Observation {
    /// The kind of operation.
    pub(super) what: &'static str,
    /// Such as `200` or `503 home_unavailable`.
    pub(super) result: String,
    pub(super) started: Instant,
    pub(super) elapsed: Duration,
}

/// All observations; prints those with a new result, and others from time to time.
pub(super) struct Transcript {
    started: Instant,
    pub(super) lines: Vec<String>,
    pub(super) observations: Vec<Observation>,
    /// The result of each kind that was printed last, and when.
    printed: BTreeMap<&'static str, (String, Instant)>,
}

impl Transcript {
    /// Returns an empty transcript whose times are relative to `started`.
    pub(super) fn new(started: Instant) -> Self {
        Self {
            started,
            lines: Vec::new(),
            observations: Vec::new(),
            printed: BTreeMap::new(),
        }
    }

    /// Adds an observation.
    pub(super) fn add(&mut self, observation: Observation) {
        let at = observation.started + observation.elapsed;
        let printed = self.printed.get(observation.what);
        let is_known = printed.is_some_and(|(result, printed_at)| {
            *result == observation.result && at.duration_since(*printed_at) < REPEATED
        });
        if !is_known {
            let milliseconds = observation.elapsed.as_secs_f64() * 1_000.0;
            let Observation { what, result, .. } = &observation;
            self.note(
                at,
                &format!("{what:<24} {result:<36} {milliseconds:>8.1} ms"),
            );
            let result = (observation.result.clone(), at);
            self.printed.insert(observation.what, result);
        }
        self.observations.push(observation);
    }

    /// Adds a line.
    pub(super) fn note(&mut self, at: Instant, text: &str) {
        // Before the cut, times are negative.
        let seconds = if at < self.started {
            -self.started.duration_since(at).as_secs_f64()
        } else {
            at.duration_since(self.started).as_secs_f64()
        };
        let line = format!("{seconds:>+7.2} s  {text}");
        println!("{line}");
        self.lines.push(line);
    }

    /// The observations of a kind that started at a time.
    pub(super) fn of(
        &self,
        what: &'static str,
        time: std::ops::Range<Instant>,
    ) -> impl Iterator<Item = &Observation> {
        let observations = self.observations.iter();
        observations.filter(move |it| it.what == what && time.contains(&it.started))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_new_results_and_repeats_old_ones_from_time_to_time() {
        let started = Instant::now();
        let mut transcript = Transcript::new(started);
        for (second, result) in [(0, "200"), (1, "200"), (2, "503"), (3, "503"), (13, "503")] {
            transcript.add(Observation {
                what: "read",
                result: result.to_owned(),
                started: started + Duration::from_secs(second),
                elapsed: Duration::ZERO,
            });
        }
        let times = transcript.lines.iter().map(|line| line.split('.').next());
        let times: Vec<_> = times.map(|time| time.unwrap_or_default().trim()).collect();
        assert_eq!(times, ["+0", "+2", "+13"]);
        let second = started + Duration::from_secs(2)..started + Duration::from_secs(4);
        assert_eq!(transcript.of("read", second).count(), 2);
    }
}
