//! What a client can ask of a socket, and how it is answered.

use serde_json::{Value, json};

use super::client::{Socket, Upgrade};
use crate::harness::{Api, id_of};

const NOBODY: &str = "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11";

#[tokio::test]
async fn connecting_tells_what_holds_for_the_connection() {
    let api = Api::start().await;
    api.agent_id().await;
    let mut socket = Upgrade::of(&api).by(&api.reader()).open().await;
    let connected = socket.connect(json!({"channels": ["tenant"]})).await;
    assert!(connected["connectionId"].as_str().unwrap().len() > 30);
    assert_eq!(connected["tenantId"], "default");
    assert_eq!(connected["headSeq"], 1);
    assert_eq!(connected["pingIntervalMs"], 25_000);
    let channels = json!([{"channel": "tenant", "ok": true, "recovered": false}]);
    assert_eq!(connected["channels"], channels);
    let limits = json!({
        "frameBytes": 65_536, "messageBytes": 262_144, "channels": 128,
        "commandsPerSecond": 20, "commandsBurst": 40, "replayedEvents": 10_000,
    });
    assert_eq!(connected["limits"], limits);
    let told = api.reader().get("/api/limits").await.ok();
    assert_eq!(told["sockets"], limits);
    let again = socket.refused("connect", json!({"channels": []})).await;
    assert_eq!(again["code"], "validation_failed");
    assert_eq!(again["errors"][0]["pointer"], "/type");
    api.stop().await;
}

#[tokio::test]
async fn a_ping_is_answered() {
    let api = Api::start().await;
    let mut socket = Socket::connected(&api, &api.reader(), &[]).await;
    assert_eq!(socket.carried_out("ping", json!({})).await, json!({}));
    api.stop().await;
}

#[tokio::test]
async fn who_is_known_connects_first_as_well_and_may_try_again() {
    let api = Api::start().await;
    let mut socket = Upgrade::of(&api).by(&api.reader()).open().await;
    for (command, members) in [
        ("ping", json!({})),
        ("subscribe", json!({"channel": "tenant"})),
    ] {
        let problem = socket.refused(command, members).await;
        assert_eq!(problem["code"], "validation_failed");
        assert_eq!(problem["errors"][0]["pointer"], "/type");
        assert_eq!(problem["errors"][0]["detail"], "`connect` comes first");
    }
    socket.connect(json!({"channels": []})).await;
    socket.carried_out("ping", json!({})).await;
    api.stop().await;
}

