//! Who is at the other end of a socket, and for how long.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use api::socket::SocketTimes;
use domain::{Scope, Timestamp};
use serde_json::{Value, json};

use super::client::{Socket, Upgrade};
use crate::{
    caller::Caller,
    harness::{Api, Plan, id_of},
    probe::{Misfortune, Probe},
};

/// A key made over the interface, and who holds it.
async fn made_key(api: &Api, scopes: &[&str]) -> (String, Caller) {
    let draft = json!({"name": "ci", "scopes": scopes});
    let made = api.writer().post("/api/keys", draft).await.made();
    (id_of(&made), api.caller(made["secret"].as_str()))
}

fn soon(milliseconds: i64) -> Timestamp {
    let (clock, _) = api::wiring::system();
    Timestamp::from_milliseconds(clock.now().milliseconds() + milliseconds)
}

#[tokio::test]
async fn a_credential_may_come_in_the_first_frame() {
    let api = Api::start().await;
    let mut socket = Upgrade::of(&api).open().await;
    let members = json!({"channels": ["tenant"], "token": api.reader().key()});
    let connected = socket.connect(members).await;
    assert_eq!(connected["channels"][0]["ok"], true);
    api.agent_id().await;
    assert_eq!(socket.event().await["type"], "agent.created");
    api.stop().await;
}

#[tokio::test]
async fn whoever_brings_no_good_credential_is_sent_away() {
    let api = Api::start().await;
    let chatter = api.holder_of(&[Scope::ChatWrite]).await;
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
        let mut socket = Upgrade::of(&api).open().await;
        let problem = socket.refused("connect", members).await;
        assert_eq!(problem["code"], code);
        assert_eq!(socket.closed().await, 4001, "{code}");
    }
    api.stop().await;
}

#[tokio::test]
async fn a_stranger_may_send_nothing_but_connect() {
    let api = Api::start().await;
    let mut socket = Upgrade::of(&api).open().await;
    let problem = socket.refused("ping", json!({})).await;
    assert_eq!(problem["code"], "unauthenticated");
    assert_eq!(socket.closed().await, 4001);
    // A mistake in the frame says nothing of the credential.
    let mut socket = Upgrade::of(&api).open().await;
    let problem = socket
        .refused("connect", json!({"channels": ["nonsense"]}))
        .await;
    assert_eq!(problem["code"], "validation_failed");
    socket
        .connect(json!({"channels": [], "token": api.reader().key()}))
        .await;
    api.stop().await;
}

