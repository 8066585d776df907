//! Single chats during an outage of the store, and the judgement of their outcomes.

use std::time::Duration;

use dev_load::Endpoint;
use tokio::{
    task::JoinSet,
    time::{Instant, interval},
};

use super::{
    chat::{Agent, Chat, Outcome, ResponseMode, TIMEOUT},
    report::Report,
};

/// The pause between two probes.
const PROBE_INTERVAL: Duration = Duration::from_millis(100);
/// The longest time until a new request is rejected as `store_unavailable`.
const REJECTION: Duration = Duration::from_secs(5);
/// The longest time from the end of the outage to full service.
const RECOVERY: Duration = Duration::from_secs(5);
/// The tolerance for a busy machine.
const SLACK: Duration = Duration::from_millis(500);

/// A chat that is sent once, with its outcome.
#[derive(Debug)]
pub(super) struct Probe {
    sent_at: Instant,
    received_at: Instant,
    outcome: Outcome,
}

/// The times of an outage.
pub(super) struct Outage {
    /// From now on no write succeeds.
    pub(super) started: Instant,
    /// From now on some writes succeed.
    pub(super) ending: Instant,
    /// From now on all writes succeed.
    pub(super) ended: Instant,
    /// True if every write failed meanwhile.
    pub(super) is_total: bool,
}

/// Sends probes to an agent with rules for `duration`, each in a new conversation.
pub(super) fn start(
    endpoint: &Endpoint,
    agent: &str,
    name: &str,
    duration: Duration,
) -> JoinSet<Vec<Probe>> {
    let (endpoint, agent, name) = (endpoint.clone(), agent.to_owned(), name.to_owned());
    let mut task = JoinSet::new();
    task.spawn(async move {
        let end = Instant::now() + duration;
        let (mut probes, mut ticks) = (JoinSet::new(), interval(PROBE_INTERVAL));
        while Instant::now() < end {
            ticks.tick().await;
            let endpoint = endpoint.clone();
            let chat = Chat {
                tag: format!("{name}-probe-{:06}", probes.len()),
                agent: Agent::Rules(agent.clone()),
                conversation: None,
                key: None,
                response_mode: ResponseMode::Full,
            };
            probes.spawn(async move {
                let sent_at = Instant::now();
                let outcome = chat.send(&endpoint, TIMEOUT).await;
                Probe {
                    sent_at,
                    received_at: Instant::now(),
                    outcome,
                }
            });
        }
        probes.join_all().await
    });
    task
}

impl Outage {
    /// Checks that every probe had the right outcome in time.
    pub(super) fn judge(&self, probes: &[Probe], report: &mut Report) {
        let is_during =
            |probe: &Probe| probe.sent_at >= self.started && probe.received_at < self.ending;
        let unavailable = probes
            .iter()
            .filter(|probe| is_during(probe) && is_store_unavailable(&probe.outcome));
        report.count("reported unavailable", unavailable.clone().count());
        if unavailable.count() == 0 {
            report.record_loss("not rejected", || {
                "no probe was rejected as store_unavailable".into()
            });
        }
        let is_expected = |probe: &&Probe| match probe.outcome {
            Outcome::Replied(_) => !self.is_total || !is_during(probe),
            _ => is_store_unavailable(&probe.outcome),
        };
        for other in probes.iter().filter(|probe| !is_expected(probe)) {
            report.record_loss("other errors", || format!("{:?}", other.outcome));
        }
        let during = probes
            .iter()
            .filter(|probe| probe.sent_at >= self.started && probe.sent_at < self.ending);
        let slowest = during.map(|probe| probe.received_at - probe.sent_at).max();
        check_duration(report, "slowest rejection", slowest, REJECTION);
        let later = probes
            .iter()
            .filter(|probe| probe.received_at >= self.ended);
        let (replied, rejected): (Vec<&Probe>, Vec<&Probe>) =
            later.partition(|probe| matches!(probe.outcome, Outcome::Replied(_)));
        let first = replied.iter().map(|probe| probe.received_at).min();
        let last_rejected = rejected.iter().map(|probe| probe.received_at).max();
        let recovered = first.map(|first| first.max(last_rejected.unwrap_or(first)) - self.ended);
        check_duration(report, "recovery", recovered, RECOVERY);
    }
}

/// A missing value counts as too late.
fn check_duration(report: &mut Report, name: &'static str, took: Option<Duration>, most: Duration) {
    let took = took.map_or(f64::INFINITY, |took| took.as_secs_f64());
    report.add_bounded(name, took, "s", (most + SLACK).as_secs_f64());
}

fn is_store_unavailable(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Rejected { status: 503, code, .. } if code == "store_unavailable")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::TurnRef;

    fn replied() -> Outcome {
        Outcome::Replied(TurnRef {
            turn: String::new(),
            conversation: String::new(),
        })
    }

    fn rejected(code: &str) -> Outcome {
        Outcome::Rejected {
            status: 503,
            code: code.to_owned(),
            retryable: true,
        }
    }

    /// Judges an outage from 1 s to 3 s with these probes: times of request and response in
    /// milliseconds, and the outcome.
    fn has_held(sent_at: &[(u64, u64, Outcome)]) -> bool {
        let epoch = Instant::now();
        let at = |milliseconds| epoch + Duration::from_millis(milliseconds);
        let probes: Vec<Probe> = sent_at
            .iter()
            .map(|(sent_at, received_at, outcome)| Probe {
                sent_at: at(*sent_at),
                received_at: at(*received_at),
                outcome: outcome.clone(),
            })
            .collect();
        let mut report = Report::new("F2", "");
        let outage = Outage {
            started: at(1_000),
            ending: at(3_000),
            ended: at(3_100),
            is_total: true,
        };
        outage.judge(&probes, &mut report);
        report.has_no_loss()
    }

    #[test]
    fn rejections_and_recovery_in_time_are_no_loss() {
        let unavailable = || rejected("store_unavailable");
        assert!(has_held(&[
            (0, 10, replied()),
            (1_500, 2_500, unavailable()),
            (2_500, 3_500, unavailable()),
            (4_000, 4_100, replied()),
        ]));
    }

    #[test]
    fn other_errors_late_rejections_and_late_recovery_are_found() {
        let unavailable = || rejected("store_unavailable");
        assert!(!has_held(&[
            (1_500, 2_500, rejected("overloaded")),
            (4_000, 4_100, replied()),
        ]));
        assert!(!has_held(&[
            (1_500, 8_500, unavailable()),
            (4_000, 4_100, replied()),
        ]));
        assert!(!has_held(&[
            (1_500, 2_500, unavailable()),
            (9_000, 9_100, replied()),
        ]));
        assert!(!has_held(&[
            (1_500, 2_500, unavailable()),
            (1_500, 2_500, replied()),
            (4_000, 4_100, replied()),
        ]));
        assert!(
            !has_held(&[(4_000, 4_100, replied())]),
            "no outage was reported"
        );
    }
}
