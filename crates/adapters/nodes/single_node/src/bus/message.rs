//! The messages between processes.

use ports::Signal;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

/// The maximum length of a message beside the text of its signals or of its fragment.
const ENVELOPE_BYTES: usize = 131;
/// The maximum length of a signal, which is sent in several messages.
const MAX_SIGNAL_BYTES: usize = 4 * 1024 * 1024;

/// A received message.
#[derive(Debug, Clone, Deserialize)]
pub struct Message {
    /// The process that sent it, by a random id.
    pub process: Uuid,
    /// Counts the messages of the process.
    pub number: u64,
    #[serde(default)]
    signals: Vec<Value>,
    #[serde(default)]
    fragment: Option<Fragment>,
}

/// A fragment of a signal that exceeds a message. The others are in the messages before and after.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fragment {
    text: String,
    is_last: bool,
}

/// The fragments of a signal that have arrived from one process.
#[derive(Debug, Default)]
pub(crate) struct Fragments(String);

impl Fragments {
    /// Adds the content of the next message, and returns its complete signals. `is_next` is false if
    /// messages between the last one and this were lost.
    pub(crate) fn add(&mut self, message: Message, is_next: bool) -> Vec<Signal> {
        if !is_next {
            self.0.clear();
        }
        let mut signals = known(message.signals);
        let Some(fragment) = message.fragment else {
            return signals;
        };
        self.0.push_str(&fragment.text);
        if fragment.is_last {
            // Without its first fragment, the rest of a signal is not valid JSON.
            signals.extend(serde_json::from_str(&self.0).ok());
        }
        if fragment.is_last || self.0.len() > MAX_SIGNAL_BYTES {
            self.0 = String::new();
        }
        signals
    }

    /// Returns true if a signal is incomplete.
    pub(crate) fn has_any(&self) -> bool {
        !self.0.is_empty()
    }
}

impl Message {
    /// Returns the whole signals of the message. Fragments are ignored.
    pub fn into_signals(self) -> Vec<Signal> {
        known(self.signals)
    }

    /// Reads a message; `None` if it is of an unknown form.
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// Writes the messages of one process.
pub struct MessageWriter {
    process: Uuid,
    /// The maximum length of the content of a message, in bytes.
    max_content: usize,
    next: u64,
}

impl MessageWriter {
    /// Creates the writer of a process, for messages of at most `max_bytes`.
    pub const fn new(process: Uuid, max_bytes: usize) -> Self {
        Self {
            process,
            max_content: max_bytes.saturating_sub(ENVELOPE_BYTES),
            next: 0,
        }
    }

    /// Writes `signals` into as few messages as possible, and at least one. A signal that exceeds a
    /// message is split.
    pub fn write<'a>(&mut self, signals: impl IntoIterator<Item = &'a Signal>) -> Vec<String> {
        let (mut messages, mut joined) = (Vec::new(), String::new());
        for signal in signals {
            let text = serde_json::to_string(signal).unwrap_or_default();
            if text.is_empty() || text.len() > MAX_SIGNAL_BYTES {
                metrics::counter!("bus_signals_dropped").increment(1);
                continue;
            }
            if joined.len() + text.len() > self.max_content && !joined.is_empty() {
                messages.push(self.message(&joined));
                joined.clear();
            }
            if text.len() > self.max_content {
                self.split(&text, &mut messages);
                continue;
            }
            if !joined.is_empty() {
                joined.push(',');
            }
            joined.push_str(&text);
        }
        messages.push(self.message(&joined));
        messages
    }

    /// The number of the last message; `None` before the first.
    pub const fn last_number(&self) -> Option<u64> {
        self.next.checked_sub(1)
    }

    fn message(&mut self, signals: &str) -> String {
        self.envelope(&format!(r#""signals":[{signals}]"#))
    }

    /// Writes a signal into several messages.
    fn split(&mut self, mut text: &str, messages: &mut Vec<String>) {
        while !text.is_empty() {
            let (fragment, rest) = text.split_at(fitting(text, self.max_content));
            let (is_last, fragment) = (rest.is_empty(), Value::from(fragment));
            // The first version that exchanged messages requires `signals`.
            let content =
                format!(r#""signals":[],"fragment":{{"text":{fragment},"isLast":{is_last}}}"#);
            messages.push(self.envelope(&content));
            text = rest;
        }
    }

    fn envelope(&mut self, content: &str) -> String {
        let (process, number) = (self.process, self.next);
        self.next += 1;
        format!(r#"{{"process":"{process}","number":{number},{content}}}"#)
    }
}

/// Returns the signals of known types.
fn known(signals: Vec<Value>) -> Vec<Signal> {
    let signals = signals.into_iter();
    signals
        .filter_map(|signal| serde_json::from_value(signal).ok())
        .collect()
}

/// Returns the length of the longest beginning of JSON that fits into a message as a string.
fn fitting(json: &str, max_bytes: usize) -> usize {
    let mut bytes = 0;
    let exceeds = |&(_, character): &(usize, char)| {
        // JSON contains no control characters.
        bytes += character.len_utf8() + usize::from(matches!(character, '"' | '\\'));
        bytes > max_bytes
    };
    json.char_indices()
        .find(exceeds)
        .map_or(json.len(), |(end, _)| end)
}

#[cfg(test)]
mod tests;
