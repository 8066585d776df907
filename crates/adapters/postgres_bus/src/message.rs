//! The messages on the channel.

use ports::Signal;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

/// The maximum length of a message, in bytes. Postgres rejects 8,000 and more.
const MAX_BYTES: usize = 7_900;
/// The maximum length of the members beside the signals.
const ENVELOPE_BYTES: usize = 120;

/// A received message.
#[derive(Debug, Deserialize)]
pub(crate) struct Message {
    /// The process that sent it, by a random id.
    pub(crate) process: Uuid,
    /// Counts the messages of the process.
    pub(crate) number: u64,
    signals: Vec<Value>,
}

impl Message {
    /// Reads a message; `None` if it is of an unknown form.
    pub(crate) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The signals that this version knows.
    pub(crate) fn signals(self) -> impl Iterator<Item = Signal> {
        let known = |signal| serde_json::from_value(signal).ok();
        self.signals.into_iter().filter_map(known)
    }
}

/// Writes the messages of one process.
pub(crate) struct MessageWriter {
    process: Uuid,
    next: u64,
}

impl MessageWriter {
    pub(crate) const fn new(process: Uuid) -> Self {
        Self { process, next: 0 }
    }

    /// Writes `signals` into as few messages as possible, and at least one. A signal that exceeds the
    /// length of a message is dropped.
    pub(crate) fn write(&mut self, signals: &[Signal]) -> Vec<String> {
        let (mut messages, mut joined) = (Vec::new(), String::new());
        for signal in signals {
            let text = serde_json::to_string(signal).unwrap_or_default();
            if text.is_empty() || text.len() > MAX_BYTES - ENVELOPE_BYTES {
                metrics::counter!("bus_signals_dropped").increment(1);
                continue;
            }
            if joined.len() + text.len() > MAX_BYTES - ENVELOPE_BYTES {
                messages.push(self.message(&joined));
                joined.clear();
            }
            if !joined.is_empty() {
                joined.push(',');
            }
            joined.push_str(&text);
        }
        messages.push(self.message(&joined));
        messages
    }

    fn message(&mut self, signals: &str) -> String {
        let (process, number) = (self.process, self.next);
        self.next += 1;
        format!(r#"{{"process":"{process}","number":{number},"signals":[{signals}]}}"#)
    }
}

#[cfg(test)]
mod tests {
    use domain::Seq;

    use super::*;

    fn appended(tenant: &str) -> Signal {
        Signal::LogAppended {
            tenant: tenant.parse().unwrap(),
            head: Seq(i64::MAX),
        }
    }

    #[test]
    fn many_signals_are_split_into_messages_that_postgres_accepts() {
        let signals: Vec<_> = (0..500).map(|i| appended(&format!("tenant-{i}"))).collect();
        let messages = MessageWriter::new(Uuid::max()).write(&signals);
        assert!(messages.len() > 1);
        assert!(messages.iter().all(|message| message.len() <= MAX_BYTES));
        let read = messages.iter().map(|text| Message::read(text).unwrap());
        let numbers: Vec<_> = read.map(|message| message.number).collect();
        assert_eq!(numbers, (0..).take(messages.len()).collect::<Vec<_>>());
        let read = messages.iter().map(|text| Message::read(text).unwrap());
        assert_eq!(read.flat_map(Message::signals).collect::<Vec<_>>(), signals);
    }

    #[test]
    fn no_signals_make_one_message() {
        let messages = MessageWriter::new(Uuid::nil()).write(&[]);
        assert_eq!(messages.len(), 1);
        assert_eq!(Message::read(&messages[0]).unwrap().signals().count(), 0);
    }

    #[test]
    fn signals_and_members_of_later_versions_are_ignored() {
        let text = r#"{"process":"00000000-0000-0000-0000-000000000000","number":1,"new":1,
            "signals":[{"type":"later"},{"type":"logAppended","tenant":"a","head":5,"new":1},7]}"#;
        let signals: Vec<_> = Message::read(text).unwrap().signals().collect();
        let tenant = "a".parse().unwrap();
        assert_eq!(
            signals,
            [Signal::LogAppended {
                tenant,
                head: Seq(5)
            }]
        );
        assert!(Message::read("{}").is_none());
    }
}
