//! The agent, conversations and messages of the measurements.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use dev_load::{
    Credential, Endpoint,
    generator::{self, Script},
    http::{BlockingApiClient, Method},
};
use serde_json::{Value, json};

/// The message of every chat.
pub(crate) const MESSAGE: &str = "Hello! Can you tell me where my order 4711 is?";
/// The reply of the agent's rule.
pub(crate) const REPLY: &str = "Order 4711 is on its way and will be with you tomorrow.";
/// The number of conversations over which chats are spread.
pub(crate) const CONVERSATIONS: usize = 1_000;

/// The number of connections that fill conversations.
const FILLING: usize = 32;
/// The longest that filling may take.
const FILLED: Duration = Duration::from_mins(5);

/// An agent and its conversations in a running service.
pub(crate) struct Workload {
    pub(crate) endpoint: Endpoint,
    /// The agent as the service returns it.
    pub(crate) agent: Value,
    conversations: Vec<String>,
}

impl Workload {
    /// Creates agent and conversations, and checks that the agent replies by its rule.
    pub(crate) fn prepare(endpoint: Endpoint) -> Result<Self> {
        Self::with_agent(endpoint, &draft())
    }

    /// The same with another agent, which must give the same reply.
    pub(crate) fn with_agent(endpoint: Endpoint, draft: &Value) -> Result<Self> {
        let workload = Self::with_any_reply(endpoint, draft)?;
        let first = workload.chat(0)?;
        let client = BlockingApiClient::new(&workload.endpoint)?;
        let reply = client.call(Method::POST, "/api/chat", Some(&first))?;
        if text(&reply, "message")? != REPLY {
            bail!("the agent did not give the expected reply: {reply}");
        }
        Ok(workload)
    }

    /// The same with another agent and any reply.
    pub(crate) fn with_any_reply(endpoint: Endpoint, draft: &Value) -> Result<Self> {
        Self::create(endpoint, draft, CONVERSATIONS)
    }

    /// Creates an agent with `conversations` conversations of `messages` messages each, and then
    /// sets its configuration to `config`.
    pub(crate) fn with_history(
        endpoint: Endpoint,
        config: &Value,
        conversations: usize,
        messages: usize,
    ) -> Result<Self> {
        // Rules fill conversations fastest. No two connections share a conversation, since its
        // turns run one after the other.
        let workload = Self::create(endpoint, &draft(), conversations)?;
        let connections = conversations.min(FILLING);
        let fill = |connection| {
            let own = (connection..workload.conversations.len()).step_by(connections);
            // A chat adds a message and a reply.
            let chats = own.len() * messages / 2;
            let chats = own.cycle().take(chats).map(|conversation| {
                let chat = workload.chat(conversation)?;
                Ok(workload.endpoint.request("POST", "/api/chat", Some(&chat)))
            });
            chats.collect::<Result<Vec<_>>>().map(Script::once)
        };
        let scripts = (0..connections).map(fill).collect::<Result<Vec<_>>>()?;
        let filled = generator::run(workload.endpoint.address, &scripts, FILLED)?;
        if filled.latencies.count() < u64::try_from(conversations * messages / 2)? {
            bail!("the conversations are not filled in {FILLED:?}");
        }
        let path = format!("{}/config", workload.agent_path()?);
        BlockingApiClient::new(&workload.endpoint)?.call(Method::PUT, &path, Some(config))?;
        Ok(workload)
    }

    fn create(endpoint: Endpoint, draft: &Value, conversations: usize) -> Result<Self> {
        let client = BlockingApiClient::new(&endpoint)?;
        let agent = client.call(Method::POST, "/api/agents", Some(draft))?;
        let body = json!({ "agentId": text(&agent, "id")? });
        let conversations = (0..conversations)
            .map(|_| {
                let made = client.call(Method::POST, "/api/conversations", Some(&body))?;
                text(&made, "id").map(str::to_owned)
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Self {
            endpoint,
            agent,
            conversations,
        })
    }

    /// The body of one chat for each conversation.
    pub(crate) fn chats(&self) -> impl Iterator<Item = Result<Value>> {
        (0..self.conversations.len()).map(|index| self.chat(index))
    }

    /// The path of the agent.
    pub(crate) fn agent_path(&self) -> Result<String> {
        Ok(format!("/api/agents/{}", text(&self.agent, "id")?))
    }

    /// Scripts that read the agent on `connections` connections.
    pub(crate) fn reads(&self, connections: usize) -> Result<Vec<Script>> {
        let request = self.read_request(&self.endpoint.credential)?;
        Ok(vec![Script::repeated(vec![request]); connections])
    }

    /// A request that reads the agent.
    pub(crate) fn read_request(&self, credential: &Credential) -> Result<Vec<u8>> {
        let endpoint = self.endpoint.with_credential(credential.clone());
        Ok(endpoint.request("GET", &self.agent_path()?, None))
    }

    /// Scripts that chat on `connections` connections, each in conversations of its own.
    pub(crate) fn chat_scripts(&self, connections: usize) -> Result<Vec<Script>> {
        self.scripts(connections, |conversation| self.chat(conversation))
    }

    /// The same with streamed replies, which must be complete.
    pub(crate) fn streamed_chat_scripts(&self, connections: usize) -> Result<Vec<Script>> {
        let streamed = |conversation| {
            let mut chat = self.chat(conversation)?;
            chat["stream"] = true.into();
            Ok(chat)
        };
        let scripts = self.scripts(connections, streamed)?.into_iter();
        Ok(scripts.map(|it| it.expect_text("turn.completed")).collect())
    }

    fn scripts(
        &self,
        connections: usize,
        chat: impl Fn(usize) -> Result<Value>,
    ) -> Result<Vec<Script>> {
        let script = |connection: usize| {
            let own = (connection..self.conversations.len()).step_by(connections);
            own.map(|conversation| {
                let chat = chat(conversation)?;
                Ok(self.endpoint.request("POST", "/api/chat", Some(&chat)))
            })
            .collect::<Result<Vec<_>>>()
            .map(Script::repeated)
        };
        (0..connections).map(script).collect()
    }

    /// The body of a chat in the conversation with this index.
    pub(crate) fn chat(&self, conversation: usize) -> Result<Value> {
        Ok(json!({
            "agentId": text(&self.agent, "id")?,
            "conversationId": self.conversations[conversation],
            "message": MESSAGE,
        }))
    }
}

/// A typical agent: a short personality and a few rules.
pub(crate) fn draft() -> Value {
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

/// Returns a string member of an object.
pub(crate) fn text<'v>(value: &'v Value, member: &str) -> Result<&'v str> {
    value[member]
        .as_str()
        .with_context(|| format!("no {member} in {value}"))
}
