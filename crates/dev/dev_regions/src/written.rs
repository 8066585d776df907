//! Writes, and reads that show them.

use anyhow::Result;
use dev_load::http::{Method, Response};
use serde_json::{Value, json};

use super::{
    client::CONSISTENCY,
    operation::new_name,
    workload::{Workload, text},
};

/// A write whose effect a read shows.
pub(crate) enum Write<'w> {
    /// Changes the name of the agent.
    Rename(&'w Workload, String),
    /// Adds messages to the conversation.
    Chat(&'w Workload),
    /// Adds messages to the conversation, with a streamed reply.
    Stream(&'w Workload),
    /// Creates a conversation.
    Conversation(&'w Workload),
}

impl<'w> Write<'w> {
    /// The kinds of writes in turn, each in every region.
    pub(crate) fn kind(number: usize, workload: &'w Workload) -> Self {
        match (number + number / 8) % 4 {
            0 => Self::Rename(workload, new_name()),
            1 => Self::Chat(workload),
            2 => Self::Stream(workload),
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
            Self::Stream(workload) => {
                let mut chat = workload.chat();
                chat["stream"] = true.into();
                (Method::POST, "/api/chat".to_owned(), chat)
            }
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
            Self::Rename(..) | Self::Chat(_) | Self::Stream(_) => 200,
            Self::Conversation(_) => 201,
        }
    }

    /// The result in the response: of a stream, the data of its last event.
    pub(crate) fn written(&self, response: &Response) -> Value {
        let Self::Stream(_) = self else {
            return response.json();
        };
        let body = String::from_utf8_lossy(&response.body);
        let mut data = body
            .lines()
            .rev()
            .filter_map(|it| it.strip_prefix("data: "));
        let last = data.next().and_then(|data| serde_json::from_str(data).ok());
        last.unwrap_or_default()
    }

    /// The position of the write: in the header, or at the end of a stream.
    pub(crate) fn position(&self, response: &Response, written: &Value) -> Option<String> {
        match self {
            Self::Stream(_) => written["seq"].as_i64().map(|position| position.to_string()),
            _ => response.header(CONSISTENCY).map(str::to_owned),
        }
    }

    /// The path of the read, after the response to the write.
    pub(crate) fn path_of_read(&self, written: &Value) -> Result<String> {
        Ok(match self {
            Self::Rename(workload, _) => workload.agent_path(),
            Self::Chat(workload) | Self::Stream(workload) => {
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
                Self::Chat(_) | Self::Stream(_) => body["data"][0]["id"] == written["messageId"],
                Self::Conversation(_) => body["id"] == written["id"],
            }
    }
}
