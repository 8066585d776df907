//! The lines of an export.

use std::collections::BTreeMap;

use application::exports::ExportPart;
use domain::{Message, Role};
use kit::lines::Lines;
use serde::Serialize;

/// The form of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// A line for each resource, with its type, and one at the end.
    Resources,
    /// A line for each conversation that has messages.
    OpenAi,
}

/// Writes the lines of an export.
pub(super) struct ExportLines {
    format: Format,
    counts: BTreeMap<&'static str, u64>,
    /// True while the line of a conversation is not complete.
    is_open: bool,
    is_finished: bool,
}

#[derive(Serialize)]
struct End<'a> {
    counts: &'a BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
struct OpenAiMessage<'a> {
    role: &'static str,
    content: &'a str,
}

impl ExportLines {
    /// Begins an export.
    pub(super) const fn new(format: Format) -> Self {
        Self {
            format,
            counts: BTreeMap::new(),
            is_open: false,
            is_finished: false,
        }
    }

    /// Returns the lines of a part.
    pub(super) fn write(&mut self, part: ExportPart) -> Lines {
        let mut lines = Lines::default();
        match (self.format, part) {
            (Format::Resources, ExportPart::User(user)) => self.push(&mut lines, "user", &[&*user]),
            (Format::Resources, ExportPart::Conversation(conversation)) => {
                self.push(&mut lines, "conversation", &[&*conversation]);
            }
            (Format::Resources, ExportPart::Messages(messages)) => {
                self.push(&mut lines, "message", &messages);
            }
            (Format::Resources, ExportPart::Turns(turns)) => self.push(&mut lines, "turn", &turns),
            (Format::Resources, ExportPart::Notes(notes)) => self.push(&mut lines, "note", &notes),
            (Format::OpenAi, ExportPart::Conversation(_)) => self.close(&mut lines),
            (Format::OpenAi, ExportPart::Messages(messages)) => {
                for message in &messages {
                    self.push_openai(&mut lines, message);
                }
            }
            (Format::OpenAi, ExportPart::User(_) | ExportPart::Turns(_) | ExportPart::Notes(_)) => {
            }
        }
        lines
    }

    /// Returns what follows the last part. Only the first call returns it.
    pub(super) fn finish(&mut self) -> Option<Lines> {
        if std::mem::replace(&mut self.is_finished, true) {
            return None;
        }
        let mut lines = Lines::default();
        match self.format {
            Format::Resources => {
                let counts = &self.counts;
                lines.push("end", &End { counts });
            }
            Format::OpenAi => self.close(&mut lines),
        }
        (!lines.is_empty()).then_some(lines)
    }

    fn push<T: Serialize>(&mut self, lines: &mut Lines, kind: &'static str, resources: &[T]) {
        for resource in resources {
            lines.push(kind, resource);
            *self.counts.entry(kind).or_default() += 1;
        }
    }

    fn push_openai(&mut self, lines: &mut Lines, message: &Message) {
        let role = match message.role {
            Role::User => "user",
            Role::Agent => "assistant",
            // Readers of this format know no others.
            Role::Other(_) => return,
        };
        lines.push_text(if self.is_open { "," } else { "{\"messages\":[" });
        self.is_open = true;
        lines.push_json(&OpenAiMessage {
            role,
            content: &message.content,
        });
    }

    fn close(&mut self, lines: &mut Lines) {
        if self.is_open {
            lines.push_text("]}\n");
            self.is_open = false;
        }
    }
}
