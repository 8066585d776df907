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
    /// A key that may manage keys, and nothing else.
    pub(crate) key: String,
    /// A client whose tokens may do so.
    pub(crate) client: String,
    /// The secret of that client.
    pub(crate) client_secret: String,
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
        let manager = || json!({"name": "Manager", "scopes": ["keys:admin"]});
        let key = api.writer().post("/api/keys", manager()).await.made();
        let client = api.writer().post("/api/oauth-clients", manager()).await;
        let client = client.made();
        Self {
            agent,
            conversation,
            turn: reply["turnId"].as_str().expect("a turn").to_owned(),
            key: id_of(&key),
            client: id_of(&client),
            client_secret: client["secret"].as_str().expect("a secret").to_owned(),
        }
    }
}

impl Sample {
    /// All of their ids.
    pub(crate) fn ids(&self) -> [&str; 5] {
        [
            &self.agent,
            &self.conversation,
            &self.turn,
            &self.key,
            &self.client,
        ]
    }
}

/// What a request says that is to become a socket.
pub(crate) const UPGRADE: [(&str, &str); 4] = [
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

impl Operation {
    /// The status of its success.
    pub(crate) fn success(&self) -> u16 {
        let responses = self.described["responses"].as_object().expect("responses");
        // What opens a socket answers by switching protocols.
        let success = responses
            .keys()
            .find(|status| status.starts_with('2') || *status == "101");
        let status = success.unwrap_or_else(|| panic!("{} never succeeds", self.id));
        status.parse().expect("a status")
    }

    /// Its path for the sample.
    pub(crate) fn path(&self, sample: &Sample) -> String {
        let id = match self.template {
            path if path.starts_with("/api/agents") => &sample.agent,
            path if path.starts_with("/api/conversations") => &sample.conversation,
            path if path.starts_with("/api/turns") => &sample.turn,
            path if path.starts_with("/api/keys") => &sample.key,
            path if path.starts_with("/api/oauth-clients") => &sample.client,
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
        if self.takes_a_form() {
            return request.form(&self.form(sample));
        }
        match self.body(sample) {
            Some(body) => request.json(&body),
            None if self.id == "open_socket" => {
                UPGRADE.iter().fold(request, |request, (name, value)| {
                    request.header(name, value)
                })
            }
            None => request,
        }
    }

    /// Whether its body is a form: then the client authenticates in it.
    pub(crate) fn takes_a_form(&self) -> bool {
        let content = &self.described["requestBody"]["content"];
        content["application/x-www-form-urlencoded"].is_object()
    }

    fn form<'a>(&self, sample: &'a Sample) -> Vec<(&'a str, &'a str)> {
        let own = match self.id {
            "issue_token" => ("grant_type", "client_credentials"),
            "revoke_token" | "introspect_token" => ("token", "nonsense"),
            other => panic!("what is the form of {other}?"),
        };
        vec![
            own,
            ("client_id", &sample.client),
            ("client_secret", &sample.client_secret),
        ]
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
            "create_key" | "create_oauth_client" => {
                json!({"name": "Manager", "scopes": ["keys:admin"]})
            }
            "create_ticket" => json!({"scopes": ["events:read"]}),
            "rotate_key" | "rotate_oauth_client" => json!({"overlapSeconds": 60}),
            other => panic!("what is the body of {other}?"),
        })
    }
}
