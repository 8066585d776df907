//! Every operation of the document, and a request that it carries out.

use serde_json::{Value, json};

use crate::{
    answer::Request,
    caller::Caller,
    documented::document,
    harness::{Api, id_of},
};

/// An operation of the document.
pub(crate) struct Operation {
    /// Its name.
    pub(crate) id: &'static str,
    /// Its method, in capitals.
    pub(crate) method: String,
    /// Its path, with parameters in braces.
    pub(crate) template: &'static str,
    /// What the document says of it.
    pub(crate) described: &'static Value,
}

/// Every operation of the document.
pub(crate) fn all() -> Vec<Operation> {
    let paths = document()["paths"].as_object().expect("paths");
    let items = paths.iter().flat_map(|(template, item)| {
        let operations = item.as_object().expect("an item");
        operations.iter().map(move |(method, described)| Operation {
            id: described["operationId"].as_str().expect("a name"),
            method: method.to_uppercase(),
            template,
            described,
        })
    });
    items.collect()
}

/// What an operation can work on.
pub(crate) struct Sample {
    /// An agent.
    pub(crate) agent: String,
    /// A conversation with it, in which something was said.
    pub(crate) conversation: String,
    /// The turn in which it was said.
    pub(crate) turn: String,
}

impl Sample {
    /// Makes new ones.
    pub(crate) async fn make(api: &Api) -> Self {
        let draft = json!({"name": "Ada", "config": {"greeting": "Hi!"}});
        let agent = id_of(&api.agent(draft).await);
        let draft = json!({"agentId": agent, "userId": "bob"});
        let conversation = id_of(&api.conversation(draft).await);
        let command = json!({"agentId": agent, "conversationId": conversation, "message": "Hello"});
        let reply = api.chat(command).await;
        Self {
            agent,
            conversation,
            turn: reply["turnId"].as_str().expect("a turn").to_owned(),
        }
    }
}

impl Operation {
    /// The status of its success.
    pub(crate) fn success(&self) -> u16 {
        let responses = self.described["responses"].as_object().expect("responses");
        let success = responses.keys().find(|status| status.starts_with('2'));
        let status = success.unwrap_or_else(|| panic!("{} never succeeds", self.id));
        status.parse().expect("a status")
    }

    /// Its path for the sample.
    pub(crate) fn path(&self, sample: &Sample) -> String {
        let id = match self.template {
            path if path.starts_with("/api/agents") => &sample.agent,
            path if path.starts_with("/api/conversations") => &sample.conversation,
            path if path.starts_with("/api/turns") => &sample.turn,
            _ => "",
        };
        let path = self
            .template
            .replace("{id}", id)
            .replace("{code}", "internal");
        assert!(!path.contains('{'), "{}: what is in {path}?", self.id);
        path
    }

    /// A request that it carries out, if `caller` may.
    pub(crate) fn request(&self, caller: &Caller, sample: &Sample) -> Request {
        let request = caller.request(&self.method, &self.path(sample));
        match self.body(sample) {
            Some(body) => request.json(&body),
            None => request,
        }
    }

    fn body(&self, sample: &Sample) -> Option<Value> {
        if self.described["requestBody"].is_null() {
            return None;
        }
        let agent = &sample.agent;
        Some(match self.id {
            "create_agent" => json!({"name": "Bob"}),
            "patch_agent" => json!({"personality": "Brief."}),
            "put_agent_config" => json!({"fallbackReply": "Hm."}),
            "chat" => json!({"agentId": agent, "message": "Hello"}),
            "create_conversation" => json!({"agentId": agent}),
            "patch_conversation" => json!({"title": "Greetings"}),
            other => panic!("what is the body of {other}?"),
        })
    }
}
