//! Whether a log tells exactly what was done.

use std::collections::HashMap;

use super::{
    deed::{Deed, EventName},
    log::Logged,
};

/// Everything that is wrong with `log`, given what was acknowledged.
pub(super) fn faults(deeds: &[Deed], log: &[Logged]) -> Vec<String> {
    let mut faults = holes(log);
    let mut places: HashMap<&EventName, i64> =
        log.iter().map(|event| (&event.name, event.seq)).collect();
    let mut spans = Vec::with_capacity(deeds.len());
    for deed in deeds {
        let found: Vec<i64> = deed
            .events
            .iter()
            .filter_map(|name| places.remove(name))
            .collect();
        if found.len() < deed.events.len() {
            faults.push(format!("events are missing of: {deed:?}"));
        } else if found.windows(2).any(|pair| pair[1] != pair[0] + 1) {
            faults.push(format!("its events are apart, {found:?}: {deed:?}"));
        } else if let (Some(first), Some(last)) = (found.first(), found.last()) {
            spans.push((deed, *first, *last));
        }
    }
    // What is left was done by nobody.
    let strangers = places.into_iter();
    faults.extend(strangers.map(|(name, seq)| format!("event {seq} has no change: {name:?}")));
    faults.extend(disorder(&spans));
    faults.extend(leaps(log));
    faults
}

/// Places that are not 1, 2, 3 …
fn holes(log: &[Logged]) -> Vec<String> {
    (1..)
        .zip(log)
        .filter(|(place, event)| event.seq != *place)
        .map(|(place, event)| format!("event {} stands at place {place}", event.seq))
        .collect()
}

/// Changes that stand before others which had been acknowledged when they were asked for.
fn disorder(spans: &[(&Deed, i64, i64)]) -> Vec<String> {
    let mut by_start: Vec<_> = spans.iter().collect();
    by_start.sort_by_key(|(deed, ..)| deed.asked);
    let mut by_end = by_start.clone();
    by_end.sort_by_key(|(deed, ..)| deed.answered);
    let mut ended = by_end.into_iter().peekable();
    let mut newest = 0;
    let mut faults = Vec::new();
    for (deed, first, _) in by_start {
        while let Some((_, _, last)) = ended.next_if(|(before, ..)| before.answered < deed.asked) {
            newest = newest.max(*last);
        }
        if *first <= newest {
            faults.push(format!("stands before {newest}, which was there: {deed:?}"));
        }
    }
    faults
}

/// Versions of agents and places of messages that do not ascend by one.
fn leaps(log: &[Logged]) -> Vec<String> {
    let mut newest: HashMap<&str, i64> = HashMap::new();
    let mut faults = Vec::new();
    for (event, numbered) in log.iter().filter_map(|it| Some((it, it.number.as_ref()?))) {
        let before = newest.entry(&numbered.of).or_default();
        if numbered.number != *before + 1 {
            faults.push(format!("after number {before} comes: {event:?}"));
        }
        *before = numbered.number;
    }
    faults
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::bench::writers::log::Numbered;

    /// A change asked for at `from` and answered at `to`.
    fn deed(epoch: Instant, (from, to): (u64, u64), events: &[&str]) -> Deed {
        Deed {
            what: "change",
            events: events
                .iter()
                .map(|subject| EventName::only("made", subject))
                .collect(),
            asked: epoch + Duration::from_millis(from),
            answered: epoch + Duration::from_millis(to),
        }
    }

    fn event(seq: i64, subject: &str) -> Logged {
        Logged {
            seq,
            name: EventName::only("made", subject),
            number: None,
        }
    }

    fn two_deeds() -> [Deed; 2] {
        let epoch = Instant::now();
        [
            deed(epoch, (0, 1), &["a", "b"]),
            deed(epoch, (2, 3), &["c"]),
        ]
    }

    #[track_caller]
    fn assert_only_fault(faults: &[String], part: &str) {
        assert_eq!(faults.len(), 1, "{faults:#?}");
        assert!(faults[0].contains(part), "{faults:#?}");
    }

    #[test]
    fn a_whole_log_has_no_faults() {
        let log = [event(1, "a"), event(2, "b"), event(3, "c")];
        assert_eq!(faults(&two_deeds(), &log), Vec::<String>::new());
    }

    #[test]
    fn a_hole_is_found() {
        let log = [event(1, "a"), event(2, "b"), event(4, "c")];
        assert_only_fault(&faults(&two_deeds(), &log), "event 4 stands at place 3");
    }

    #[test]
    fn a_change_without_its_event_is_found() {
        let log = [event(1, "a"), event(2, "b")];
        assert_only_fault(&faults(&two_deeds(), &log), "events are missing");
    }

    #[test]
    fn an_event_without_its_change_is_found() {
        let log = [event(1, "a"), event(2, "b"), event(3, "c"), event(4, "d")];
        assert_only_fault(&faults(&two_deeds(), &log), "event 4 has no change");
    }

    #[test]
    fn events_of_one_change_that_are_apart_are_found() {
        let epoch = Instant::now();
        let deeds = [
            deed(epoch, (0, 3), &["a", "b"]),
            deed(epoch, (0, 3), &["c"]),
        ];
        let log = [event(1, "a"), event(2, "c"), event(3, "b")];
        assert_only_fault(&faults(&deeds, &log), "its events are apart");
    }

    #[test]
    fn a_change_before_one_that_was_acknowledged_earlier_is_found() {
        let log = [event(1, "c"), event(2, "a"), event(3, "b")];
        assert_only_fault(&faults(&two_deeds(), &log), "stands before 3");
    }

    #[test]
    fn a_number_that_leaps_is_found() {
        let numbered = |seq, number| Logged {
            number: Some(Numbered {
                of: "agent".to_owned(),
                number,
            }),
            ..event(seq, &format!("v{number}"))
        };
        let epoch = Instant::now();
        let deeds = [deed(epoch, (0, 1), &["v1"]), deed(epoch, (0, 1), &["v3"])];
        let log = [numbered(1, 1), numbered(2, 3)];
        assert_only_fault(&faults(&deeds, &log), "after number 1");
    }
}
