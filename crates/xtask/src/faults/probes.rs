//! Single questions while the store is away, and what becomes of them.

use std::time::Duration;

use tokio::{
    task::JoinSet,
    time::{Instant, interval},
};

use super::{
    chat::{Answer, Chat, Form, PATIENCE, Speaker},
    findings::Findings,
};
use crate::rig::load::Endpoint;

/// Between two questions.
const BETWEEN: Duration = Duration::from_millis(100);
/// Within this time a new request is told that the store is away.
const NOTICE: Duration = Duration::from_secs(5);
/// Within this time all is as before once the store is back.
const RECOVERY: Duration = Duration::from_secs(5);
/// The bounds of a client on a machine with other work: what it hears, it hears a little later.
const SLACK: Duration = Duration::from_millis(500);

/// A question that is asked once, and what came of it when.
#[derive(Debug)]
pub(super) struct Probe {
    asked: Instant,
    answered: Instant,
    answer: Answer,
}

/// When the store was away.
pub(super) struct Away {
    /// From now on nothing can be stored.
    pub(super) gone: Instant,
    /// From now on something may be stored again.
    pub(super) returning: Instant,
    /// From now on everything can be stored.
    pub(super) back: Instant,
    /// Whether nothing at all could be stored.
    pub(super) is_total: bool,
}

/// Asks an agent with rules so long, again and again, in a new conversation each time.
pub(super) fn begin(
    endpoint: &Endpoint,
    agent: &str,
    name: &str,
    duration: Duration,
) -> JoinSet<Vec<Probe>> {
    let (endpoint, agent, name) = (endpoint.clone(), agent.to_owned(), name.to_owned());
    let mut probing = JoinSet::new();
    probing.spawn(async move {
        let end = Instant::now() + duration;
        let (mut asking, mut ticks) = (JoinSet::new(), interval(BETWEEN));
        while Instant::now() < end {
            ticks.tick().await;
            let endpoint = endpoint.clone();
            let chat = Chat {
                tag: format!("{name}-probe-{:06}", asking.len()),
                speaker: Speaker::Rules(agent.clone()),
                conversation: None,
                key: None,
                form: Form::Whole,
            };
            asking.spawn(async move {
                let asked = Instant::now();
                let answer = chat.ask(&endpoint, PATIENCE).await;
                Probe {
                    asked,
                    answered: Instant::now(),
                    answer,
                }
            });
        }
        asking.join_all().await
    });
    probing
}

impl Away {
    /// Whether everybody was told in time, of the right thing and of nothing else.
    pub(super) fn judge(&self, probes: &[Probe], findings: &mut Findings) {
        let is_meanwhile =
            |probe: &Probe| probe.asked >= self.gone && probe.answered < self.returning;
        let told = probes
            .iter()
            .filter(|probe| is_meanwhile(probe) && is_store_unavailable(&probe.answer));
        findings.count("told meanwhile", told.clone().count());
        if told.count() == 0 {
            findings.lose("not refused", || {
                "nobody was told that the store is away".into()
            });
        }
        let is_well = |probe: &&Probe| match probe.answer {
            Answer::Replied(_) => !self.is_total || !is_meanwhile(probe),
            _ => is_store_unavailable(&probe.answer),
        };
        for other in probes.iter().filter(|probe| !is_well(probe)) {
            findings.lose("other errors", || format!("{:?}", other.answer));
        }
        let during = probes
            .iter()
            .filter(|probe| probe.asked >= self.gone && probe.asked < self.returning);
        let slowest = during.map(|probe| probe.answered - probe.asked).max();
        bound(findings, "slowest notice", slowest, NOTICE);
        let later = probes.iter().filter(|probe| probe.answered >= self.back);
        let (well, ill): (Vec<&Probe>, Vec<&Probe>) =
            later.partition(|probe| matches!(probe.answer, Answer::Replied(_)));
        let first = well.iter().map(|probe| probe.answered).min();
        let last_ill = ill.iter().map(|probe| probe.answered).max();
        let recovered = first.map(|first| first.max(last_ill.unwrap_or(first)) - self.back);
        bound(findings, "recovery", recovered, RECOVERY);
    }
}

/// Nothing at all is as bad as too late.
fn bound(findings: &mut Findings, what: &'static str, took: Option<Duration>, most: Duration) {
    let took = took.map_or(f64::INFINITY, |took| took.as_secs_f64());
    findings.bound(what, took, "s", (most + SLACK).as_secs_f64());
}

fn is_store_unavailable(answer: &Answer) -> bool {
    matches!(answer, Answer::Refused { status: 503, code, .. } if code == "store_unavailable")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::chat::Place;

    fn replied() -> Answer {
        Answer::Replied(Place {
            turn: String::new(),
            conversation: String::new(),
        })
    }

    fn refused(code: &str) -> Answer {
        Answer::Refused {
            status: 503,
            code: code.to_owned(),
            retryable: true,
        }
    }

    /// What is found when the store was away from 1 s to 3 s and these were asked and answered, in
    /// milliseconds.
    fn has_held(asked: &[(u64, u64, Answer)]) -> bool {
        let epoch = Instant::now();
        let at = |milliseconds| epoch + Duration::from_millis(milliseconds);
        let probes: Vec<Probe> = asked
            .iter()
            .map(|(asked, answered, answer)| Probe {
                asked: at(*asked),
                answered: at(*answered),
                answer: answer.clone(),
            })
            .collect();
        let mut findings = Findings::of("F2", "");
        let away = Away {
            gone: at(1_000),
            returning: at(3_000),
            back: at(3_100),
            is_total: true,
        };
        away.judge(&probes, &mut findings);
        findings.has_held()
    }

    #[test]
    fn notice_and_recovery_in_time_are_well() {
        let unavailable = || refused("store_unavailable");
        assert!(has_held(&[
            (0, 10, replied()),
            (1_500, 2_500, unavailable()),
            (2_500, 3_500, unavailable()),
            (4_000, 4_100, replied()),
        ]));
    }

    #[test]
    fn other_errors_late_notice_and_late_recovery_are_found() {
        let unavailable = || refused("store_unavailable");
        assert!(!has_held(&[
            (1_500, 2_500, refused("overloaded")),
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
        assert!(!has_held(&[(4_000, 4_100, replied())]), "it was not away");
    }
}
