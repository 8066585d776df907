//! All operations of the document, each with a valid request.

use std::sync::{
    LazyLock,
    atomic::{AtomicU32, Ordering},
};

use kit::operations::OperationTable;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    caller::Caller,
    documented::paths,
    response::Request,
};

/// The table of operations.
pub(crate) fn table() -> &'static OperationTable {
    static TABLE: LazyLock<OperationTable> = LazyLock::new(api::operations::table);
    &TABLE
}

/// An operation of the document.
pub(crate) struct Operation {
    /// Its name.
    pub(crate) id: &'static str,
    /// The method in upper case.
    pub(crate) method: String,
    /// Its path, with parameters in braces.
    pub(crate) template: &'static str,
    /// The operation in the document.
    pub(crate) described: &'static Value,
}

/// Every operation of the document.
pub(crate) fn all() -> Vec<Operation> {
    let paths = paths().as_object().expect("paths");
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

/// The resources that an operation can use.
pub(crate) struct TestResources {
    /// An agent.
    pub(crate) agent: String,
    /// A conversation with the agent that has messages.
    pub(crate) conversation: String,
    /// A message of staff in it.
    pub(crate) staff_message: String,
    /// A note of staff about it.
    pub(crate) note: String,
    /// A file of its first message.
    pub(crate) file: String,
    /// A file that no message uses.
    pub(crate) unused_file: String,
    /// The turn of its messages.
    pub(crate) turn: String,
    /// A turn whose first call waits for approval.
    pub(crate) waiting: String,
    /// A key that may manage keys, and nothing else.
    pub(crate) key: String,
    /// A client whose tokens have all scopes.
    pub(crate) client: String,
    /// The secret of that client.
    pub(crate) client_secret: String,
}

impl TestResources {
    /// Creates new resources.
    pub(crate) async fn make(api: &ApiServer) -> Self {
        let draft = json!({"name": "Ada", "config": {"greeting": "Hi!"}});
        let agent = id_of(&api.agent(draft).await);
        let draft = json!({"agentId": agent, "userId": "bob"});
        let conversation = id_of(&api.conversation(draft).await);
        let file = upload(api, "a").await;
        let command = json!({
            "agentId": agent, "conversationId": conversation, "message": "Hello", "files": [file],
        });
        let reply = api.chat(command).await;
        let path = format!("/api/conversations/{conversation}/messages");
        let staff_message = json!({"content": "I can help."});
        let staff_message = api.writer().post(&path, staff_message).await.created();
        let path = format!("/api/conversations/{conversation}/notes");
        let note = json!({"content": "A regular."});
        let note = api.writer().post(&path, note).await.created();
        let call = json!({"tool": "calculator", "arguments": {"expression": "1 + 1"}});
        let config = json!({
            "rules": [{"pattern": "add", "call": call, "reply": "{{result}}"}],
            "tools": [{"name": "calculator", "approval": "always"}],
        });
        let calculating = id_of(&api.agent(json!({"name": "Bea", "config": config})).await);
        let waiting = api
            .chat(json!({"agentId": calculating, "message": "add"}))
            .await;
        let grace = json!({"context": "A regular."});
        api.writer().put("/api/users?userId=grace", grace).await;
        let manager = || json!({"name": "Manager", "scopes": ["keys:admin"]});
        let key = api.writer().post("/api/keys", manager()).await.created();
        let client = api.writer().post("/api/oauth-clients", manager()).await;
        let client = client.created();
        Self {
            agent,
            conversation,
            staff_message: id_of(&staff_message),
            note: id_of(&note),
            file,
            unused_file: upload(api, "b").await,
            turn: reply["turnId"].as_str().expect("a turn").to_owned(),
            waiting: waiting["turnId"].as_str().expect("a turn").to_owned(),
            key: id_of(&key),
            client: id_of(&client),
            client_secret: client["secret"].as_str().expect("a secret").to_owned(),
        }
    }
}

/// Uploads a text.
async fn upload(api: &ApiServer, text: &str) -> String {
    let file = api.writer().post("/api/files", json!([text])).await;
    id_of(&file.created())
}

impl TestResources {
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

static NEXT_USER: AtomicU32 = AtomicU32::new(0);

/// The headers of a WebSocket upgrade.
pub(crate) const UPGRADE: [(&str, &str); 4] = [
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

impl Operation {
    /// The status of a successful response.
    pub(crate) fn success(&self) -> u16 {
        let responses = self.described["responses"].as_object().expect("responses");
        // New resources are created. A socket upgrade responds with a protocol switch.
        let success = responses.keys().find(|status| *status == "201");
        let success = success.or_else(|| {
            let mut statuses = responses.keys();
            statuses.find(|status| status.starts_with('2') || *status == "101")
        });
        let status = success.unwrap_or_else(|| panic!("{} never succeeds", self.id));
        status.parse().expect("a status")
    }

    /// The path with the ids of the resources.
    pub(crate) fn path(&self, resources: &TestResources) -> String {
        let id = match self.template {
            path if path.starts_with("/api/agents") || path.starts_with("/api/profiles") => {
                &resources.agent
            }
            path if path.starts_with("/api/conversations") => &resources.conversation,
            path if path.starts_with("/api/files") => match self.id {
                "delete_file" => &resources.unused_file,
                _ => &resources.file,
            },
            "/api/turns/{id}/actions" => &resources.waiting,
            path if path.starts_with("/api/turns") => &resources.turn,
            path if path.starts_with("/api/keys") => &resources.key,
            path if path.starts_with("/api/oauth-clients") => &resources.client,
            _ => "",
        };
        let path = self
            .template
            .replace("{id}", id)
            .replace("{messageId}", &resources.staff_message)
            .replace("{noteId}", &resources.note)
            .replace("{code}", "internal");
        assert!(!path.contains('{'), "{}: what is in {path}?", self.id);
        match self.id {
            "withdraw_user_tokens" | "patch_user" | "export_user" => path + "?userId=grace",
            "erase_user" => path + "?userId=erased",
            // A new one each time.
            "put_user" => format!(
                "{path}?userId={}",
                NEXT_USER.fetch_add(1, Ordering::Relaxed)
            ),
            _ => path,
        }
    }

    /// A valid request, which succeeds if `caller` has the scopes.
    pub(crate) fn request(&self, caller: &Caller, resources: &TestResources) -> Request {
        self.request_at(&self.path(resources), caller, resources)
    }

    /// The same at another path.
    pub(crate) fn request_at(
        &self,
        path: &str,
        caller: &Caller,
        resources: &TestResources,
    ) -> Request {
        let request = caller.request(&self.method, path);
        if self.has_form_body() {
            return request.form(&self.form(resources));
        }
        match self.body(resources) {
            Some(body) => request.json(&body),
            None if self.id == "open_socket" => {
                UPGRADE.iter().fold(request, |request, (name, value)| {
                    request.header(name, value)
                })
            }
            None => request,
        }
    }

    /// Returns true if the body is a form, in which the client authenticates.
    pub(crate) fn has_form_body(&self) -> bool {
        let content = &self.described["requestBody"]["content"];
        content["application/x-www-form-urlencoded"].is_object()
    }

    fn form<'a>(&self, resources: &'a TestResources) -> Vec<(&'a str, &'a str)> {
        let own = match self.id {
            "issue_token" => ("grant_type", "client_credentials"),
            "revoke_token" | "introspect_token" => ("token", "nonsense"),
            other => panic!("what is the form of {other}?"),
        };
        vec![
            own,
            ("client_id", &resources.client),
            ("client_secret", &resources.client_secret),
        ]
    }

    fn body(&self, resources: &TestResources) -> Option<Value> {
        if self.described["requestBody"].is_null() {
            return None;
        }
        let agent = &resources.agent;
        Some(match self.id {
            "create_agent" => json!({"name": "Bob"}),
            "patch_agent" => json!({"personality": "Brief."}),
            "put_agent_config" => json!({"fallbackReply": "Hm."}),
            "chat" | "test_rules" => json!({"agentId": agent, "message": "Hello"}),
            "create_conversation" => json!({"agentId": agent}),
            "create_file" => json!("Hello"),
            "answer_turn" => json!({"actions": [
                {"callId": format!("{}-1", resources.waiting), "decision": "approve"},
            ]}),
            "patch_conversation" => json!({"title": "Greetings"}),
            "write_message" | "patch_message" | "write_note" => json!({"content": "I can."}),
            "rate_message" => json!({"rating": "up"}),
            "create_key" | "create_oauth_client" => {
                json!({"name": "Manager", "scopes": ["keys:admin"]})
            }
            "put_user" | "patch_user" => json!({"name": "Grace"}),
            "create_user_token" => json!({"userId": "grace"}),
            "create_ticket" => json!({"scopes": ["events:read"]}),
            "patch_key" | "patch_oauth_client" => json!({"name": "Head"}),
            "rotate_key" | "rotate_oauth_client" => json!({"overlapSeconds": 60}),
            other => panic!("what is the body of {other}?"),
        })
    }
}
