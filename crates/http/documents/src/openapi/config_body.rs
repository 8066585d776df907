//! The body of `PUT /api/agents/{id}/config`: the whole configuration, and beside it the other
//! members that a client sets of an agent.

use kit::body::{AGENT_MEMBERS, MissingComponent};
use serde_json::{Map, Value, json};

use super::component::{component, put};

/// Adds the component `ConfigBody`.
pub(super) fn add(document: &mut Value) -> Result<(), MissingComponent> {
    let mut body = component(document, "AgentConfig")?.clone();
    let agent = component(document, "AgentDraft")?;
    let mut members = object(body.remove("properties"));
    for name in AGENT_MEMBERS {
        let member = agent["properties"].get(name);
        let member = member.ok_or_else(|| MissingComponent(format!("AgentDraft.{name}")))?;
        let mut member = object(Some(member.clone()));
        member.remove("default");
        members.insert(name.to_owned(), member.into());
    }
    body.insert("properties".to_owned(), members.into());
    body.insert(
        "description".to_owned(),
        json!(
            "An agent's whole configuration. `name`, `personality` and `capabilities` may be \
             beside it; they keep their values when absent."
        ),
    );
    put(document, "ConfigBody", body.into());
    Ok(())
}

fn object(value: Option<Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    }
}
