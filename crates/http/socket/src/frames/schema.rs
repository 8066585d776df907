//! The published schemas of frames. Commands are validated against the same schemas, so that
//! documentation and server agree.

use kit::body::MissingComponent;
use serde_json::{Value, json};
use utoipa::OpenApi;

use super::{MAX_CHANNELS, client, server};

/// The `type` of each command, and the component that describes its frame.
pub const COMMANDS: &[(&str, &str)] = &[
    ("connect", "ConnectFrame"),
    ("subscribe", "SubscribeFrame"),
    ("unsubscribe", "UnsubscribeFrame"),
    ("refresh", "RefreshFrame"),
    ("chat", "ChatFrame"),
    ("cancel", "CancelFrame"),
    ("act", "ActFrame"),
    ("typing", "TypingFrame"),
    ("ping", "PingFrame"),
];

/// The component with the members that all commands have in common.
pub(crate) const COMMON_FRAME: &str = "AnyFrame";

#[derive(OpenApi)]
#[openapi(components(schemas(
    client::ConnectFrame,
    client::SubscribeFrame,
    client::UnsubscribeFrame,
    client::RefreshFrame,
    client::CancelFrame,
    client::ActFrame,
    client::TypingFrame,
    client::PingFrame,
    server::ServerFrame,
)))]
struct Frames;

/// The components that commands are validated against.
pub fn components() -> impl Iterator<Item = &'static str> {
    let commands = COMMANDS.iter().map(|(_, component)| *component);
    commands.chain([COMMON_FRAME])
}

/// Returns the components of the finished OpenAPI document together with those of all frames:
/// `ServerFrame`, and one for each command in [`COMMANDS`].
pub fn document(openapi: &Value) -> Result<Value, MissingComponent> {
    let derived = serde_json::to_value(Frames::openapi().components).unwrap_or_default();
    let mut schemas = match derived {
        Value::Object(mut components) => components.remove("schemas").unwrap_or_default(),
        _ => Value::Null,
    };
    let channels = &mut schemas["ConnectFrame"]["properties"]["channels"];
    channels["maxItems"] = MAX_CHANNELS.into();
    channels["uniqueItems"] = true.into();
    schemas["ChatFrame"] = chat_frame(openapi)?;
    schemas[COMMON_FRAME] = json!({
        "type": "object",
        "required": ["id", "type"],
        "properties": {"id": id(), "type": {"type": "string"}},
    });
    // An object with members is also a valid `EmptyResult`.
    let results = schemas["ReplyResult"].as_object_mut();
    if let Some((forms, results)) = results.and_then(|it| Some((it.remove("oneOf")?, it))) {
        results.insert("anyOf".to_owned(), forms);
    }
    for (name, component) in COMMANDS {
        add_head(&mut schemas[*component], name);
    }
    // Shared components have the configured sizes in the finished document.
    let published = openapi["components"]["schemas"].as_object();
    for (name, schema) in published.into_iter().flatten() {
        schemas[name] = schema.clone();
    }
    Ok(json!({"components": {"schemas": schemas}}))
}

/// The frame of `chat`: the members of the request body, among its own.
fn chat_frame(openapi: &Value) -> Result<Value, MissingComponent> {
    let body = &openapi["components"]["schemas"]["ChatRequest"];
    let mut frame = body
        .as_object()
        .cloned()
        .ok_or_else(|| MissingComponent("ChatRequest".to_owned()))?;
    frame.insert(
        "description".to_owned(),
        "`chat`: send a message to an agent. Events and live data of the conversation follow until \
         the turn has ended."
            .into(),
    );
    if let Some(members) = frame.get_mut("properties").and_then(Value::as_object_mut) {
        members.remove("stream");
        members.insert("idempotencyKey".to_owned(), idempotency_key());
    }
    Ok(Value::Object(frame))
}

fn id() -> Value {
    json!({
        "type": "integer",
        "format": "int64",
        "description": "The id of the command, which the reply repeats.",
        "minimum": 0,
        "maximum": 9_007_199_254_740_991_i64,
    })
}

fn idempotency_key() -> Value {
    json!({
        "type": "string",
        "description": "The same as the header `Idempotency-Key`: a repeated chat with the same key starts no second turn.",
        "minLength": 1,
        "maxLength": 255,
        "pattern": "^[!#-~]+$",
    })
}

/// Adds the members of every command: `id` and `type`.
fn add_head(schema: &mut Value, name: &str) {
    schema["properties"]["id"] = id();
    schema["properties"]["type"] = json!({"type": "string", "enum": [name]});
    let mut required = vec![json!("id"), json!("type")];
    if let Some(own) = schema["required"].as_array() {
        required.extend_from_slice(own);
    }
    schema["required"] = required.into();
}
