//! Who talks in the measurements, and what is said.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::rig::load::{self, Client, Credential, Endpoint, Script};

/// What people say.
pub(crate) const MESSAGE: &str = "Hello! Can you tell me where my order 4711 is?";
/// What the agent's rule makes of it.
pub(crate) const REPLY: &str = "Order 4711 is on its way and will be with you tomorrow.";
/// Conversations that the chats are spread over.
pub(crate) const CONVERSATIONS: usize = 1_000;

/// Connections on which conversations are filled.
const FILLING: usize = 32;
/// The time that filling may take.
const FILLED: Duration = Duration::from_mins(5);

/// An agent and its conversations in a running service.
pub(crate) struct Talk {
    endpoint: Endpoint,
    /// The agent as the service shows it.
    pub(crate) agent: Value,
    conversations: Vec<String>,
}

impl Talk {
    /// Makes agent and conversations, and sees to it that the agent answers by its rule.
    pub(crate) fn prepare(endpoint: Endpoint) -> Result<Self> {
        Self::with(endpoint, &draft())
    }

    /// The same with another agent, which must give the same reply.
    pub(crate) fn with(endpoint: Endpoint, draft: &Value) -> Result<Self> {
        let talk = Self::unheard(endpoint, draft)?;
        let first = talk.chat(&talk.conversations[0])?;
        let mut client = Client::connect(&talk.endpoint)?;
        let reply = client.call("POST", "/api/chat", Some(&first))?;
        if text(&reply, "message")? != REPLY {
            bail!("the agent does not say what it should: {reply}");
        }
        Ok(talk)
    }

    /// The same with another agent, whatever it says.
    pub(crate) fn unheard(endpoint: Endpoint, draft: &Value) -> Result<Self> {
        Self::of(endpoint, draft, CONVERSATIONS)
    }

    /// Makes an agent with so many conversations in which so many messages were said, and then has
    /// it answer as this configuration says.
    pub(crate) fn long(
        endpoint: Endpoint,
        config: &Value,
        conversations: usize,
        messages: usize,
    ) -> Result<Self> {
        // By rules, since that is soonest done. No two connections share a conversation, in which
        // only one turn takes place at once.
        let talk = Self::of(endpoint, &draft(), conversations)?;
        let connections = conversations.min(FILLING);
        let fill = |connection| {
            let own = talk.conversations.iter().skip(connection);
            let own: Vec<_> = own.step_by(connections).collect();
            // A question and its answer.
            let chats = own.len() * messages / 2;
            let chats = own.into_iter().cycle().take(chats).map(|id| {
                let chat = talk.chat(id)?;
                Ok(talk.endpoint.request("POST", "/api/chat", Some(&chat)))
            });
            chats.collect::<Result<Vec<_>>>().map(Script::once)
        };
        let scripts = (0..connections).map(fill).collect::<Result<Vec<_>>>()?;
        let filled = load::run(talk.endpoint.address, &scripts, FILLED)?;
        if filled.latencies.number() < conversations * messages / 2 {
            bail!("the conversations are not filled in {FILLED:?}");
        }
        let path = format!("{}/config", talk.agent_path()?);
        Client::connect(&talk.endpoint)?.call("PUT", &path, Some(config))?;
        Ok(talk)
    }

    fn of(endpoint: Endpoint, draft: &Value, conversations: usize) -> Result<Self> {
        let mut client = Client::connect(&endpoint)?;
        let agent = client.call("POST", "/api/agents", Some(draft))?;
        let body = json!({ "agentId": text(&agent, "id")? });
        let conversations = (0..conversations)
            .map(|_| {
                let made = client.call("POST", "/api/conversations", Some(&body))?;
                text(&made, "id").map(str::to_owned)
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Self {
            endpoint,
            agent,
            conversations,
        })
    }

    /// One chat for each conversation.
    pub(crate) fn chats(&self) -> impl Iterator<Item = Result<Value>> {
        self.conversations.iter().map(|id| self.chat(id))
    }

    /// The path of the agent.
    pub(crate) fn agent_path(&self) -> Result<String> {
        Ok(format!("/api/agents/{}", text(&self.agent, "id")?))
    }

    /// Reads the agent, over and over, on so many connections.
    pub(crate) fn reading(&self, connections: usize) -> Result<Vec<Script>> {
        let request = self.read(&self.endpoint.credential)?;
        Ok(vec![Script::repeated(vec![request]); connections])
    }

    /// A request that reads the agent.
    pub(crate) fn read(&self, credential: &Credential) -> Result<Vec<u8>> {
        let endpoint = self.endpoint.shown(credential.clone());
        Ok(endpoint.request("GET", &self.agent_path()?, None))
    }

    /// Chats on so many connections. Each has conversations of its own, as people do.
    pub(crate) fn chatting(&self, connections: usize) -> Result<Vec<Script>> {
        let script = |connection: usize| {
            let own = self.conversations.iter().skip(connection);
            own.step_by(connections)
                .map(|id| {
                    Ok(self
                        .endpoint
                        .request("POST", "/api/chat", Some(&self.chat(id)?)))
                })
                .collect::<Result<Vec<_>>>()
                .map(Script::repeated)
        };
        (0..connections).map(script).collect()
    }

    fn chat(&self, conversation: &str) -> Result<Value> {
        Ok(json!({
            "agentId": text(&self.agent, "id")?,
            "conversationId": conversation,
            "message": MESSAGE,
        }))
    }
}

/// An agent such as people make: some words on its manner, and a few rules.
fn draft() -> Value {
    json!({
        "name": "Ada of the parcel desk",
        "personality": "Friendly and brief. Says what is known of a parcel, and nothing that is not.",
        "capabilities": ["orders", "returns", "opening hours"],
        "config": { "engine": "rules", "rules": [
            { "pattern": r"order (\d+)",
              "reply": "Order {{capture.1}} is on its way and will be with you tomorrow." },
            { "keywords": ["return"], "reply": "Send it back within thirty days." },
            { "keywords": ["open"], "reply": "We are there from nine to five." },
        ] },
    })
}

/// A member of an object that is text.
pub(crate) fn text<'v>(value: &'v Value, member: &str) -> Result<&'v str> {
    value[member]
        .as_str()
        .with_context(|| format!("no {member} in {value}"))
}
