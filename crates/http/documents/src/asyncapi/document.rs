//! Assembles the document.

use std::fmt::Write as _;

use kit::{auth::SUBPROTOCOL, body::MissingComponent};
use serde_json::{Map, Value, json};
use socket::{CloseCode, Reconnect, frames};

use super::{
    message::{CHAT, Channel, LOG, Message, SOCKET, correlation_ids},
    operations, schemas, servers, sockets, streams,
};

/// The AsyncAPI version. Generators such as Modelina do not support newer ones.
const VERSION: &str = "3.0.0";

/// Returns the document of a server that clients reach at `url`. `openapi` is the finished OpenAPI
/// document, which has the same components.
pub fn document(openapi: &Value, url: &str) -> Result<Value, MissingComponent> {
    let frames = frames::document(openapi)?;
    let mut components = frames["components"]["schemas"].clone();
    schemas::name_frames(&mut components)?;
    schemas::remove_discriminators(&mut components);
    let components = &components;
    let messages: Vec<Message> = [
        sockets::commands(components)?,
        sockets::server_frames(components)?,
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
            LOG.key: stream_channel(LOG, &messages, "The tenant's log as server-sent events: the events \
                after the cursor, and then each new event. `id` is the `seq`, `event` the type, \
                `data` the event."),
            CHAT.key: stream_channel(CHAT, &messages, "One turn as server-sent events, the response \
                to a chat that requests a stream: `turn.queued` if it must wait, `turn.started`, \
                `reasoning.delta` for reasoning that is shown, \
                `reply.delta` for each part of the reply, and one of `turn.completed`, \
                `turn.failed`, `turn.cancelled`. An engine that replies at once, such as `rules`, \
                sends one `reply.delta`."),
        },
        "operations": operations::operations(openapi),
        "components": {
            "schemas": schemas::reachable(components, &described),
            "messages": described,
            "correlationIds": correlation_ids(),
            "securitySchemes": servers::security_schemes(openapi),
        },
    }))
}

fn info(openapi: &Value) -> Value {
    let mut info = openapi["info"].clone();
    info["description"] = "The real-time messages on WebSockets and in streams of server-sent \
        events. `/openapi.json` describes all other operations.\n\nEvery change is an event in the \
        tenant's log, numbered without gaps by `seq`. The cursor of a client is the last `seq` \
        that it has seen; a socket, a stream and a plain GET can all resume from it.\n\nClients \
        must ignore unknown messages and members."
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
                    "Origin": {"type": "string", "description": "The origin of a page: one that the server allows."},
                    "Sec-WebSocket-Protocol": {"type": "string", "description": format!("`{SUBPROTOCOL}`, if the client offers any.")},
                },
            },
            "bindingVersion": "0.1.0",
        }},
    })
}

fn socket_description() -> String {
    let mut codes = String::new();
    for code in CloseCode::ALL {
        let advice = match code.reconnect() {
            Reconnect::Never => "Do not reconnect.",
            Reconnect::WithBackOff => "Reconnect after a pause.",
            Reconnect::Now => "Reconnect at once.",
        };
        let (number, reason, title) = (code.number(), code.reason(), code.title());
        // Writing to a string cannot fail.
        let _ = writeln!(codes, "- {number} `{reason}`: {title} {advice}");
    }
    format!(
        "One connection for commands of the client, and for replies, events and live data of the \
         server: one JSON object a text frame. The client authenticates with a header, with \
         `ticket`, or with `token` of `connect`, the first command, which is then due within 10 \
         seconds.\n\n\
         A client subscribes to channels, which share the connection: `tenant` (all events that \
         the caller may see), `agent:<id>` and `conversation:<id>`. Each receives its events in \
         order and once. With `since`, the events after that position come first, up to \
         `caughtUp`. If the log does not contain them, or if there are too many, `resync` comes \
         instead: reload the state and continue from `headSeq`. The text and tool calls of a \
         running turn are live data; an engine that replies at once, such as `rules`, sends \
         none.\n\n\
         Close codes of the server:\n{codes}"
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
