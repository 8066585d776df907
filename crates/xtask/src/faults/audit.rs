//! What was lost: everything that clients were told, held against what the service tells now.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem::take,
};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{
    findings::Findings,
    log::{Log, Story},
    told::Told,
};
use crate::rig::load::{Connection, Endpoint};

/// What must not happen.
const LOSSES: &[&str] = &[
    "lost",
    "doubled",
    "wrong",
    "gaps",
    "unsound",
    "unfinished",
    "unanswered",
];

/// Reads the log and holds what clients were told against it and against all else.
pub(super) async fn run(endpoint: &Endpoint, told: &[Told], findings: &mut Findings) -> Result<()> {
    go_on(endpoint, &mut Log::default(), told, findings).await
}

/// The same with a log of which a part was read and judged already.
pub(super) async fn go_on(
    endpoint: &Endpoint,
    log: &mut Log,
    told: &[Told],
    findings: &mut Findings,
) -> Result<()> {
    findings.expect_none(LOSSES);
    log.read_on(endpoint).await?;
    findings.lose_all("gaps", take(&mut log.gaps));
    findings.lose_all("unsound", log.unsound());
    findings.lose_all("unfinished", log.unfinished());
    let mut audit = Audit {
        endpoint,
        log,
        connection: Connection::open(endpoint.address).await?,
        replies: BTreeMap::new(),
    };
    for conversation in audit.conversations(told) {
        audit.read_messages(&conversation, findings).await?;
    }
    for told in told {
        audit.check(told, findings).await?;
    }
    Ok(())
}

/// What the service tells now.
struct Audit<'a> {
    endpoint: &'a Endpoint,
    log: &'a Log,
    connection: Connection,
    /// The contents of the agents' messages by conversation and turn.
    replies: BTreeMap<(String, String), String>,
}

impl Audit<'_> {
    /// The conversations of the chats that are looked at.
    fn conversations(&self, told: &[Told]) -> BTreeSet<String> {
        let mut conversations = BTreeSet::new();
        for told in told {
            let places = told.replied.iter().chain(&told.accepted);
            conversations.extend(places.map(|place| place.conversation.clone()));
            conversations.extend(told.chat.conversation.clone());
            let asked = self.log.asked(&told.chat.tag);
            conversations.extend(asked.map(|(_, story)| story.conversation.clone()));
        }
        conversations
    }

    async fn get(&mut self, path: &str) -> Result<Value> {
        let called = self.endpoint.call(&mut self.connection, "GET", path, None);
        called.await
    }

    async fn read_messages(&mut self, conversation: &str, findings: &mut Findings) -> Result<()> {
        let first = format!("/api/conversations/{conversation}/messages?limit=100");
        let (mut path, mut place) = (first.clone(), 0);
        loop {
            let page = self.get(&path).await?;
            for message in page["data"].as_array().context("a page without data")? {
                let seq = message["seq"].as_i64().unwrap_or_default();
                if seq != place + 1 {
                    findings.lose("gaps", || format!("after message {place} comes {message}"));
                }
                place = seq;
                if message["role"] == "agent" {
                    let text = |name: &str| message[name].as_str().unwrap_or_default().to_owned();
                    let key = (conversation.to_owned(), text("turnId"));
                    if self.replies.insert(key, text("content")).is_some() {
                        findings.lose("doubled", || format!("a second reply: {message}"));
                    }
                }
            }
            match page["nextCursor"].as_str() {
                Some(cursor) => path = format!("{first}&cursor={cursor}"),
                None => return Ok(()),
            }
        }
    }

    async fn check(&mut self, told: &Told, findings: &mut Findings) -> Result<()> {
        findings.count("chats", 1);
        findings.count("acknowledged", told.replied.len().min(1));
        findings.count("accepted", told.accepted.len().min(1));
        findings.count("repeats", told.attempts.saturating_sub(1));
        for how in ["unanswered", "cut"] {
            let number = told.refusals.get(how).copied().unwrap_or_default();
            findings.count("answers broken off", number);
        }
        for wrong in &told.wrong {
            findings.lose("wrong", || format!("{}: {wrong}", told.chat.tag));
        }
        let asked: Vec<_> = self.log.asked(&told.chat.tag).collect();
        self.check_once(told, &asked, findings);
        if let [first, rest @ ..] = told.replied.as_slice() {
            if rest.iter().any(|place| place != first) {
                findings.lose("doubled", || format!("several replies: {told:?}"));
            }
            if !self
                .is_there(told, &first.turn, &first.conversation)
                .await?
            {
                findings.lose("lost", || format!("{told:?}, the log: {asked:?}"));
            }
        }
        for place in &told.accepted {
            let is_known = self.log.turns.contains_key(&place.turn);
            if !is_known || self.status(&place.turn).await?.is_empty() {
                findings.lose("lost", || format!("no turn {} of {told:?}", place.turn));
            }
        }
        Ok(())
    }

    /// A key makes one turn that is completed; without a key nothing is done twice.
    fn check_once(&self, told: &Told, asked: &[(&String, &Story)], findings: &mut Findings) {
        let reply = told.chat.reply();
        let completed = asked.iter().filter(|(_, story)| story.is_completed());
        let told_by_messages = self.replies.values().filter(|said| **said == reply);
        let (completed, said) = (completed.clone().count(), told_by_messages.count());
        let has_key = told.chat.key.is_some();
        if completed > 1 || said > 1 || (!has_key && asked.len() > 1) {
            findings.lose("doubled", || format!("{told:?}, the log: {asked:?}"));
        }
        if completed != said {
            findings.lose("lost", || format!("messages of {asked:?} say: {said}"));
        }
        let is_other = |(_, story): &&(&String, &Story)| {
            story.is_completed() && story.reply.as_deref() != Some(&reply)
        };
        if let Some(other) = asked.iter().find(is_other) {
            findings.lose("wrong", || format!("{reply} is told as {other:?}"));
        }
        if has_key && completed == 0 {
            findings.lose("unanswered", || format!("{told:?}, the log: {asked:?}"));
        }
    }

    /// Whether the reply is where it belongs: in the log, in the messages and in the turn.
    async fn is_there(&mut self, told: &Told, turn: &str, conversation: &str) -> Result<bool> {
        let reply = told.chat.reply();
        let key = (conversation.to_owned(), turn.to_owned());
        let logged = self.log.turns.get(turn);
        Ok(self.replies.get(&key) == Some(&reply)
            && logged.is_some_and(|story| story.reply.as_ref() == Some(&reply))
            && self.status(turn).await? == "completed")
    }

    async fn status(&mut self, turn: &str) -> Result<String> {
        let turn = self.get(&format!("/api/turns/{turn}")).await?;
        Ok(turn["status"].as_str().unwrap_or_default().to_owned())
    }
}
