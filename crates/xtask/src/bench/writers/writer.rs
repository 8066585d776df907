//! One of many clients that change things, one change after the other.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::deed::{Deed, EventName};
use crate::{
    bench::talk::{MESSAGE, text},
    rig::load::{Connection, Endpoint},
};

/// An agent and a conversation with it.
#[derive(Clone)]
pub(super) struct Room {
    pub(super) agent: String,
    pub(super) conversation: String,
}

/// A client.
pub(super) struct Writer {
    endpoint: Endpoint,
    connection: Connection,
    deeds: Vec<Deed>,
    /// Which of the writers it is.
    number: usize,
    /// Names it has given. With its number they make a name that no agent has: one that is there
    /// already would be no change.
    names: usize,
}

impl Writer {
    /// Connects.
    pub(super) async fn connect(endpoint: &Endpoint, number: usize) -> Result<Self> {
        Ok(Self {
            connection: Connection::open(endpoint.address).await?,
            endpoint: endpoint.clone(),
            deeds: Vec::new(),
            number,
            names: 0,
        })
    }

    /// What was done and acknowledged.
    pub(super) fn into_deeds(self) -> Vec<Deed> {
        self.deeds
    }

    /// Makes a room.
    pub(super) async fn make_room(&mut self) -> Result<Room> {
        let agent = self.create_agent().await?;
        let conversation = self.create_conversation(&agent).await?;
        Ok(Room {
            agent,
            conversation,
        })
    }

    /// Goes through all kinds of changes, again and again, until `left` is used up: in what is its
    /// own, and in `shared`, which others change at the same time.
    pub(super) async fn work(mut self, shared: Room, left: Arc<AtomicUsize>) -> Result<Vec<Deed>> {
        let mut own = Room {
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
        Ok(self.into_deeds())
    }

    async fn create_agent(&mut self) -> Result<String> {
        let body = json!({ "name": "New" });
        let (made, times) = self.call("POST", "/api/agents", Some(&body)).await?;
        let id = text(&made, "id")?;
        self.did(
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
        let (patched, times) = self.call("PATCH", &path, Some(&body)).await?;
        if text(&patched, "name")? != name {
            bail!("a patch was answered with another name: {patched}");
        }
        let version = patched["version"].as_u64().context("no version")?;
        let nth = usize::try_from(version)?.checked_sub(2);
        let nth = nth.context("a patch left version 1")?;
        let event = EventName::nth("agent.updated", agent, nth);
        self.did("patch agent", times, vec![event]);
        Ok(())
    }

    async fn delete_agent(&mut self, agent: &str) -> Result<()> {
        let path = format!("/api/agents/{agent}");
        let (_, times) = self.call("DELETE", &path, None).await?;
        let event = EventName::only("agent.deleted", agent);
        self.did("delete agent", times, vec![event]);
        Ok(())
    }

    async fn create_conversation(&mut self, agent: &str) -> Result<String> {
        let body = json!({ "agentId": agent });
        let (made, times) = self.call("POST", "/api/conversations", Some(&body)).await?;
        let id = text(&made, "id")?;
        let event = EventName::only("conversation.created", id);
        self.did("create conversation", times, vec![event]);
        Ok(id.to_owned())
    }

    async fn delete_conversation(&mut self, conversation: &str) -> Result<()> {
        let path = format!("/api/conversations/{conversation}");
        let (_, times) = self.call("DELETE", &path, None).await?;
        let event = EventName::only("conversation.deleted", conversation);
        self.did("delete conversation", times, vec![event]);
        Ok(())
    }

    async fn chat(&mut self, room: &Room) -> Result<()> {
        let body = json!({
            "agentId": room.agent, "conversationId": room.conversation, "message": MESSAGE,
        });
        let (reply, times) = self.call("POST", "/api/chat", Some(&body)).await?;
        let turn = text(&reply, "turnId")?;
        let events = ["turn.started", "turn.completed"].map(|kind| EventName::only(kind, turn));
        self.did("chat", times, events.into());
        Ok(())
    }

    async fn first_chat(&mut self, agent: &str) -> Result<()> {
        let body = json!({ "agentId": agent, "message": MESSAGE });
        let (reply, times) = self.call("POST", "/api/chat", Some(&body)).await?;
        let turn = text(&reply, "turnId")?;
        let events = vec![
            EventName::only("conversation.created", text(&reply, "conversationId")?),
            EventName::only("turn.started", turn),
            EventName::only("turn.completed", turn),
        ];
        self.did("first chat", times, events);
        Ok(())
    }

    async fn call(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(Value, (Instant, Instant))> {
        let asked = Instant::now();
        let called = self.endpoint.call(&mut self.connection, method, path, body);
        let answer = called.await?;
        Ok((answer, (asked, Instant::now())))
    }

    fn did(
        &mut self,
        what: &'static str,
        (asked, answered): (Instant, Instant),
        events: Vec<EventName>,
    ) {
        self.deeds.push(Deed {
            what,
            events,
            asked,
            answered,
        });
    }
}
