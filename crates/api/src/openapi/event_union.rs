//! The event as a union with one component for each type, so that generated types narrow by `type`.

use domain::EventType;
use serde_json::{Map, Value, json};

use super::{
    component::{self, MissingComponent, component, component_mut, reference},
    variants::pascal_case,
};

/// Replaces `Event` by a union of `AgentCreatedEvent`, `TurnStartedEvent` and so on.
pub(super) fn apply(document: &mut Value) -> Result<(), MissingComponent> {
    name_contents(document)?;
    let event = component(document, "Event")?.clone();
    let mut mapping = Map::new();
    for kind in EventType::ALL {
        let name = format!("{}Event", pascal_case(kind.as_str()));
        mapping.insert(kind.as_str().to_owned(), reference(&name));
        component::put(document, &name, variant(&event, *kind));
    }
    let references: Vec<Value> = mapping.values().map(|it| json!({ "$ref": it })).collect();
    let union = component_mut(document, "Event")?;
    union.retain(|member, _| member == "description");
    union.insert("oneOf".to_owned(), references.into());
    let discriminator = json!({ "propertyName": "type", "mapping": mapping });
    union.insert("discriminator".to_owned(), discriminator);
    Ok(())
}

/// Moves each kind of content into a component with the name that is its title.
fn name_contents(document: &mut Value) -> Result<(), MissingComponent> {
    let contents = component(document, "EventData")?.get("oneOf").cloned();
    let contents = contents.as_ref().and_then(Value::as_array);
    for content in contents.into_iter().flatten() {
        if let Some(title) = content["title"].as_str() {
            component::put(document, title, content.clone());
        }
    }
    Ok(())
}

/// Returns the schema of an event of one type.
fn variant(event: &Map<String, Value>, kind: EventType) -> Value {
    let mut schema = Value::Object(event.clone());
    schema["description"] = format!("The event `{}`.", kind.as_str()).into();
    schema["properties"]["type"] = json!({ "type": "string", "const": kind.as_str() });
    let content = json!({ "$ref": reference(content(kind)) });
    let deleted = json!({ "$ref": reference("DeletedEventData") });
    schema["properties"]["data"] = match kind {
        EventType::AgentDeleted => content,
        _ => json!({
            "description": "The state after the change, unless its subject has been deleted since.",
            "oneOf": [content, deleted],
        }),
    };
    schema
}

/// Returns the component with the content of an event.
const fn content(kind: EventType) -> &'static str {
    match kind {
        EventType::AgentCreated | EventType::AgentUpdated => "AgentEventData",
        EventType::AgentDeleted => "AgentDeletedEventData",
        EventType::ConversationCreated | EventType::ConversationUpdated => "ConversationEventData",
        EventType::ConversationDeleted => "ConversationDeletedEventData",
        EventType::MessagesSuperseded => "MessagesSupersededEventData",
        EventType::TurnQueued
        | EventType::TurnStarted
        | EventType::TurnCompleted
        | EventType::TurnFailed
        | EventType::TurnCancelled => "TurnEventData",
        // Only known types are published.
        EventType::Other(_) => "EventData",
    }
}
