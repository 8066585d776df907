//! A client that sends one write after the other.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use anyhow::{Context as _, Result, bail};
use dev_load::{
    Endpoint,
    http::{ApiClient, Method},
};
use serde_json::{Value, json};

use super::acknowledged_write::{AcknowledgedWrite, EventName};
use crate::workload::{MESSAGE, text};

/// An agent and one of its conversations.
#[derive(Clone)]
pub(super) struct ChatTarget {
    pub(super) agent: String,
    pub(super) conversation: String,
}

/// A client and its acknowledged writes.
pub(super) struct Writer {
    client: ApiClient,
    writes: Vec<AcknowledgedWrite>,
    /// The number of the writer.
    number: usize,
    /// The number of names so far. With the writer's number it makes a unique name: an existing
    /// name would change nothing.
    names: usize,
}

impl Writer {
    /// Returns a client without acknowledged writes.
    pub(super) fn new(endpoint: &Endpoint, number: usize) -> Self {
        Self {
            client: ApiClient::new(endpoint),
            writes: Vec::new(),
            number,
            names: 0,
        }
    }

    /// Returns the acknowledged writes.
    pub(super) fn into_writes(self) -> Vec<AcknowledgedWrite> {
        self.writes
    }

    /// Creates an agent with a conversation.
    pub(super) async fn create_target(&mut self) -> Result<ChatTarget> {
        let agent = self.create_agent().await?;
        let conversation = self.create_conversation(&agent).await?;
        Ok(ChatTarget {
            agent,
            conversation,
        })
    }

    /// Sends all kinds of writes in turn until `remaining` is used up: to its own agents and
    /// conversations, and to `shared`, which other writers change at the same time.
    pub(super) async fn work(
        mut self,
        shared: ChatTarget,
        left: Arc<AtomicUsize>,
    ) -> Result<Vec<AcknowledgedWrite>> {
        let mut own = ChatTarget {
            agent: String::new(),
            conversation: String::new(),
        };
        for step in (0..10).cycle() {
            let take = |left: usize| left.checked_sub(1);
            if left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                .is_err()
            {
                break;
            }
            match step {
                0 => own.agent = self.create_agent().await?,
                1 => self.patch_agent(&own.agent).await?,
                2 => own.conversation = self.create_conversation(&own.agent).await?,
                3 | 4 => self.chat(&own).await?,
                5 => self.patch_agent(&shared.agent).await?,
                6 => self.chat(&shared).await?,
                7 => self.delete_conversation(&own.conversation).await?,
                8 => self.first_chat(&own.agent).await?,
                _ => self.delete_agent(&own.agent).await?,
            }
        }
        Ok(self.into_writes())
    }

    async fn create_agent(&mut self) -> Result<String> {
        let body = json!({ "name": "New" });
        let (made, times) = self.call(Method::POST, "/api/agents", Some(&body)).await?;
        let id = text(&made, "id")?;
        self.record(
            "create agent",
            times,
            vec![EventName::only("agent.created", id)],
        );
        Ok(id.to_owned())
    }

    async fn patch_agent(&mut self, agent: &str) -> Result<()> {
        self.names += 1;
        let name = format!("Name {} of writer {}", self.names, self.number);
        let path = format!("/api/agents/{agent}");
        let body = json!({ "name": name });
        let (patched, times) = self.call(Method::PATCH, &path, Some(&body)).await?;
        if text(&patched, "name")? != name {
            bail!("a patch returned another name: {patched}");
        }
        let version = patched["version"].as_u64().context("no version")?;
        let nth = usize::try_from(version)?.checked_sub(2);
        let nth = nth.context("a patch left version 1")?;
        let event = EventName::nth("agent.updated", agent, nth);
        self.record("patch agent", times, vec![event]);
        Ok(())
    }

    async fn delete_agent(&mut self, agent: &str) -> Result<()> {
        let path = format!("/api/agents/{agent}");
        let (_, times) = self.call(Method::DELETE, &path, None).await?;
        let event = EventName::only("agent.deleted", agent);
        self.record("delete agent", times, vec![event]);
        Ok(())
    }

    async fn create_conversation(&mut self, agent: &str) -> Result<String> {
        let body = json!({ "agentId": agent });
        let (made, times) = self
            .call(Method::POST, "/api/conversations", Some(&body))
            .await?;
        let id = text(&made, "id")?;
        let event = EventName::only("conversation.created", id);
        self.record("create conversation", times, vec![event]);
        Ok(id.to_owned())
    }

    async fn delete_conversation(&mut self, conversation: &str) -> Result<()> {
        let path = format!("/api/conversations/{conversation}");
        let (_, times) = self.call(Method::DELETE, &path, None).await?;
        let event = EventName::only("conversation.deleted", conversation);
        self.record("delete conversation", times, vec![event]);
        Ok(())
    }

    async fn chat(&mut self, target: &ChatTarget) -> Result<()> {
        let body = json!({
            "agentId": target.agent, "conversationId": target.conversation, "message": MESSAGE,
        });
        let (reply, times) = self.call(Method::POST, "/api/chat", Some(&body)).await?;
        let turn = text(&reply, "turnId")?;
        let events = ["turn.started", "turn.completed"].map(|kind| EventName::only(kind, turn));
        self.record("chat", times, events.into());
        Ok(())
    }

    async fn first_chat(&mut self, agent: &str) -> Result<()> {
        let body = json!({ "agentId": agent, "message": MESSAGE });
        let (reply, times) = self.call(Method::POST, "/api/chat", Some(&body)).await?;
        let turn = text(&reply, "turnId")?;
        let events = vec![
            EventName::only("conversation.created", text(&reply, "conversationId")?),
            EventName::only("turn.started", turn),
            EventName::only("turn.completed", turn),
        ];
        self.record("first chat", times, events);
        Ok(())
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(Value, (Instant, Instant))> {
        let sent_at = Instant::now();
        let body = self.client.call(method, path, body).await?;
        Ok((body, (sent_at, Instant::now())))
    }

    fn record(
        &mut self,
        operation: &'static str,
        (sent_at, acknowledged_at): (Instant, Instant),
        events: Vec<EventName>,
    ) {
        self.writes.push(AcknowledgedWrite {
            operation,
            events,
            sent_at,
            acknowledged_at,
        });
    }
}
