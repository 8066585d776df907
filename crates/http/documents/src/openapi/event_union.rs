//! The event as a union with one component for each type, so that generated types narrow by `type`.

use domain::EventType;
use kit::body::MissingComponent;
use serde_json::{Map, Value, json};

use super::{
    component::{self, component, component_mut, reference},
    variants::pascal_case,
};

/// The component with the members that all events have in common.
const HEAD: &str = "EventHead";
/// The members that depend on the type.
const OWN: [&str; 2] = ["type", "data"];
/// The component with the content of events whose subject has been deleted since.
const DELETED: &str = "DeletedEventData";
/// The component with the content of events of agents for readers who see only profiles.
const PROFILE: &str = "ProfileEventData";

/// Replaces `Event` by a union of `AgentCreatedEvent`, `TurnStartedEvent` and so on.
pub(super) fn apply(document: &mut Value) -> Result<(), MissingComponent> {
    name_contents(document)?;
    let event = component(document, "Event")?.clone();
    component::put(document, HEAD, head(event));
    let mut mapping = Map::new();
    for kind in EventType::ALL {
        let name = format!("{}Event", pascal_case(kind.as_str()));
        mapping.insert(kind.as_str().to_owned(), reference(&name));
        component::put(document, &name, variant(*kind));
        let content = content(*kind);
        let reduced = (content == "AgentEventData").then_some(PROFILE);
        let either = [content].into_iter().chain(reduced).chain([DELETED]);
        let either: Vec<_> = either
            .map(|name| json!({ "$ref": reference(name) }))
            .collect();
        let description = "The state after the change, unless its subject has been deleted since.";
        let union = json!({ "description": description, "oneOf": either });
        component::put(document, &or_deleted(content), union);
    }
    let references: Vec<Value> = mapping.values().map(|it| json!({ "$ref": it })).collect();
    let union = component_mut(document, "Event")?;
    union.retain(|member, _| member == "description");
    union.insert("oneOf".to_owned(), references.into());
    let discriminator = json!({ "propertyName": "type", "mapping": mapping });
    union.insert("discriminator".to_owned(), discriminator);
    Ok(())
}

/// Returns the schema of an event without the members that depend on its type.
fn head(mut event: Map<String, Value>) -> Value {
    if let Some(Value::Object(members)) = event.get_mut("properties") {
        members.retain(|name, _| !OWN.contains(&name.as_str()));
    }
    if let Some(Value::Array(required)) = event.get_mut("required") {
        required.retain(|name| OWN.iter().all(|own| name != own));
    }
    event.insert(
        "description".to_owned(),
        "The members of every event.".into(),
    );
    event.into()
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
fn variant(kind: EventType) -> Value {
    let content = match kind {
        EventType::AgentDeleted => content(kind).to_owned(),
        _ => or_deleted(content(kind)),
    };
    json!({
        "description": format!("The event `{}`.", kind.as_str()),
        "allOf": [
            { "$ref": reference(HEAD) },
            {
                "type": "object",
                "required": OWN,
                "properties": {
                    "type": { "type": "string", "const": kind.as_str() },
                    "data": { "$ref": reference(&content) },
                },
            },
        ],
    })
}

/// The name of the union of a content and that of a deleted subject. Generators would give an
/// inline union the name of another component.
fn or_deleted(content: &str) -> String {
    format!("{content}OrDeleted")
}

/// Returns the component with the content of an event.
const fn content(kind: EventType) -> &'static str {
    match kind {
        EventType::AgentCreated | EventType::AgentUpdated => "AgentEventData",
        EventType::AgentDeleted => "AgentDeletedEventData",
        EventType::NoteCreated | EventType::NoteDeleted => "NoteEventData",
        EventType::UserUpdated => "UserEventData",
        EventType::UserErased => "UserErasedEventData",
        EventType::MessageCreated | EventType::MessageUpdated => "MessageEventData",
        EventType::MessageDeleted => "MessageDeletedEventData",
        EventType::MessageRated => "MessageRatedEventData",
        EventType::ConversationCreated | EventType::ConversationUpdated => "ConversationEventData",
        EventType::ConversationDeleted => "ConversationDeletedEventData",
        EventType::MessagesSuperseded => "MessagesSupersededEventData",
        EventType::TurnQueued
        | EventType::TurnStarted
        | EventType::TurnRequiresAction
        | EventType::TurnResumed
        | EventType::TurnCompleted
        | EventType::TurnFailed
        | EventType::TurnCancelled => "TurnEventData",
        // Only known types are published.
        EventType::Other(_) => "EventData",
    }
}
