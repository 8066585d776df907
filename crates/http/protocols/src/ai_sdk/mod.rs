//! The UI message stream of the AI SDK, version 1: the backend of its chats, such as `useChat`.
//!
//! The id of a chat is the key of its conversation, the id of a reply is known from its beginning,
//! and the id of a user message is the client's own. `request` reads what a client wants,
//! `client_reply` its answers to tool calls, `part_converter` converts the events of a turn, and
//! `ui_message` stored messages.

mod client_reply;
mod error;
mod follow;
mod frames;
mod messages;
mod object;
mod part;
mod part_converter;
mod path;
mod request;
mod requested_turn;
mod send;
mod socket;
mod socket_at_home;
mod socket_request;
mod stop;
mod stream;
mod ui_message;

use actix_web::web;
use domain::Scope::{ChatWrite, ConversationsRead};
use kit::operations::{Access::AnyOf, CHAT_COST, Operation, Served, Streams};

use super::Protocol;

/// The protocol.
pub const PROTOCOL: Protocol = Protocol {
    name: "ai_sdk",
    setting: "PROTOCOLS__AI_SDK",
    clients: "AI SDK",
    base_path: "/ai-sdk/agents/{agentId}",
    prefix: "/ai-sdk",
    document: "docs/protocols/ai-sdk.md",
    operations: OPERATIONS,
    error_body: error::body,
};

const OPERATIONS: &[Operation] = &[
    Operation {
        cost: CHAT_COST,
        contains_files: true,
        streams: Streams::Always,
        ..Operation::new(
            "ai_sdk_chat",
            "POST",
            "/ai-sdk/agents/{id}/chat",
            AnyOf(&[ChatWrite]),
            || web::post().to(send::chat),
        )
    },
    Operation {
        cost: CHAT_COST,
        streams: Streams::Always,
        ..Operation::new(
            "ai_sdk_object",
            "POST",
            "/ai-sdk/agents/{id}/object",
            AnyOf(&[ChatWrite]),
            || web::post().to(object::object),
        )
    },
    Operation {
        streams: Streams::Always,
        ..Operation::new(
            "ai_sdk_stream",
            "GET",
            "/ai-sdk/agents/{id}/chat/{chat}/stream",
            AnyOf(&[ChatWrite, ConversationsRead]),
            || web::get().to(follow::follow_chat),
        )
    },
    Operation::new(
        "ai_sdk_stop",
        "POST",
        "/ai-sdk/agents/{id}/chat/{chat}/stop",
        AnyOf(&[ChatWrite]),
        || web::post().to(stop::stop_chat),
    ),
    Operation::new(
        "ai_sdk_messages",
        "GET",
        "/ai-sdk/agents/{id}/chat/{chat}/messages",
        AnyOf(&[ChatWrite, ConversationsRead]),
        || web::get().to(messages::list_messages),
    ),
    Operation {
        opens_socket: true,
        served: Served::Here,
        ..Operation::new(
            "ai_sdk_socket",
            "GET",
            "/ai-sdk/agents/{id}/ws",
            AnyOf(&[ChatWrite, ConversationsRead]),
            || web::get().to(socket::open_socket),
        )
    },
];
