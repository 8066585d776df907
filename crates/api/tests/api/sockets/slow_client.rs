//! A client that reads slowly, and the events that fill its buffers.

use std::time::Duration;

use serde_json::{Value, json};
use socket::SocketTimeouts;

use super::client::{SocketClient, Upgrade};
use crate::{
    api_server::{ApiServer, ApiServerBuilder},
    caller::Caller,
};

/// An agent whose events have about 38 KiB each.
pub(super) fn large_draft() -> Value {
    let config = json!({"instructions": "y".repeat(30_000)});
    json!({"name": "Ada", "personality": "x".repeat(8_000), "config": config})
}

/// Starts a server that disconnects a client which reads nothing for `write`.
pub(super) async fn server(write: Duration) -> ApiServer {
    let times = SocketTimeouts {
        write,
        ..SocketTimeouts::default()
    };
    ApiServerBuilder::default().sockets(times).start().await
}

/// Connects a client with small buffers to all events of the tenant.
pub(super) async fn connect(api: &ApiServer, caller: &Caller) -> SocketClient {
    let upgrade = Upgrade::new(api).with_caller(caller).with_small_buffers();
    let mut client = upgrade.open().await;
    client.connect(json!({"channels": ["tenant"]})).await;
    client
}
