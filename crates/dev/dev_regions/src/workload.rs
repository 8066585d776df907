//! The agent and the conversation of a client.

use anyhow::{Context as _, Result};
use dev_load::{
    Endpoint,
    http::{ApiClient, Method},
};
use serde_json::{Value, json};

/// The number of chats that a conversation begins with.
const CHATS: usize = 10;

/// An agent with rules, and a conversation with it.
#[derive(Clone)]
pub(crate) struct Workload {
    pub(crate) agent: String,
    pub(crate) conversation: String,
}

impl Workload {
    /// Creates both with some messages.
    pub(crate) async fn create(endpoint: &Endpoint) -> Result<Self> {
        let client = ApiClient::new(endpoint);
        let rules = json!([{ "pattern": "echo (.*)", "reply": "Echo of {{capture.1}}." }]);
        let draft = json!({ "name": "Ada", "config": { "engine": "rules", "rules": rules } });
        let agent = create(&client, "/api/agents", &draft).await?;
        let draft = json!({ "agentId": agent });
        let workload = Self {
            conversation: create(&client, "/api/conversations", &draft).await?,
            agent,
        };
        for _ in 0..CHATS {
            let chat = workload.chat();
            client.call(Method::POST, "/api/chat", Some(&chat)).await?;
        }
        Ok(workload)
    }

    pub(crate) fn agent_path(&self) -> String {
        format!("/api/agents/{}", self.agent)
    }

    pub(crate) fn conversation_path(&self) -> String {
        format!("/api/conversations/{}", self.conversation)
    }

    /// The body of a chat in the conversation.
    pub(crate) fn chat(&self) -> Value {
        json!({
            "agentId": self.agent,
            "conversationId": self.conversation,
            "message": "echo hello",
        })
    }
}

/// Creates a resource and returns its id.
pub(crate) async fn create(client: &ApiClient, path: &str, draft: &Value) -> Result<String> {
    let created = client.call(Method::POST, path, Some(draft)).await?;
    text(&created, "id").map(str::to_owned)
}

/// Returns a string member of an object.
pub(crate) fn text<'v>(value: &'v Value, member: &str) -> Result<&'v str> {
    value[member]
        .as_str()
        .with_context(|| format!("no {member} in {value}"))
}
