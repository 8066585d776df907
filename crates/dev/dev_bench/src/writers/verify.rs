//! Compares the event log with the acknowledged writes.

use std::collections::HashMap;

use super::{
    acknowledged_write::{AcknowledgedWrite, EventName},
    log::LogEntry,
};

/// Returns all violations in `log`, given the acknowledged writes.
pub(super) fn violations(writes: &[AcknowledgedWrite], log: &[LogEntry]) -> Vec<String> {
    let mut violations = gaps(log);
    let mut positions: HashMap<&EventName, i64> =
        log.iter().map(|event| (&event.name, event.seq)).collect();
    let mut spans = Vec::with_capacity(writes.len());
    for write in writes {
        let found: Vec<i64> = write
            .events
            .iter()
            .filter_map(|name| positions.remove(name))
            .collect();
        if found.len() < write.events.len() {
            violations.push(format!("events are missing of: {write:?}"));
        } else if found.windows(2).any(|pair| pair[1] != pair[0] + 1) {
            violations.push(format!(
                "its events are not consecutive, {found:?}: {write:?}"
            ));
        } else if let (Some(first), Some(last)) = (found.first(), found.last()) {
            spans.push((write, *first, *last));
        }
    }
    // The remaining events belong to no write.
    let extra = positions.into_iter();
    violations
        .extend(extra.map(|(name, seq)| format!("event {seq} belongs to no write: {name:?}")));
    violations.extend(misordered(&spans));
    violations.extend(skipped_numbers(log));
    violations
}

/// Positions that are not 1, 2, 3 …
fn gaps(log: &[LogEntry]) -> Vec<String> {
    (1..)
        .zip(log)
        .filter(|(position, event)| event.seq != *position)
        .map(|(position, event)| format!("event {} is at position {position}", event.seq))
        .collect()
}

/// Writes whose events precede those of a write that was acknowledged before they were sent.
fn misordered(spans: &[(&AcknowledgedWrite, i64, i64)]) -> Vec<String> {
    let mut by_start: Vec<_> = spans.iter().collect();
    by_start.sort_by_key(|(write, ..)| write.sent_at);
    let mut by_end = by_start.clone();
    by_end.sort_by_key(|(write, ..)| write.acknowledged_at);
    let mut ended = by_end.into_iter().peekable();
    let mut newest = 0;
    let mut violations = Vec::new();
    for (write, first, _) in by_start {
        while let Some((_, _, last)) =
            ended.next_if(|(before, ..)| before.acknowledged_at < write.sent_at)
        {
            newest = newest.max(*last);
        }
        if *first <= newest {
            violations.push(format!("precedes event {newest}, which existed: {write:?}"));
        }
    }
    violations
}

/// Versions of agents and positions of messages that do not ascend by one.
fn skipped_numbers(log: &[LogEntry]) -> Vec<String> {
    let mut newest: HashMap<&str, i64> = HashMap::new();
    let mut violations = Vec::new();
    for (event, numbered) in log.iter().filter_map(|it| Some((it, it.number.as_ref()?))) {
        let before = newest.entry(&numbered.subject).or_default();
        if numbered.number != *before + 1 {
            violations.push(format!("number {before} is followed by {event:?}"));
        }
        *before = numbered.number;
    }
    violations
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::writers::log::SubjectNumber;

    /// Returns a write sent at `from` and acknowledged at `to`, in milliseconds.
    fn write(epoch: Instant, (from, to): (u64, u64), events: &[&str]) -> AcknowledgedWrite {
        AcknowledgedWrite {
            operation: "change",
            events: events
                .iter()
                .map(|subject| EventName::only("made", subject))
                .collect(),
            sent_at: epoch + Duration::from_millis(from),
            acknowledged_at: epoch + Duration::from_millis(to),
        }
    }

    fn event(seq: i64, subject: &str) -> LogEntry {
        LogEntry {
            seq,
            name: EventName::only("made", subject),
            number: None,
        }
    }

    fn two_deeds() -> [AcknowledgedWrite; 2] {
        let epoch = Instant::now();
        [
            write(epoch, (0, 1), &["a", "b"]),
            write(epoch, (2, 3), &["c"]),
        ]
    }

    #[track_caller]
    fn assert_only_fault(violations: &[String], part: &str) {
        assert_eq!(violations.len(), 1, "{violations:#?}");
        assert!(violations[0].contains(part), "{violations:#?}");
    }

    #[test]
    fn a_complete_log_has_no_violations() {
        let log = [event(1, "a"), event(2, "b"), event(3, "c")];
        assert_eq!(violations(&two_deeds(), &log), Vec::<String>::new());
    }

    #[test]
    fn a_gap_is_found() {
        let log = [event(1, "a"), event(2, "b"), event(4, "c")];
        assert_only_fault(&violations(&two_deeds(), &log), "event 4 is at position 3");
    }

    #[test]
    fn a_write_without_its_event_is_found() {
        let log = [event(1, "a"), event(2, "b")];
        assert_only_fault(&violations(&two_deeds(), &log), "events are missing");
    }

    #[test]
    fn an_event_without_its_write_is_found() {
        let log = [event(1, "a"), event(2, "b"), event(3, "c"), event(4, "d")];
        assert_only_fault(
            &violations(&two_deeds(), &log),
            "event 4 belongs to no write",
        );
    }

    #[test]
    fn events_of_one_write_that_are_not_consecutive_are_found() {
        let epoch = Instant::now();
        let writes = [
            write(epoch, (0, 3), &["a", "b"]),
            write(epoch, (0, 3), &["c"]),
        ];
        let log = [event(1, "a"), event(2, "c"), event(3, "b")];
        assert_only_fault(&violations(&writes, &log), "its events are not consecutive");
    }

    #[test]
    fn a_write_before_one_that_was_acknowledged_earlier_is_found() {
        let log = [event(1, "c"), event(2, "a"), event(3, "b")];
        assert_only_fault(&violations(&two_deeds(), &log), "precedes event 3");
    }

    #[test]
    fn a_skipped_number_is_found() {
        let numbered = |seq, number| LogEntry {
            number: Some(SubjectNumber {
                subject: "agent".to_owned(),
                number,
            }),
            ..event(seq, &format!("v{number}"))
        };
        let epoch = Instant::now();
        let writes = [write(epoch, (0, 1), &["v1"]), write(epoch, (0, 1), &["v3"])];
        let log = [numbered(1, 1), numbered(2, 3)];
        assert_only_fault(&violations(&writes, &log), "number 1 is followed by");
    }
}
