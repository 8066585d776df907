//! Copies of agents: what `GET` returns is what `POST` takes.

use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    documented,
};

/// The members of an agent that the server sets.
const READ_ONLY: [&str; 4] = ["id", "version", "createdAt", "updatedAt"];

/// A configuration with every member.
fn config() -> Value {
    json!({
        "engine": "rules",
        "fallbacks": ["rules"],
        "instructions": "Say {{user.name}}, or \\{{nothing}}.",
        "greeting": "Hello {{user.name}}!",
        "profile": {"description": "A librarian.", "suggestions": ["Hours?"], "metadata": {"colour": "red"}},
        "responseSchema": {"type": ["object", "string"], "description": "Any"},
        "fallbackReply": "I am {{agent.name}}.",
        "rules": [
            {"pattern": "my name is (?<name>\\w+)", "reply": "Hello, {{capture.name}}."},
            {"keywords": ["order"], "capability": "orders", "reply": "Which one?"},
            {"keywords": ["person"], "reply": "One moment.", "handOver": true},
        ],
        "llm": {
            "model": "small", "temperature": 0.25, "topP": 0.5, "maxOutputTokens": 100, "seed": 7,
            "stop": ["END"], "systemRole": false,
        },
        "history": {"maxMessages": 10, "maxCharacters": 1_000, "toolResults": false},
        "timeoutMs": 5_000,
        "tools": [
            {"name": "time", "visibility": "none", "timeoutMs": 1_000},
            {
                "name": "show_map", "run": "client", "description": "Shows a map.",
                "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
            },
        ],
        "maxToolRounds": 4,
        "maxToolCalls": 8,
        "actionTimeoutSeconds": 3_600,
        "allowClientTools": true,
        "allowHandOver": true,
        "allowUnrecorded": true,
        "retention": "30d",
        "titles": {"engine": "rules", "model": "small"},
        "metadata": {"team": "library"},
    })
}

#[test]
fn the_configuration_has_every_member() {
    let document = documented::document();
    let schema = &document["components"]["schemas"]["AgentConfig"]["properties"];
    let names = |object: &Value| object.as_object().unwrap().keys().cloned().collect();
    let (mut documented, mut given): (Vec<String>, Vec<String>) = (names(schema), names(&config()));
    documented.sort();
    given.sort();
    assert_eq!(given, documented);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_without_its_read_only_members_creates_a_copy() {
    let api = ApiServer::start().await;
    let draft = json!({
        "name": "Ada", "personality": "Patient.", "capabilities": ["orders", "time"],
        "config": config(),
    });
    let original = id_of(&api.agent(draft).await);
    let original = api.reader().get(&format!("/api/agents/{original}")).await;
    let writable = |agent: Value| {
        let mut agent = agent;
        let members = agent.as_object_mut().unwrap();
        for member in READ_ONLY {
            members.remove(member).expect("a member");
        }
        agent
    };
    let body = writable(original.ok());
    assert_eq!(body["config"], config());
    let copy = api.writer().post("/api/agents", body.clone()).await;
    let copy = copy.created();
    assert_ne!(copy["id"], original.json()["id"]);
    assert_eq!(writable(copy), body);
    api.stop().await;
}
