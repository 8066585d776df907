//! The event log, as a client reads it.

use std::collections::HashMap;

use anyhow::{Context as _, Result};
use dev_load::http::{BlockingApiClient, Method};
use serde_json::Value;

use super::acknowledged_write::EventName;
use crate::workload::text;

/// The number of events of a page.
const PAGE: usize = 100;

/// An event of the log.
#[derive(Debug, Clone)]
pub(super) struct LogEntry {
    pub(super) seq: i64,
    pub(super) name: EventName,
    /// The number that the change assigned to its subject: the version of an agent, or the position
    /// of a message in its conversation. Absent when the subject has been deleted since.
    pub(super) number: Option<SubjectNumber>,
}

/// Numbers that must ascend without a gap in the order of the log.
#[derive(Debug, Clone)]
pub(super) struct SubjectNumber {
    pub(super) subject: String,
    pub(super) number: i64,
}

/// Reads the whole log.
pub(super) fn read(client: &BlockingApiClient) -> Result<Vec<LogEntry>> {
    let (mut log, mut since) = (Vec::new(), 0);
    let mut seen = HashMap::new();
    loop {
        let path = format!("/api/events?since={since}&limit={PAGE}");
        let page = client.call(Method::GET, &path, None)?;
        let events = page["data"].as_array().context("a page without data")?;
        for event in events {
            log.push(logged(event, &mut seen)?);
        }
        if page["hasMore"] != Value::Bool(true) {
            return Ok(log);
        }
        since = number(&page, "nextSince")?;
    }
}

/// Parses an event. `seen` counts the events of each type and subject so far.
fn logged(event: &Value, seen: &mut HashMap<(String, String), usize>) -> Result<LogEntry> {
    let kind = text(event, "type")?;
    let subject = text(event, subject_member(kind))?;
    let count = seen
        .entry((kind.to_owned(), subject.to_owned()))
        .or_default();
    let name = EventName::nth(kind, subject, *count);
    *count += 1;
    Ok(LogEntry {
        seq: number(event, "seq")?,
        number: numbered(kind, &event["data"]),
        name,
    })
}

/// The member that names the subject of an event of this type.
fn subject_member(kind: &str) -> &'static str {
    match kind.split('.').next() {
        Some("turn") => "turnId",
        Some("conversation") => "conversationId",
        _ => "agentId",
    }
}

fn numbered(kind: &str, data: &Value) -> Option<SubjectNumber> {
    let (subject, number) = match kind {
        "agent.created" | "agent.updated" => (&data["agent"]["id"], &data["agent"]["version"]),
        "turn.started" | "turn.completed" => {
            (&data["message"]["conversationId"], &data["message"]["seq"])
        }
        _ => return None,
    };
    Some(SubjectNumber {
        subject: subject.as_str()?.to_owned(),
        number: number.as_i64()?,
    })
}

fn number(value: &Value, member: &str) -> Result<i64> {
    value[member]
        .as_i64()
        .with_context(|| format!("no {member} in {value}"))
}