#[tokio::test]
async fn what_is_no_command_is_answered_as_well() {
    let api = Api::start().await;
    let mut socket = Socket::connected(&api, &api.reader(), &[]).await;
    let problem = socket.refused("dance", json!({})).await;
    assert_eq!(problem["code"], "unknown_command");
    assert_eq!(problem["status"], 422);
    let request = problem["requestId"].as_str().unwrap();
    assert!(request.ends_with("-2"), "{request}");

    for (text, code) in [
        ("{", "malformed_json"),
        ("[]", "validation_failed"),
        (r#"{"type": "ping"}"#, "validation_failed"),
    ] {
        socket.send(text).await;
        let reply = socket.next_of("reply").await;
        assert_eq!((&reply["id"], &reply["ok"]), (&Value::Null, &json!(false)));
        assert_eq!(reply["error"]["code"], code, "{text}");
    }
    let faults = socket.refused("chat", json!({"message": ""})).await;
    let pointers: Vec<_> = faults["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| fault["pointer"].clone())
        .collect();
    assert_eq!(pointers, ["/agentId", "/message"]);
    // It goes on.
    socket.carried_out("ping", json!({})).await;
    api.stop().await;
}

#[tokio::test]
async fn commands_that_lack_a_scope_are_refused() {
    let api = Api::start().await;
    let mut socket = Socket::connected(&api, &api.reader(), &[]).await;
    let agent = api.agent_id().await;
    for (command, members) in [
        ("chat", json!({"agentId": agent, "message": "Hello"})),
        ("cancel", json!({"turnId": NOBODY})),
        ("typing", json!({"conversationId": NOBODY, "typing": true})),
    ] {
        let problem = socket.refused(command, members).await;
        assert_eq!(problem["code"], "insufficient_scope", "{command}");
    }
    api.stop().await;
}

#[tokio::test]
async fn what_is_not_there_is_refused_as_over_http() {
    let api = Api::start().await;
    let mut socket = Socket::connected(&api, &api.writer(), &[]).await;
    let agent = api.agent_id().await;
    for (command, members, code) in [
        (
            "chat",
            json!({"agentId": NOBODY, "message": "Hello"}),
            "agent_not_found",
        ),
        (
            "chat",
            json!({"agentId": "nonsense", "message": "Hello"}),
            "agent_not_found",
        ),
        (
            "chat",
            json!({"agentId": agent, "conversationId": NOBODY, "message": "Hello"}),
            "conversation_not_found",
        ),
        ("cancel", json!({"turnId": NOBODY}), "turn_not_found"),
        ("cancel", json!({"turnId": "nonsense"}), "turn_not_found"),
        (
            "typing",
            json!({"conversationId": NOBODY, "typing": true}),
            "conversation_not_found",
        ),
        (
            "unsubscribe",
            json!({"channel": "agent:nonsense"}),
            "agent_not_found",
        ),
    ] {
        let problem = socket.refused(command, members).await;
        assert_eq!(problem["code"], code, "{command}");
    }
    // What was not subscribed to is not followed afterwards either.
    let channel = json!({"channel": format!("agent:{agent}")});
    socket.carried_out("unsubscribe", channel).await;
    api.stop().await;
}

#[tokio::test]
async fn commands_are_carried_out_in_their_order_without_waiting_for_replies() {
    let api = Api::start().await;
    let agent = api.agent_id().await;
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let mut socket = Upgrade::of(&api).by(&api.writer()).open().await;
    let mut ids = Vec::new();
    ids.push(
        socket
            .send_command("connect", json!({"channels": []}))
            .await,
    );
    for _ in 0..5 {
        let channel = json!({"channel": "tenant"});
        ids.push(socket.send_command("subscribe", channel.clone()).await);
        ids.push(socket.send_command("unsubscribe", channel).await);
    }
    let messages: Vec<String> = (0..10).map(|number| format!("Message {number}")).collect();
    for message in &messages {
        let chat = json!({"agentId": agent, "conversationId": conversation, "message": message});
        ids.push(socket.send_command("chat", chat).await);
    }
    for id in ids {
        let reply = socket.next_of_reply().await;
        assert_eq!(
            (&reply["id"], &reply["ok"]),
            (&json!(id), &json!(true)),
            "{reply}"
        );
    }
    let path = format!("/api/conversations/{conversation}/messages?limit=100");
    let page = api.reader().get(&path).await.ok();
    let said: Vec<_> = page["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "user")
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(said, messages);
    api.stop().await;
}

#[tokio::test]
async fn a_socket_has_128_channels_and_no_more() {
    let api = Api::start().await;
    let agent = api.agent_id().await;
    let mut channels = vec!["tenant".to_owned()];
    for _ in 0..128 {
        let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
        channels.push(format!("conversation:{conversation}"));
    }
    let first: Vec<&str> = channels.iter().take(127).map(String::as_str).collect();
    let mut socket = Socket::connected(&api, &api.writer(), &first).await;
    let one = json!({"channel": channels[127]});
    let another = json!({"channel": channels[128]});
    socket.carried_out("subscribe", one).await;
    let refused = socket.refused("subscribe", another.clone()).await;
    assert_eq!(refused["code"], "validation_failed");
    assert_eq!(refused["errors"][0]["code"], "too_many");
    let tenant = json!({"channel": "tenant"});
    socket.carried_out("unsubscribe", tenant).await;
    socket.carried_out("subscribe", another.clone()).await;
    // Again is not once more.
    socket.carried_out("subscribe", another).await;
    api.stop().await;
}

#[tokio::test]
async fn typing_is_told_where_it_concerns_somebody_and_stored_nowhere() {
    let api = Api::start().await;
    let agent = api.agent_id().await;
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let elsewhere = id_of(&api.conversation(json!({"agentId": agent})).await);
    let channel = |kind: &str, id: &str| format!("{kind}:{id}");
    let mut there = Socket::connected(
        &api,
        &api.reader(),
        &[&channel("conversation", &conversation)],
    )
    .await;
    let mut with_agent = Socket::connected(&api, &api.reader(), &[&channel("agent", &agent)]).await;
    let mut everywhere = Socket::connected(&api, &api.reader(), &["tenant"]).await;
    let mut elsewhere =
        Socket::connected(&api, &api.reader(), &[&channel("conversation", &elsewhere)]).await;
    let mut strangers = Socket::connected(&api, &api.stranger(), &["tenant"]).await;
    let mut writer = Socket::connected(&api, &api.writer(), &[]).await;
    let before = api.reader().get("/api/events").await.ok();
    for typing in [true, false] {
        let members = json!({"conversationId": conversation, "typing": typing});
        assert_eq!(writer.carried_out("typing", members).await, json!({}));
        for socket in [&mut there, &mut with_agent, &mut everywhere] {
            let event = socket.next_of("live").await["event"].clone();
            assert_eq!(event["type"], "typing.updated");
            assert_eq!(event["conversationId"], json!(conversation));
            assert_eq!(event["typing"], json!(typing));
            assert!(
                event["actor"].as_str().unwrap().starts_with("key:"),
                "{event}"
            );
        }
    }
    for socket in [&mut elsewhere, &mut strangers, &mut writer] {
        assert_eq!(socket.rest().await, Vec::<Value>::new());
    }
    let after = api.reader().get("/api/events").await.ok();
    assert_eq!(before["headSeq"], after["headSeq"]);
    api.stop().await;
}

#[tokio::test]
async fn typing_is_not_told_to_the_socket_that_told_it_and_to_others_of_the_same_caller_it_is() {
    let api = Api::start().await;
    let agent = api.agent_id().await;
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let channel = format!("conversation:{conversation}");
    let mut here = Socket::connected(&api, &api.writer(), &[&channel]).await;
    let mut there = Socket::connected(&api, &api.writer(), &[&channel]).await;
    let members = json!({"conversationId": conversation, "typing": true});
    here.carried_out("typing", members).await;
    assert_eq!(there.next_of("live").await["event"]["typing"], true);
    let members = json!({"conversationId": conversation, "typing": false});
    there.carried_out("typing", members).await;
    // The first that it is told is what the other told.
    assert_eq!(here.next_of("live").await["event"]["typing"], false);
    for socket in [&mut here, &mut there] {
        assert_eq!(socket.rest().await, Vec::<Value>::new());
    }
    api.stop().await;
}

#[tokio::test]
async fn typing_is_told_when_it_changes_and_not_with_every_letter() {
    let api = Api::start().await;
    let agent = api.agent_id().await;
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let mut listener = Socket::connected(&api, &api.reader(), &["tenant"]).await;
    let mut writer = Socket::connected(&api, &api.writer(), &[]).await;
    for typing in [true, true, true, true, false, false, true] {
        let members = json!({"conversationId": conversation, "typing": typing});
        writer.carried_out("typing", members).await;
    }
    let mut told = Vec::new();
    while told.last() != Some(&true) || !told.contains(&false) {
        let event = listener.next_of("live").await["event"].clone();
        told.push(event["typing"] == true);
    }
    // How often what has not changed is told again is a matter of time.
    told.dedup();
    assert_eq!(told, [true, false, true]);
    api.stop().await;
}
