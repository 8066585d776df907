//! Authentication of sockets.

use std::{sync::Arc, time::Duration};

use domain::Scope;
use serde_json::json;
use socket::SocketTimeouts;

use super::client::Upgrade;
use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    caller::Caller,
    storage_probe::{InjectedFault, StorageProbe},
};

/// A key created with the API, and a caller with it.
pub(super) async fn create_key(api: &ApiServer, scopes: &[&str]) -> (String, Caller) {
    let draft = json!({"name": "ci", "scopes": scopes});
    let made = api.writer().post("/api/keys", draft).await.created();
    (id_of(&made), api.caller(made["secret"].as_str()))
}

#[tokio::test]
async fn a_credential_may_come_in_the_first_frame() {
    let api = ApiServer::start().await;
    let mut socket = Upgrade::new(&api).open().await;
    let members = json!({"channels": ["tenant"], "token": api.reader().key()});
    let connected = socket.connect(members).await;
    assert_eq!(connected["channels"][0]["ok"], true);
    api.agent_id().await;
    assert_eq!(socket.event().await["type"], "agent.created");
    api.stop().await;
}

#[tokio::test]
async fn an_invalid_credential_closes_the_socket() {
    let api = ApiServer::start().await;
    let chatter = api.caller_with_scopes(&[Scope::ChatWrite]).await;
    for (members, code) in [
        (json!({"channels": []}), "unauthenticated"),
        (
            json!({"channels": [], "token": "agk_nonsense"}),
            "invalid_credentials",
        ),
        (
            json!({"channels": [], "token": chatter.key()}),
            "insufficient_scope",
        ),
    ] {
        let mut socket = Upgrade::new(&api).open().await;
        let problem = socket.expect_problem("connect", members).await;
        assert_eq!(problem["code"], code);
        assert_eq!(socket.wait_for_close().await, 4001, "{code}");
    }
    api.stop().await;
}

#[tokio::test]
async fn an_unauthenticated_client_may_only_connect() {
    let api = ApiServer::start().await;
    let mut socket = Upgrade::new(&api).open().await;
    let problem = socket.expect_problem("ping", json!({})).await;
    assert_eq!(problem["code"], "unauthenticated");
    assert_eq!(socket.wait_for_close().await, 4001);
    // An invalid frame reveals nothing about the credential.
    let mut socket = Upgrade::new(&api).open().await;
    let problem = socket
        .expect_problem("connect", json!({"channels": ["nonsense"]}))
        .await;
    assert_eq!(problem["code"], "validation_failed");
    socket
        .connect(json!({"channels": [], "token": api.reader().key()}))
        .await;
    api.stop().await;
}

