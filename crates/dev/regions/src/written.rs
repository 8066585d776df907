//! Writes, and reads that show them.

use anyhow::Result;
use dev_load::http::{Method, Response};
use serde_json::{Value, json};

use super::{
    operation::new_name,
    workload::{Workload, text},
};

/// A write whose effect a read shows.
pub(crate) enum Write<'w> {
    /// Changes the name of the agent.
    Rename(&'w Workload, String),
    /// Adds messages to the conversation.
    Chat(&'w Workload),
    /// Creates a conversation.
    Conversation(&'w Workload),
}

impl<'w> Write<'w> {
    /// The kinds of writes in turn.
    pub(crate) fn kind(number: usize, workload: &'w Workload) -> Self {
        match number % 3 {
            0 => Self::Rename(workload, new_name()),
            1 => Self::Chat(workload),
            _ => Self::Conversation(workload),
        }
    }

    /// Method, path and body.
    pub(crate) fn request(&self) -> (Method, String, Value) {
        match self {
            Self::Rename(workload, name) => (
                Method::PATCH,
                workload.agent_path(),
                json!({ "name": name }),
            ),
            Self::Chat(workload) => (Method::POST, "/api/chat".to_owned(), workload.chat()),
            Self::Conversation(workload) => (
                Method::POST,
                "/api/conversations".to_owned(),
                json!({ "agentId": workload.agent }),
            ),
        }
    }

    /// The status of success.
    pub(crate) const fn status(&self) -> u16 {
        match self {
            Self::Rename(..) | Self::Chat(_) => 200,
            Self::Conversation(_) => 201,
        }
    }

    /// The path of the read, after the response to the write.
    pub(crate) fn path_of_read(&self, written: &Value) -> Result<String> {
        Ok(match self {
            Self::Rename(workload, _) => workload.agent_path(),
            Self::Chat(workload) => {
                let messages = workload.conversation_path();
                format!("{messages}/messages?order=desc&limit=1")
            }
            Self::Conversation(_) => format!("/api/conversations/{}", text(written, "id")?),
        })
    }

    /// Returns whether a read shows the write.
    pub(crate) fn is_in(&self, written: &Value, read: &Response) -> bool {
        let body = read.json();
        read.status == 200
            && match self {
                Self::Rename(_, name) => body["name"] == *name,
                Self::Chat(_) => body["data"][0]["id"] == written["messageId"],
                Self::Conversation(_) => body["id"] == written["id"],
            }
    }
}