#[tokio::test]
async fn a_stranger_is_sent_away_for_what_is_no_connect() {
    let api = Api::start().await;
    for (text, id, code) in [
        ("{", json!(null), "malformed_json"),
        ("[]", json!(null), "validation_failed"),
        (r#"{"id": 1, "type": "dance"}"#, json!(1), "unknown_command"),
        (
            r#"{"id": 1, "type": "chat"}"#,
            json!(1),
            "validation_failed",
        ),
        (r#"{"id": 1}"#, json!(1), "validation_failed"),
    ] {
        let mut socket = Upgrade::of(&api).open().await;
        socket.send(text).await;
        let reply = socket.next_of("reply").await;
        assert_eq!((&reply["id"], &reply["error"]["code"]), (&id, &json!(code)));
        assert_eq!(socket.closed().await, 4001, "{text}");
    }
    api.stop().await;
}

/// Whether it is carried out does not hang on how soon the first has ended: it waits for the
/// store to say something of the conversation.
#[tokio::test(flavor = "multi_thread")]
async fn a_socket_connects_once_however_soon_it_tries_again() {
    let probe = Arc::new(Probe::default());
    let seen = Arc::clone(&probe);
    let api = Plan::default().over(move |it| seen.over(it)).start().await;
    let agent = api.agent_id().await;
    for is_known in [true, false] {
        probe.make("conversations.find_head", Misfortune::Slow);
        probe.calls();
        let upgrade = Upgrade::of(&api);
        let upgrade = if is_known {
            upgrade.by(&api.reader())
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
        probe.called("conversations.find_head").await;
        probe.heal();
        let replies = [
            socket.next_of_reply().await,
            socket.next_of_reply().await,
            socket.next_of_reply().await,
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
async fn nobody_is_told_whether_a_conversation_exists_who_may_neither_read_nor_chat() {
    let api = Api::start().await;
    let agent = api.agent_id().await;
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let channels = [
        format!("conversation:{conversation}"),
        format!("conversation:{agent}"),
    ];
    let ok = async |scopes: &[Scope]| {
        let caller = api.holder_of(scopes).await;
        let mut socket = Upgrade::of(&api).by(&caller).open().await;
        let connected = socket.connect(json!({"channels": channels})).await;
        let mut found = Vec::new();
        for (place, channel) in channels.iter().enumerate() {
            let again = socket
                .command("subscribe", json!({"channel": channel}))
                .await;
            assert_eq!(again["ok"], connected["channels"][place]["ok"], "{again}");
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
async fn a_credential_comes_once() {
    let api = Api::start().await;
    let mut socket = Upgrade::of(&api).by(&api.reader()).open().await;
    let members = json!({"channels": [], "token": api.reader().key()});
    let problem = socket.refused("connect", members).await;
    assert_eq!(problem["code"], "ambiguous_credentials");
    socket.connect(json!({"channels": []})).await;
    api.stop().await;
}

#[tokio::test]
async fn a_stranger_must_connect_in_time() {
    let times = SocketTimes {
        connect: Duration::from_millis(200),
        ..SocketTimes::default()
    };
    let api = Plan::default().sockets(times).start().await;
    let mut stranger = Upgrade::of(&api).open().await;
    let mut known = Upgrade::of(&api).by(&api.reader()).open().await;
    assert_eq!(stranger.closed().await, 4005);
    known.connect(json!({"channels": []})).await;
    api.stop().await;
}

#[tokio::test]
async fn too_many_sockets_are_too_many_also_when_they_connect_late() {
    let api = Api::start().await;
    let caller = api.holder_with(|key| key.limits.streams = Some(1)).await;
    let _first = Upgrade::of(&api).by(&caller).open().await;
    let mut second = Upgrade::of(&api).open().await;
    let members = json!({"channels": [], "token": caller.key()});
    let problem = second.refused("connect", members).await;
    assert_eq!(problem["code"], "too_many_streams");
    assert_eq!(second.closed().await, 4109);
    api.stop().await;
}

#[tokio::test]
async fn a_key_for_some_pages_is_refused_on_others_also_in_the_first_frame() {
    let origins = "https://shop.example,https://other.example";
    let plan = Plan::default().setting("SERVER__ALLOWED_ORIGINS", origins);
    let api = plan.start().await;
    let allowed = vec!["https://shop.example".to_owned()];
    let caller = api.holder_with(|key| key.allowed_origins = allowed).await;
    let members = json!({"channels": [], "token": caller.key()});
    let upgrade = Upgrade::of(&api).header("Origin", "https://shop.example");
    upgrade.open().await.connect(members.clone()).await;
    let upgrade = Upgrade::of(&api).header("Origin", "https://other.example");
    let mut socket = upgrade.open().await;
    let problem = socket.refused("connect", members).await;
    assert_eq!(problem["code"], "origin_not_allowed");
    assert_eq!(socket.closed().await, 4001);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_ends_within_a_second_when_its_key_is_revoked() {
    let api = Api::start().await;
    let (id, caller) = made_key(&api, &["events:read"]).await;
    let mut by_header = Socket::connected(&api, &caller, &["tenant"]).await;
    let mut by_token = Upgrade::of(&api).open().await;
    by_token
        .connect(json!({"channels": [], "token": caller.key()}))
        .await;
    let made = caller.post("/api/ws/tickets", json!({})).await.made();
    let path = format!("/api/ws?ticket={}", made["ticket"].as_str().unwrap());
    let mut by_ticket = Upgrade::at(&api, &path).open().await;
    let mut other = Socket::connected(&api, &api.reader(), &["tenant"]).await;
    let began = Instant::now();
    assert_eq!(
        api.writer().delete(&format!("/api/keys/{id}")).await.status,
        204
    );
    for socket in [&mut by_header, &mut by_token, &mut by_ticket] {
        let ended = socket.ended().await;
        assert_eq!(ended.code, 4003);
        assert_eq!(ended.goodbye.unwrap()["reconnectAfterMs"], Value::Null);
    }
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    other.carried_out("ping", json!({})).await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_ends_with_its_key_unless_it_was_refreshed() {
    let api = Api::start().await;
    let end = soon(1_500);
    let ending = api.holder_with(|key| key.expires_at = Some(end)).await;
    let mut left = Socket::connected(&api, &ending, &[]).await;
    assert_eq!(left.closed().await, 4203);
    let (id, caller) = made_key(&api, &["events:read", "agents:read"]).await;
    let mut stays = Socket::connected(&api, &caller, &["tenant"]).await;
    let mut ends = Socket::connected(&api, &caller, &["tenant"]).await;
    let rotation = json!({"overlapSeconds": 60});
    let rotated = api
        .writer()
        .post(&format!("/api/keys/{id}/rotate"), rotation)
        .await
        .ok();
    let new = rotated["secret"].as_str().unwrap();
    let foreign = stays
        .refused("refresh", json!({"token": api.reader().key()}))
        .await;
    assert_eq!(foreign["code"], "invalid_credentials");
    assert_eq!(
        stays.carried_out("refresh", json!({"token": new})).await,
        json!({})
    );
    // Now the old secret is good no longer.
    api.writer()
        .post(&format!("/api/keys/{id}/rotate"), json!({}))
        .await
        .ok();
    assert_eq!(ends.closed().await, 4203);
    assert_eq!(stays.closed().await, 4203);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refreshed_socket_outlives_its_first_credential() {
    let api = Api::start().await;
    let (id, caller) = made_key(&api, &["events:read", "agents:read"]).await;
    let mut socket = Socket::connected(&api, &caller, &["tenant"]).await;
    let rotation = json!({"overlapSeconds": 1});
    let rotated = api
        .writer()
        .post(&format!("/api/keys/{id}/rotate"), rotation)
        .await
        .ok();
    let new = rotated["secret"].as_str().unwrap();
    socket.carried_out("refresh", json!({"token": new})).await;
    let old = Upgrade::of(&api).by(&caller);
    let mut old = old.open().await;
    assert_eq!(old.closed().await, 4203);
    api.agent_id().await;
    assert_eq!(socket.event().await["type"], "agent.created");
    api.stop().await;
}