#[tokio::test]
async fn an_invalid_first_frame_closes_an_unauthenticated_socket() {
    let api = ApiServer::start().await;
    for (text, id, code) in [
        ("{", json!(null), "malformed_json"),
        ("[]", json!(null), "validation_failed"),
        (r#"{"id": 1, "type": "dance"}"#, json!(1), "unknown_command"),
        (
            r#"{"id": 1, "type": "chat", "message": 1}"#,
            json!(1),
            "validation_failed",
        ),
        (r#"{"id": 1}"#, json!(1), "validation_failed"),
    ] {
        let mut socket = Upgrade::new(&api).open().await;
        socket.send(text).await;
        let reply = socket.next_of_type("reply").await;
        assert_eq!((&reply["id"], &reply["error"]["code"]), (&id, &json!(code)));
        assert_eq!(socket.wait_for_close().await, 4001, "{text}");
    }
    api.stop().await;
}

/// The outcome must not depend on how soon the first command ends: it waits for the store.
#[tokio::test(flavor = "multi_thread")]
async fn a_socket_connects_only_once() {
    let probe = Arc::new(StorageProbe::default());
    let seen = Arc::clone(&probe);
    let api = ApiServerBuilder::default()
        .wrap_storage(move |it| seen.wrap_storage(it))
        .start()
        .await;
    let agent = api.agent_id().await;
    for is_known in [true, false] {
        probe.inject("conversations.find_state", InjectedFault::Slow);
        probe.calls();
        let upgrade = Upgrade::new(&api);
        let upgrade = if is_known {
            upgrade.with_caller(&api.reader())
        } else {
            upgrade
        };
        let mut socket = upgrade.open().await;
        let mut members = json!({"channels": [format!("conversation:{agent}")]});
        if !is_known {
            members["token"] = api.reader().key().into();
        }
        let first = socket.send_command("connect", members.clone()).await;
        let second = socket.send_command("connect", members).await;
        let behind = socket.send_command("ping", json!({})).await;
        probe.wait_for_call("conversations.find_state").await;
        probe.clear_faults();
        let replies = [
            socket.next_reply_data().await,
            socket.next_reply_data().await,
            socket.next_reply_data().await,
        ];
        let expected = [(first, true), (second, false), (behind, true)];
        for (reply, (id, ok)) in replies.iter().zip(expected) {
            assert_eq!(
                (&reply["id"], &reply["ok"]),
                (&json!(id), &json!(ok)),
                "{reply}"
            );
        }
        assert_eq!(replies[1]["error"]["errors"][0]["pointer"], "/type");
    }
    api.stop().await;
}

#[tokio::test]
async fn the_existence_of_conversations_is_hidden_without_scopes() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let channels = [
        format!("conversation:{conversation}"),
        format!("conversation:{agent}"),
    ];
    let ok = async |scopes: &[Scope]| {
        let caller = api.caller_with_scopes(scopes).await;
        let mut socket = Upgrade::new(&api).with_caller(&caller).open().await;
        let connected = socket.connect(json!({"channels": channels})).await;
        let mut found = Vec::new();
        for (index, channel) in channels.iter().enumerate() {
            let again = socket
                .command("subscribe", json!({"channel": channel}))
                .await;
            assert_eq!(again["ok"], connected["channels"][index]["ok"], "{again}");
            found.push(again["ok"] == true);
        }
        found
    };
    assert_eq!(ok(&[Scope::EventsRead]).await, [true, true]);
    assert_eq!(
        ok(&[Scope::EventsRead, Scope::ChatWrite]).await,
        [true, false]
    );
    assert_eq!(
        ok(&[Scope::EventsRead, Scope::ConversationsRead]).await,
        [true, false]
    );
    api.stop().await;
}

#[tokio::test]
async fn a_second_credential_is_ambiguous() {
    let api = ApiServer::start().await;
    let mut socket = Upgrade::new(&api).with_caller(&api.reader()).open().await;
    let members = json!({"channels": [], "token": api.reader().key()});
    let problem = socket.expect_problem("connect", members).await;
    assert_eq!(problem["code"], "ambiguous_credentials");
    socket.connect(json!({"channels": []})).await;
    api.stop().await;
}

#[tokio::test]
async fn an_unauthenticated_client_must_connect_in_time() {
    let times = SocketTimeouts {
        connect: Duration::from_millis(200),
        ..SocketTimeouts::default()
    };
    let api = ApiServerBuilder::default().sockets(times).start().await;
    let mut stranger = Upgrade::new(&api).open().await;
    let mut known = Upgrade::new(&api).with_caller(&api.reader()).open().await;
    assert_eq!(stranger.wait_for_close().await, 4005);
    known.connect(json!({"channels": []})).await;
    api.stop().await;
}

#[tokio::test]
async fn the_socket_limit_also_holds_for_late_connects() {
    let api = ApiServer::start().await;
    let caller = api
        .caller_with_key(|key| key.limits.streams = Some(1))
        .await;
    let _first = Upgrade::new(&api).with_caller(&caller).open().await;
    let mut second = Upgrade::new(&api).open().await;
    let members = json!({"channels": [], "token": caller.key()});
    let problem = second.expect_problem("connect", members).await;
    assert_eq!(problem["code"], "too_many_streams");
    assert_eq!(second.wait_for_close().await, 4109);
    api.stop().await;
}

#[tokio::test]
async fn the_origins_of_a_key_also_hold_in_the_first_frame() {
    let origins = "https://shop.example,https://other.example";
    let builder = ApiServerBuilder::default().setting("SERVER__ALLOWED_ORIGINS", origins);
    let api = builder.start().await;
    let allowed = vec!["https://shop.example".to_owned()];
    let caller = api
        .caller_with_key(|key| key.allowed_origins = allowed)
        .await;
    let members = json!({"channels": [], "token": caller.key()});
    let upgrade = Upgrade::new(&api).header("Origin", "https://shop.example");
    upgrade.open().await.connect(members.clone()).await;
    let upgrade = Upgrade::new(&api).header("Origin", "https://other.example");
    let mut socket = upgrade.open().await;
    let problem = socket.expect_problem("connect", members).await;
    assert_eq!(problem["code"], "origin_not_allowed");
    assert_eq!(socket.wait_for_close().await, 4001);
    api.stop().await;
}
