//! The event log, as a client reads it, and the history of each turn.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use dev_load::{
    Endpoint,
    http::{ApiClient, Method},
};
use serde_json::Value;

/// The event log as far as it was read.
#[derive(Default)]
pub(super) struct EventLog {
    /// The position of the last event.
    pub(super) head: i64,
    /// Positions that are not 1, 2, 3 …
    pub(super) gaps: Vec<String>,
    pub(super) turns: BTreeMap<String, TurnHistory>,
    /// The agents of conversations.
    pub(super) conversations: BTreeMap<String, String>,
}

/// The history of a turn.
#[derive(Debug, Default)]
pub(super) struct TurnHistory {
    pub(super) conversation: String,
    /// The types of its events in order, without `turn.`.
    pub(super) steps: Vec<String>,
    /// The message of the user, once the turn has started. A turn that retries a failed one has it
    /// too, although it stores no message.
    pub(super) message: String,
    pub(super) reply: Option<String>,
}

impl TurnHistory {
    /// Returns true if the turn is final.
    pub(super) fn is_final(&self) -> bool {
        let last = self.steps.last().map(String::as_str);
        matches!(last, Some("completed" | "failed" | "cancelled"))
    }

    /// Returns true if the turn is completed.
    pub(super) fn is_completed(&self) -> bool {
        self.steps.last().is_some_and(|step| step == "completed")
    }

    /// Returns true if its events have a valid order.
    fn is_sound(&self) -> bool {
        let steps: Vec<&str> = self.steps.iter().map(String::as_str).collect();
        let rest_of_turn = match steps.as_slice() {
            ["queued", "started", rest @ ..] | ["started", rest @ ..] => rest,
            ["queued"] | ["queued", "failed" | "cancelled"] => return true,
            _ => return false,
        };
        // It may change its process, or wait for answers, any number of times.
        let goes_on = |step: &&&str| matches!(**step, "resumed" | "requires_action");
        let end = &rest_of_turn[rest_of_turn.iter().take_while(goes_on).count()..];
        matches!(end, [] | ["completed" | "failed" | "cancelled"])
    }
}

impl EventLog {
    /// Reads the events that were added since the last call.
    pub(super) async fn read_on(&mut self, endpoint: &Endpoint) -> Result<()> {
        let client = ApiClient::new(endpoint);
        loop {
            let path = format!("/api/events?since={}&limit=100", self.head);
            let page = client.call(Method::GET, &path, None).await?;
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
            self.gaps
                .push(format!("{} is followed by {seq}", self.head));
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
        let turn = self.turns.entry(text(&event["turnId"])).or_default();
        turn.conversation = conversation;
        turn.steps.push(step.to_owned());
        let content = &event["data"]["message"]["content"];
        match step {
            "started" => turn.message = text(&event["data"]["turn"]["input"]),
            "completed" => turn.reply = content.as_str().map(str::to_owned),
            _ => {}
        }
    }

    /// Turns whose events have an invalid order.
    pub(super) fn unsound(&self) -> Vec<String> {
        let unsound = self.turns.iter().filter(|(_, turn)| !turn.is_sound());
        unsound
            .map(|(id, turn)| format!("turn {id}: {:?}", turn.steps))
            .collect()
    }

    /// Turns that are not final.
    pub(super) fn unfinished(&self) -> Vec<String> {
        let unfinished = self.turns.iter().filter(|(_, turn)| !turn.is_final());
        unfinished.map(|(turn, _)| turn.clone()).collect()
    }

    /// The turns whose message contains `tag`.
    pub(super) fn turns_with<'l>(
        &'l self,
        tag: &'l str,
    ) -> impl Iterator<Item = (&'l String, &'l TurnHistory)> {
        let turns = self.turns.iter();
        turns.filter(move |(_, turn)| turn.message.contains(tag))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn log(events: &[(i64, &str)]) -> EventLog {
        let mut log = EventLog::default();
        for (seq, kind) in events {
            log.add(&json!({
                "seq": seq, "type": format!("turn.{kind}"), "turnId": "t", "conversationId": "c",
                "data": {"turn": {"input": kind}, "message": {"content": kind}},
            }));
        }
        log
    }

    #[test]
    fn reads_a_turn_from_its_first_to_its_last_event() {
        let log = log(&[(1, "queued"), (2, "started"), (3, "completed")]);
        let turn = &log.turns["t"];
        assert!(turn.is_completed() && turn.is_final());
        assert_eq!(turn.message, "started");
        assert_eq!(turn.reply.as_deref(), Some("completed"));
        assert_eq!(log.turns_with("start").count(), 1);
        assert!(log.gaps.is_empty() && log.unsound().is_empty() && log.unfinished().is_empty());
    }

    #[test]
    fn a_turn_may_go_on_elsewhere_and_wait() {
        let steps = [
            "started",
            "resumed",
            "requires_action",
            "resumed",
            "completed",
        ];
        let events: Vec<_> = (1..).zip(steps).collect();
        assert!(log(&events).unsound().is_empty());
        assert_eq!(log(&events[1..]).unsound().len(), 1);
    }

    #[test]
    fn finds_gaps_and_repetitions() {
        assert_eq!(log(&[(1, "started"), (3, "failed")]).gaps.len(), 1);
        assert_eq!(log(&[(1, "started"), (1, "failed")]).gaps.len(), 1);
    }

    #[test]
    fn finds_turns_without_an_end_and_with_two_ends() {
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
