//! The whole document.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{
    message::{CHAT, Channel, LOG, Message, SOCKET},
    operations, schemas, servers, socket, streams,
};
use crate::{
    access::SUBPROTOCOL,
    openapi::Missing,
    socket::{CloseCode, ComeBack, frames},
};

/// Generators such as Modelina read no newer one.
const VERSION: &str = "3.0.0";

/// The document of a server that clients reach at `url`, whose finished OpenAPI document is
/// `openapi`: both have the same components.
pub fn document(openapi: &Value, url: &str) -> Result<Value, Missing> {
    let frames = frames::document(openapi)?;
    let mut components = frames["components"]["schemas"].clone();
    schemas::name_frames(&mut components)?;
    let components = &components;
    let messages: Vec<Message> = [
        socket::commands(components)?,
        socket::said(components)?,
        streams::log(components)?,
        streams::chat(components)?,
    ]
    .into_iter()
    .flatten()
    .collect();
    let described: Map<String, Value> = messages
        .iter()
        .map(|message| (message.key.to_owned(), message.described()))
        .collect();
    Ok(json!({
        "asyncapi": VERSION,
        "info": info(openapi),
        "defaultContentType": "application/json",
        "servers": servers::servers(url),
        "channels": {
            SOCKET.key: socket_channel(&messages),
            LOG.key: stream_channel(LOG, &messages, "The tenant's log as server-sent events: what \
                comes after the cursor, and then every change as it happens. `id` is the `seq`, \
                `event` the type, `data` the event."),
            CHAT.key: stream_channel(CHAT, &messages, "One turn as server-sent events, in answer \
                to a chat that asks for them: `turn.queued` if it must wait, `turn.started`, \
                `reply.delta` as the agent speaks, and one of `turn.completed`, `turn.failed`, \
                `turn.cancelled`. An engine that answers at once, as `rules` does, speaks in one \
                `reply.delta`."),
        },
        "operations": operations::operations(openapi),
        "components": {
            "schemas": schemas::reachable(components, &described),
            "messages": described,
            "securitySchemes": servers::security_schemes(openapi),
        },
    }))
}

fn info(openapi: &Value) -> Value {
    let mut info = openapi["info"].clone();
    info["description"] = "What is said in real time: on WebSockets, and in streams of \
        server-sent events. `/openapi.json` describes the rest.\n\nEvery change is an event in the \
        tenant's log, numbered without a gap by `seq`. One cursor, the last `seq` that a client \
        has seen, goes on from there on a socket, in a stream and by plain GET alike.\n\nClients \
        must ignore messages and members that they do not know."
        .into();
    info["license"] = json!({"name": openapi["info"]["license"]["name"]});
    info
}

fn socket_channel(messages: &[Message]) -> Value {
    json!({
        "address": SOCKET.address,
        "servers": [{"$ref": "#/servers/socket"}],
        "description": socket_description(),
        "messages": references(SOCKET, messages),
        "bindings": {"ws": {
            "method": "GET",
            "query": {
                "type": "object",
                "properties": {"ticket": {
                    "type": "string",
                    "description": "A ticket of `POST /api/ws/tickets`, in place of a credential in a header.",
                }},
            },
            "headers": {
                "type": "object",
                "properties": {
                    "Authorization": {"type": "string", "description": "`Bearer` and an access token or API key."},
                    "X-API-Key": {"type": "string", "description": "An API key."},
                    "Origin": {"type": "string", "description": "Of a page: one that the server allows."},
                    "Sec-WebSocket-Protocol": {"type": "string", "description": format!("`{SUBPROTOCOL}`, if any is named.")},
                },
            },
            "bindingVersion": "0.1.0",
        }},
    })
}

fn socket_description() -> String {
    let mut codes = String::new();
    for code in CloseCode::ALL {
        let advice = match code.come_back() {
            ComeBack::Never => "Do not come back.",
            ComeBack::WithBackOff => "Come back after a pause.",
            ComeBack::Now => "Come back now.",
        };
        let (number, reason, title) = (code.number(), code.reason(), code.title());
        // Writing to a text cannot fail.
        let _ = writeln!(codes, "- {number} `{reason}`: {title} {advice}");
    }
    format!(
        "One connection on which commands go in and what happens comes out: one JSON object a text \
         frame. The credential comes in a header, as `ticket`, or as `token` of `connect`, the \
         first command, which then is due within 10 seconds.\n\n\
         What a client follows is named inside, by channels that share this one connection: \
         `tenant` (all that the caller may see), `agent:<id>` and `conversation:<id>`. Each gets \
         its events in order and once. With `since` it is first told what came after that \
         position, up to `caughtUp`; where the log does not reach, or too much has happened, it \
         gets `resync`, reads the state anew and goes on from `headSeq`. What is said in a running \
         turn is live; of an engine that answers at once, as `rules` does, nothing is.\n\n\
         The server closes with:\n{codes}"
    )
}

fn stream_channel(channel: Channel, messages: &[Message], description: &str) -> Value {
    json!({
        "address": channel.address,
        "servers": [{"$ref": "#/servers/http"}],
        "description": description,
        "messages": references(channel, messages),
    })
}

fn references(channel: Channel, messages: &[Message]) -> Value {
    let own = messages.iter().filter(|message| message.channel == channel);
    let references = own.map(|message| {
        let target = format!("#/components/messages/{}", message.key);
        (message.key.to_owned(), json!({"$ref": target}))
    });
    Value::Object(references.collect())
}
