//! The audit: compares everything that clients received with the service's state. Any loss shows.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem::take,
};

use anyhow::{Context as _, Result};
use dev_load::{
    Endpoint,
    http::{ApiClient, Method, RequestError},
};
use serde_json::Value;

use super::{
    acknowledgements::Acknowledgements,
    event_log::{EventLog, TurnHistory},
    report::Report,
};

/// The losses that the audit counts.
const LOSSES: &[&str] = &[
    "lost",
    "doubled",
    "wrong",
    "gaps",
    "unsound",
    "unfinished",
    "unanswered",
];

/// Reads the event log and compares it with the acknowledgements and all other state.
pub(super) async fn run(
    endpoint: &Endpoint,
    all: &[Acknowledgements],
    report: &mut Report,
) -> Result<()> {
    run_with(endpoint, &mut EventLog::default(), all, report).await
}

/// The same with a log of which a part was already read and judged.
pub(super) async fn run_with(
    endpoint: &Endpoint,
    log: &mut EventLog,
    all: &[Acknowledgements],
    report: &mut Report,
) -> Result<()> {
    report.expect_no(LOSSES);
    log.read_on(endpoint).await?;
    report.record_losses("gaps", take(&mut log.gaps));
    report.record_losses("unsound", log.unsound());
    report.record_losses("unfinished", log.unfinished());
    let mut audit = Audit {
        client: ApiClient::new(endpoint),
        log,
        replies: BTreeMap::new(),
    };
    for conversation in audit.conversations(all) {
        audit.read_messages(&conversation, report).await?;
    }
    for acks in all {
        audit.check(acks, report).await?;
    }
    Ok(())
}

/// The state of the service.
struct Audit<'a> {
    client: ApiClient,
    log: &'a EventLog,
    /// The agents' messages by conversation and turn.
    replies: BTreeMap<(String, String), String>,
}

impl Audit<'_> {
    /// The conversations of all chats.
    fn conversations(&self, all: &[Acknowledgements]) -> BTreeSet<String> {
        let mut conversations = BTreeSet::new();
        for acks in all {
            let turns = acks.replied.iter().chain(&acks.accepted);
            conversations.extend(turns.map(|turn| turn.conversation.clone()));
            conversations.extend(acks.chat.conversation.clone());
            let logged = self.log.turns_with(&acks.chat.tag);
            conversations.extend(logged.map(|(_, turn)| turn.conversation.clone()));
        }
        conversations
    }

    async fn get(&self, path: &str) -> Result<Value> {
        self.client.call(Method::GET, path, None).await
    }

    async fn read_messages(&mut self, conversation: &str, report: &mut Report) -> Result<()> {
        let first = format!("/api/conversations/{conversation}/messages?limit=100");
        let (mut path, mut last) = (first.clone(), 0);
        loop {
            let page = self.get(&path).await?;
            for message in page["data"].as_array().context("a page without data")? {
                let seq = message["seq"].as_i64().unwrap_or_default();
                if seq != last + 1 {
                    report.record_loss("gaps", || {
                        format!("message {last} is followed by {message}")
                    });
                }
                last = seq;
                if message["role"] == "agent" {
                    let text = |name: &str| message[name].as_str().unwrap_or_default().to_owned();
                    let key = (conversation.to_owned(), text("turnId"));
                    if self.replies.insert(key, text("content")).is_some() {
                        report.record_loss("doubled", || format!("a second reply: {message}"));
                    }
                }
            }
            match page["nextCursor"].as_str() {
                Some(cursor) => path = format!("{first}&cursor={cursor}"),
                None => return Ok(()),
            }
        }
    }

    async fn check(&self, acks: &Acknowledgements, report: &mut Report) -> Result<()> {
        report.count("chats", 1);
        report.count("acknowledged", acks.replied.len().min(1));
        report.count("accepted", acks.accepted.len().min(1));
        report.count("repeats", acks.attempts.saturating_sub(1));
        for error in [RequestError::NoResponse, RequestError::Truncated] {
            let number = acks.failures.get(&error).copied().unwrap_or_default();
            report.count("incomplete responses", number);
        }
        for invalid in &acks.invalid {
            report.record_loss("wrong", || format!("{}: {invalid}", acks.chat.tag));
        }
        let logged: Vec<_> = self.log.turns_with(&acks.chat.tag).collect();
        self.check_at_most_once(acks, &logged, report);
        if let [first, rest @ ..] = acks.replied.as_slice() {
            if rest.iter().any(|turn| turn != first) {
                report.record_loss("doubled", || format!("several replies: {acks:?}"));
            }
            if !self
                .is_stored(acks, &first.turn, &first.conversation)
                .await?
            {
                report.record_loss("lost", || format!("{acks:?}, the log: {logged:?}"));
            }
        }
        for turn in &acks.accepted {
            let is_logged = self.log.turns.contains_key(&turn.turn);
            if !is_logged || self.status(&turn.turn).await?.is_empty() {
                report.record_loss("lost", || format!("no turn {} of {acks:?}", turn.turn));
            }
        }
        Ok(())
    }

    /// Checks that a key has one completed turn, and that a chat without a key ran once at most.
    fn check_at_most_once(
        &self,
        acks: &Acknowledgements,
        logged: &[(&String, &TurnHistory)],
        report: &mut Report,
    ) {
        let reply = acks.chat.reply();
        let completed = logged.iter().filter(|(_, turn)| turn.is_completed());
        let messages = self.replies.values().filter(|message| **message == reply);
        let (completed, messages) = (completed.count(), messages.count());
        let has_key = acks.chat.key.is_some();
        if completed > 1 || messages > 1 || (!has_key && logged.len() > 1) {
            report.record_loss("doubled", || format!("{acks:?}, the log: {logged:?}"));
        }
        if completed != messages {
            report.record_loss("lost", || format!("{messages} messages of {logged:?}"));
        }
        let has_other_reply = |(_, turn): &&(&String, &TurnHistory)| {
            turn.is_completed() && turn.reply.as_deref() != Some(&reply)
        };
        if let Some(other) = logged.iter().find(has_other_reply) {
            report.record_loss("wrong", || format!("{reply} is logged as {other:?}"));
        }
        if has_key && completed == 0 {
            report.record_loss("unanswered", || format!("{acks:?}, the log: {logged:?}"));
        }
    }

    /// Returns true if the reply is in the log, in the messages and in the turn.
    async fn is_stored(
        &self,
        acks: &Acknowledgements,
        turn: &str,
        conversation: &str,
    ) -> Result<bool> {
        let reply = acks.chat.reply();
        let key = (conversation.to_owned(), turn.to_owned());
        let logged = self.log.turns.get(turn);
        Ok(self.replies.get(&key) == Some(&reply)
            && logged.is_some_and(|logged| logged.reply.as_ref() == Some(&reply))
            && self.status(turn).await? == "completed")
    }

    async fn status(&self, turn: &str) -> Result<String> {
        let turn = self.get(&format!("/api/turns/{turn}")).await?;
        Ok(turn["status"].as_str().unwrap_or_default().to_owned())
    }
}
