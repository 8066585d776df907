//! The event log, as a client reads it, and what it tells of each turn.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::rig::load::{Connection, Endpoint};

/// What the log tells.
#[derive(Default)]
pub(super) struct Log {
    /// The position of the last event that was read.
    pub(super) head: i64,
    /// Places where the positions are not 1, 2, 3 …
    pub(super) gaps: Vec<String>,
    pub(super) turns: BTreeMap<String, Story>,
    /// Conversations, and with whom.
    pub(super) conversations: BTreeMap<String, String>,
}

/// What the log tells of a turn.
#[derive(Debug, Default)]
pub(super) struct Story {
    pub(super) conversation: String,
    /// The types of its events without `turn.`, in order.
    pub(super) steps: Vec<String>,
    /// What the user said, once the turn had started.
    pub(super) question: String,
    pub(super) reply: Option<String>,
}

impl Story {
    /// Whether nothing more may come.
    pub(super) fn is_final(&self) -> bool {
        let last = self.steps.last().map(String::as_str);
        matches!(last, Some("completed" | "failed" | "cancelled"))
    }

    /// Whether the agent answered.
    pub(super) fn is_completed(&self) -> bool {
        self.steps.last().is_some_and(|step| step == "completed")
    }

    /// Whether its events come in an order that is possible, each once.
    fn is_sound(&self) -> bool {
        let steps: Vec<&str> = self.steps.iter().map(String::as_str).collect();
        let begun = match steps.as_slice() {
            ["queued", "started", rest @ ..] | ["started", rest @ ..] => rest,
            ["queued"] | ["queued", "failed" | "cancelled"] => return true,
            _ => return false,
        };
        matches!(begun, [] | ["completed" | "failed" | "cancelled"])
    }
}

impl Log {
    /// Reads what was added since.
    pub(super) async fn read_on(&mut self, endpoint: &Endpoint) -> Result<()> {
        let mut connection = Connection::open(endpoint.address).await?;
        loop {
            let path = format!("/api/events?since={}&limit=100", self.head);
            let page = endpoint.call(&mut connection, "GET", &path, None).await?;
            for event in page["data"].as_array().context("a page without data")? {
                self.add(event);
            }
            if page["hasMore"] != true {
                return Ok(());
            }
        }
    }

    fn add(&mut self, event: &Value) {
        let seq = event["seq"].as_i64().unwrap_or_default();
        if seq != self.head + 1 {
            self.gaps.push(format!("after {} comes {seq}", self.head));
        }
        self.head = seq;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let conversation = text(&event["conversationId"]);
        if !conversation.is_empty() {
            let agent = text(&event["agentId"]);
            self.conversations.insert(conversation.clone(), agent);
        }
        let kind = text(&event["type"]);
        let Some(step) = kind.strip_prefix("turn.") else {
            return;
        };
        let story = self.turns.entry(text(&event["turnId"])).or_default();
        story.conversation = conversation;
        story.steps.push(step.to_owned());
        let content = &event["data"]["message"]["content"];
        match step {
            "started" => story.question = text(content),
            "completed" => story.reply = content.as_str().map(str::to_owned),
            _ => {}
        }
    }

    /// Turns whose events cannot have come so.
    pub(super) fn unsound(&self) -> Vec<String> {
        let unsound = self.turns.iter().filter(|(_, story)| !story.is_sound());
        unsound
            .map(|(turn, story)| format!("turn {turn}: {:?}", story.steps))
            .collect()
    }

    /// Turns that have not come to their end.
    pub(super) fn unfinished(&self) -> Vec<String> {
        let unfinished = self.turns.iter().filter(|(_, story)| !story.is_final());
        unfinished.map(|(turn, _)| turn.clone()).collect()
    }

    /// The turns in which somebody said this.
    pub(super) fn asked<'l>(
        &'l self,
        tag: &'l str,
    ) -> impl Iterator<Item = (&'l String, &'l Story)> {
        let turns = self.turns.iter();
        turns.filter(move |(_, story)| story.question.contains(tag))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn log(events: &[(i64, &str)]) -> Log {
        let mut log = Log::default();
        for (seq, kind) in events {
            log.add(&json!({
                "seq": seq, "type": format!("turn.{kind}"), "turnId": "t", "conversationId": "c",
                "data": {"message": {"content": kind}},
            }));
        }
        log
    }

    #[test]
    fn tells_a_turn_from_its_beginning_to_its_end() {
        let log = log(&[(1, "queued"), (2, "started"), (3, "completed")]);
        let story = &log.turns["t"];
        assert!(story.is_completed() && story.is_final());
        assert_eq!(story.question, "started");
        assert_eq!(story.reply.as_deref(), Some("completed"));
        assert_eq!(log.asked("start").count(), 1);
        assert!(log.gaps.is_empty() && log.unsound().is_empty() && log.unfinished().is_empty());
    }

    #[test]
    fn finds_holes_and_repetitions() {
        assert_eq!(log(&[(1, "started"), (3, "failed")]).gaps.len(), 1);
        assert_eq!(log(&[(1, "started"), (1, "failed")]).gaps.len(), 1);
    }

    #[test]
    fn finds_turns_that_do_not_end_and_those_that_end_twice() {
        assert_eq!(log(&[(1, "queued"), (2, "started")]).unfinished(), ["t"]);
        for steps in [
            &[(1, "started"), (2, "completed"), (3, "failed")][..],
            &[(1, "completed")],
            &[(1, "queued"), (2, "completed")],
            &[(1, "started"), (2, "started")],
        ] {
            assert_eq!(log(steps).unsound().len(), 1, "{steps:?}");
        }
    }
}
