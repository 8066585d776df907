//! The operations on each channel.

use kit::operations::{Access, OperationTable};
use serde_json::{Map, Value, json};
use socket::frames::COMMANDS;

use super::{
    message::{CHAT, Channel, LOG, SOCKET},
    replies, sockets, streams,
};
use crate::surfaces;

/// Returns one operation for each command, one for each frame that the server sends unrequested,
/// and those of the streams.
pub(super) fn operations(openapi: &Value) -> Value {
    let table = surfaces::table();
    let mut operations = Map::new();
    for (name, _) in COMMANDS {
        let mut operation = operation("receive", SOCKET, &[*name]);
        operation["summary"] =
            format!("Execute `{name}`. {}", required_scopes(name, &table)).into();
        operation["reply"] = reply(SOCKET, &[replies::success_key(name), replies::ERROR]);
        operations.insert(format!("{name}Command"), operation);
    }
    for key in sockets::server_messages() {
        let name = format!("send{}{}", key[..1].to_uppercase(), &key[1..]);
        operations.insert(name, operation("send", SOCKET, &[key]));
    }
    let mut follow = operation("send", LOG, &["logEvent", "logResync"]);
    follow["summary"] = "Follow the log (`Accept: text/event-stream`).".into();
    follow["bindings"] = json!({"http": {
        "method": "GET",
        "query": query(openapi, &openapi["paths"][LOG.address]["get"]),
        "bindingVersion": "0.3.0",
    }});
    operations.insert("streamEvents".to_owned(), follow);
    let events: Vec<&str> = streams::CHAT_EVENTS
        .iter()
        .map(|(key, _, _)| *key)
        .collect();
    let mut chat = operation("receive", CHAT, &[streams::REQUEST]);
    chat["summary"] = "Chat, and receive the reply as a stream (`stream: true`, or `Accept: \
                       text/event-stream`). Closing it does not end the turn."
        .into();
    chat["reply"] = reply(CHAT, &events);
    chat["bindings"] = json!({"http": {"method": "POST", "bindingVersion": "0.3.0"}});
    operations.insert("streamChat".to_owned(), chat);
    Value::Object(operations)
}

/// The scopes that a command requires: those of the equivalent HTTP operation.
fn required_scopes(command: &str, table: &OperationTable) -> String {
    let operation = match command {
        "chat" => "chat",
        "cancel" | "act" | "typing" => "cancel_turn",
        _ => "open_socket",
    };
    let access = table.find(operation).map(|operation| operation.access);
    let Some(Access::AnyOf(scopes)) = access else {
        return String::new();
    };
    let scopes: Vec<String> = scopes.iter().map(|scope| format!("`{scope}`")).collect();
    let also = match command {
        "connect" | "subscribe" => {
            " A channel `agent:<id>` also requires `agents:read` or `conversations:read`."
        }
        _ => "",
    };
    format!("Requires {}.{also}", scopes.join(" or "))
}

fn operation(action: &str, channel: Channel, messages: &[&str]) -> Value {
    json!({
        "action": action,
        "channel": {"$ref": format!("#/channels/{}", channel.key)},
        "messages": references(channel, messages),
    })
}

fn reply(channel: Channel, messages: &[&str]) -> Value {
    json!({
        "channel": {"$ref": format!("#/channels/{}", channel.key)},
        "messages": references(channel, messages),
    })
}

fn references(channel: Channel, messages: &[&str]) -> Value {
    let messages = messages
        .iter()
        .map(|key| json!({"$ref": format!("#/channels/{}/messages/{key}", channel.key)}));
    messages.collect()
}

/// The query parameters of an operation of the OpenAPI document.
fn query(openapi: &Value, operation: &Value) -> Value {
    let parameters = operation["parameters"].as_array();
    let inside = parameters
        .into_iter()
        .flatten()
        .map(|parameter| {
            let target = parameter["$ref"].as_str();
            let shared = target.and_then(|it| openapi.pointer(it.strip_prefix('#')?));
            shared.unwrap_or(parameter)
        })
        .filter(|parameter| parameter["in"] == "query");
    let properties = inside.filter_map(|parameter| {
        let mut schema = parameter["schema"].clone();
        schema["description"] = parameter["description"].clone();
        Some((parameter["name"].as_str()?.to_owned(), schema))
    });
    json!({"type": "object", "properties": properties.collect::<Map<_, _>>()})
}
