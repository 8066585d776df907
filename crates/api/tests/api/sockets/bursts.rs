//! More than the send queue holds: the client reads on and receives everything.

use std::time::Duration;

use serde_json::{Value, json};
use socket::SocketTimeouts;

use super::{client::Upgrade, slow_client::large_draft};
use crate::{
    api_server::{ApiServer, ApiServerBuilder},
    issuer::{ExternalIssuer, ProviderKind},
};

/// Events of about 38 KiB each: more than the connection buffers and the tail hold.
const EVENTS: usize = 200;

/// Creates agents with large events.
async fn make_agents(api: &ApiServer) {
    let draft = large_draft();
    for _ in 0..EVENTS {
        api.agent(draft.clone()).await;
    }
}

/// A slow reader is not disconnected.
fn tolerant_server() -> ApiServerBuilder {
    ApiServerBuilder::default().sockets(SocketTimeouts {
        write: Duration::from_mins(1),
        pong: Duration::from_mins(1),
        ..SocketTimeouts::default()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_reader_receives_a_burst_completely_and_in_order() {
    let api = tolerant_server().start().await;
    let mut socket = Upgrade::new(&api)
        .with_caller(&api.reader())
        .with_small_buffers()
        .open()
        .await;
    socket.connect(json!({"channels": ["tenant"]})).await;
    make_agents(&api).await;
    for seq in 1..=EVENTS {
        assert_eq!(socket.event().await["seq"], json!(seq));
    }
    // The socket is still open and receives new events.
    api.agent_id().await;
    assert_eq!(socket.event().await["seq"], json!(EVENTS + 1));
    assert_eq!(socket.remaining().await, Vec::<Value>::new());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_lost_during_a_replay_hide_the_rest_of_it() {
    let mut issuer = ExternalIssuer::start(ProviderKind::Auth0).await;
    let api = issuer.trusting_server().start().await;
    make_agents(&api).await;
    let scopes = "openid events:read conversations:read";
    let mint = |scope| json!({"login": "auth0|ada", "scope": scope});
    let wide = issuer
        .issue_tokens(mint(format!("{scopes} agents:read")))
        .await;
    let narrow = issuer.issue_tokens(mint(scopes.to_owned())).await;
    let caller = api.caller(Some(wide.token()));
    let mut socket = Upgrade::new(&api)
        .with_caller(&caller)
        .with_small_buffers()
        .open()
        .await;
    socket
        .connect(json!({"channels": ["tenant"], "since": 0}))
        .await;
    let received = socket
        .send_command("refresh", json!({"token": narrow.token()}))
        .await;
    let mut events = 0;
    loop {
        let frame = socket.next().await;
        match frame["type"].as_str().unwrap() {
            "event" => events += 1,
            "reply" => {
                assert_eq!(
                    (&frame["id"], &frame["ok"]),
                    (&json!(received), &json!(true))
                );
                break;
            }
            other => panic!("{other}"),
        }
    }
    assert!(events < EVENTS, "the replay was over before");
    let caught_up = socket.next_of_type("caughtUp").await;
    assert_eq!(caught_up["seq"], json!(EVENTS));
    assert_eq!(socket.remaining().await, Vec::<Value>::new());
    drop(socket);
    api.stop().await;
}
