//! The operations of the interface and their budgets.

use std::sync::atomic::{AtomicU64, Ordering};

use dev_load::http::Method;
use serde_json::{Value, json};

use super::workload::Workload;

/// The bytes of a large agent: nearly the largest body that the service accepts by default.
const LARGE_BYTES: usize = 240_000;
/// The name of the creation of a large agent.
pub(crate) const LARGE_WRITE: &str = "POST agents, 240 kB";
/// The bytes of one rule of a large agent.
const RULE_BYTES: usize = 8_000;

/// An operation, and the number of round trips to the home region that it may take.
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) budget: Budget,
    pub(crate) call: Call,
}

/// The number of round trips to the home region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Budget {
    /// None: the region answers by itself.
    Local,
    /// One: the home region answers.
    Home,
}

/// The means of an operation.
pub(crate) enum Call {
    /// A request with the status of its response.
    Request {
        method: Method,
        path: fn(&Workload) -> String,
        body: Option<fn(&Workload) -> Value>,
        status: u16,
    },
    /// `chat` on an open socket.
    SocketChat,
}

/// Returns all operations that are measured.
pub(crate) fn all() -> Vec<Operation> {
    let mut all = reads();
    all.extend(writes());
    all.push(Operation {
        name: "chat on a socket",
        budget: Budget::Home,
        call: Call::SocketChat,
    });
    all
}

fn reads() -> Vec<Operation> {
    let read = |name, path| get(name, Budget::Local, path, 200);
    vec![
        read("GET ping", |_| "/api/ping".to_owned()),
        read("GET agent", Workload::agent_path),
        read("GET agents", |_| "/api/agents?limit=20".to_owned()),
        read("GET conversation", Workload::conversation_path),
        read("GET messages", |workload| {
            format!("{}/messages?limit=20", workload.conversation_path())
        }),
        read("GET events", |_| "/api/events?since=0&limit=20".to_owned()),
        // What a replica does not have may be new, and keys have no events.
        get(
            "GET of an unknown agent",
            Budget::Home,
            |_| "/api/agents/0190a6a8-0000-7000-8000-000000000000".to_owned(),
            404,
        ),
        get(
            "GET keys",
            Budget::Home,
            |_| "/api/keys?limit=1".to_owned(),
            200,
        ),
    ]
}

fn writes() -> Vec<Operation> {
    let post = |name, path: fn(&Workload) -> String, body, status| {
        write(name, Method::POST, path, body, status)
    };
    vec![
        post("POST chat", |_| "/api/chat".to_owned(), Workload::chat, 200),
        post(
            "POST agents",
            |_| "/api/agents".to_owned(),
            |_| json!({ "name": "Ada" }),
            201,
        ),
        post(
            LARGE_WRITE,
            |_| "/api/agents".to_owned(),
            |_| large_agent(),
            201,
        ),
        write(
            "PATCH agent",
            Method::PATCH,
            Workload::agent_path,
            |_| json!({ "name": new_name() }),
            200,
        ),
        post(
            "POST conversations",
            |_| "/api/conversations".to_owned(),
            |workload| json!({ "agentId": workload.agent }),
            201,
        ),
        post(
            "POST user-tokens",
            |_| "/api/user-tokens".to_owned(),
            |_| json!({ "userId": "grace" }),
            201,
        ),
    ]
}

fn get(
    name: &'static str,
    budget: Budget,
    path: fn(&Workload) -> String,
    status: u16,
) -> Operation {
    Operation {
        name,
        budget,
        call: Call::Request {
            method: Method::GET,
            path,
            body: None,
            status,
        },
    }
}

fn write(
    name: &'static str,
    method: Method,
    path: fn(&Workload) -> String,
    body: fn(&Workload) -> Value,
    status: u16,
) -> Operation {
    Operation {
        name,
        budget: Budget::Home,
        call: Call::Request {
            method,
            path,
            body: Some(body),
            status,
        },
    }
}

/// Returns a name that no agent had before.
pub(crate) fn new_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("Agent {}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn large_agent() -> Value {
    let reply = "x".repeat(RULE_BYTES - 100);
    let rule = |number| json!({ "pattern": format!("rule {number}"), "reply": reply });
    let rules: Vec<_> = (0..LARGE_BYTES / RULE_BYTES).map(rule).collect();
    json!({ "name": "Ada", "config": { "engine": "rules", "rules": rules } })
}
