//! Commands, and their replies.

use serde_json::{Value, json};

use super::client::{SocketClient, Upgrade};
use crate::{
    api_server::{ApiServer, id_of},
    user_tokens::{BACKEND, backend, user},
};

const UNKNOWN_ID: &str = "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11";

#[tokio::test]
async fn the_connect_reply_contains_the_limits_of_the_connection() {
    let api = ApiServer::start().await;
    api.agent_id().await;
    let mut socket = Upgrade::new(&api).with_caller(&api.reader()).open().await;
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
    let observed = api.reader().get("/api/limits").await.ok();
    assert_eq!(observed["sockets"], limits);
    let again = socket
        .expect_problem("connect", json!({"channels": []}))
        .await;
    assert_eq!(again["code"], "validation_failed");
    assert_eq!(again["errors"][0]["pointer"], "/type");
    api.stop().await;
}

#[tokio::test]
async fn a_ping_is_answered() {
    let api = ApiServer::start().await;
    let mut socket = SocketClient::connected(&api, &api.reader(), &[]).await;
    assert_eq!(socket.expect_success("ping", json!({})).await, json!({}));
    api.stop().await;
}

#[tokio::test]
async fn an_authenticated_client_must_connect_first_and_may_retry() {
    let api = ApiServer::start().await;
    let mut socket = Upgrade::new(&api).with_caller(&api.reader()).open().await;
    for (command, members) in [
        ("ping", json!({})),
        ("subscribe", json!({"channel": "tenant"})),
    ] {
        let problem = socket.expect_problem(command, members).await;
        assert_eq!(problem["code"], "validation_failed");
        assert_eq!(problem["errors"][0]["pointer"], "/type");
        assert_eq!(problem["errors"][0]["detail"], "send `connect` first");
    }
    socket.connect(json!({"channels": []})).await;
    socket.expect_success("ping", json!({})).await;
    api.stop().await;
}

#[tokio::test]
async fn invalid_commands_receive_errors() {
    let api = ApiServer::start().await;
    let mut socket = SocketClient::connected(&api, &api.reader(), &[]).await;
    let problem = socket.expect_problem("dance", json!({})).await;
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
        let reply = socket.next_of_type("reply").await;
        assert_eq!((&reply["id"], &reply["ok"]), (&Value::Null, &json!(false)));
        assert_eq!(reply["error"]["code"], code, "{text}");
    }
    let command = json!({"message": 1, "metadata": {"a": 1}});
    let faults = socket.expect_problem("chat", command).await;
    let pointers: Vec<_> = faults["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| fault["pointer"].clone())
        .collect();
    assert_eq!(pointers, ["/message", "/metadata/a"]);
    // The socket stays open.
    socket.expect_success("ping", json!({})).await;
    api.stop().await;
}

#[tokio::test]
async fn commands_without_scope_are_rejected() {
    let api = ApiServer::start().await;
    let mut socket = SocketClient::connected(&api, &api.reader(), &[]).await;
    let agent = api.agent_id().await;
    for (command, members) in [
        ("chat", json!({"agentId": agent, "message": "Hello"})),
        ("cancel", json!({"turnId": UNKNOWN_ID})),
        (
            "typing",
            json!({"conversationId": UNKNOWN_ID, "typing": true}),
        ),
    ] {
        let problem = socket.expect_problem(command, members).await;
        assert_eq!(problem["code"], "insufficient_scope", "{command}");
    }
    api.stop().await;
}

#[tokio::test]
async fn missing_resources_have_the_same_errors_as_over_http() {
    let api = ApiServer::start().await;
    let mut socket = SocketClient::connected(&api, &api.writer(), &[]).await;
    let agent = api.agent_id().await;
    for (command, members, code) in [
        (
            "chat",
            json!({"agentId": UNKNOWN_ID, "message": "Hello"}),
            "agent_not_found",
        ),
        (
            "chat",
            json!({"agentId": "nonsense", "message": "Hello"}),
            "agent_not_found",
        ),
        (
            "chat",
            json!({"agentId": agent, "conversationId": UNKNOWN_ID, "message": "Hello"}),
            "conversation_not_found",
        ),
        ("cancel", json!({"turnId": UNKNOWN_ID}), "turn_not_found"),
        ("cancel", json!({"turnId": "nonsense"}), "turn_not_found"),
        (
            "typing",
            json!({"conversationId": UNKNOWN_ID, "typing": true}),
            "conversation_not_found",
        ),
        (
            "unsubscribe",
            json!({"channel": "agent:nonsense"}),
            "agent_not_found",
        ),
    ] {
        let problem = socket.expect_problem(command, members).await;
        assert_eq!(problem["code"], code, "{command}");
    }
    // Channels without subscription are not followed later either.
    let channel = json!({"channel": format!("agent:{agent}")});
    socket.expect_success("unsubscribe", channel).await;
    api.stop().await;
}

#[tokio::test]
async fn commands_run_in_order_without_waiting_for_replies() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let mut socket = Upgrade::new(&api).with_caller(&api.writer()).open().await;
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
        let reply = socket.next_reply_data().await;
        assert_eq!(
            (&reply["id"], &reply["ok"]),
            (&json!(id), &json!(true)),
            "{reply}"
        );
    }
    let path = format!("/api/conversations/{conversation}/messages?limit=100");
    let page = api.reader().get(&path).await.ok();
    let contents: Vec<_> = page["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "user")
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(contents, messages);
    api.stop().await;
}

#[tokio::test]
async fn a_socket_has_at_most_128_channels() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let mut channels = vec!["tenant".to_owned()];
    for _ in 0..128 {
        let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
        channels.push(format!("conversation:{conversation}"));
    }
    let first: Vec<&str> = channels.iter().take(127).map(String::as_str).collect();
    let mut socket = SocketClient::connected(&api, &api.writer(), &first).await;
    let one = json!({"channel": channels[127]});
    let another = json!({"channel": channels[128]});
    socket.expect_success("subscribe", one).await;
    let rejected = socket.expect_problem("subscribe", another.clone()).await;
    assert_eq!(rejected["code"], "validation_failed");
    assert_eq!(rejected["errors"][0]["code"], "too_many");
    let tenant = json!({"channel": "tenant"});
    socket.expect_success("unsubscribe", tenant).await;
    socket.expect_success("subscribe", another.clone()).await;
    // A second subscription of the same channel does not count twice.
    socket.expect_success("subscribe", another).await;
    api.stop().await;
}

#[tokio::test]
async fn typing_is_sent_to_subscribers_and_never_stored() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let elsewhere = id_of(&api.conversation(json!({"agentId": agent})).await);
    let channel = |kind: &str, id: &str| format!("{kind}:{id}");
    let mut there = SocketClient::connected(
        &api,
        &api.reader(),
        &[&channel("conversation", &conversation)],
    )
    .await;
    let mut with_agent =
        SocketClient::connected(&api, &api.reader(), &[&channel("agent", &agent)]).await;
    let mut everywhere = SocketClient::connected(&api, &api.reader(), &["tenant"]).await;
    let mut elsewhere =
        SocketClient::connected(&api, &api.reader(), &[&channel("conversation", &elsewhere)]).await;
    let mut strangers = SocketClient::connected(&api, &api.other_tenant(), &["tenant"]).await;
    let mut writer = SocketClient::connected(&api, &api.writer(), &[]).await;
    let before = api.reader().get("/api/events").await.ok();
    for typing in [true, false] {
        let members = json!({"conversationId": conversation, "typing": typing});
        assert_eq!(writer.expect_success("typing", members).await, json!({}));
        for socket in [&mut there, &mut with_agent, &mut everywhere] {
            let event = socket.next_of_type("live").await["event"].clone();
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
        assert_eq!(socket.remaining().await, Vec::<Value>::new());
    }
    let after = api.reader().get("/api/events").await.ok();
    assert_eq!(before["headSeq"], after["headSeq"]);
    api.stop().await;
}

#[tokio::test]
async fn users_do_not_see_which_member_of_staff_types() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let draft = json!({"agentId": api.agent_id().await, "userId": "ada"});
    let conversation = id_of(&api.conversation(draft).await);
    let channel = format!("conversation:{conversation}");
    let mut page = SocketClient::connected(&api, &ada, &[&channel]).await;
    let mut desk = SocketClient::connected(&api, &api.writer(), &[]).await;
    let members = json!({"conversationId": conversation, "typing": true});
    desk.expect_success("typing", members).await;
    let event = page.next_of_type("live").await["event"].clone();
    let shown = ["type", "actor"].map(|member| &event[member]);
    assert_eq!(json!(shown), json!(["typing.updated", "staff"]));
    api.stop().await;
}

#[tokio::test]
async fn typing_is_sent_to_all_sockets_but_its_sender() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let channel = format!("conversation:{conversation}");
    let mut here = SocketClient::connected(&api, &api.writer(), &[&channel]).await;
    let mut there = SocketClient::connected(&api, &api.writer(), &[&channel]).await;
    let members = json!({"conversationId": conversation, "typing": true});
    here.expect_success("typing", members).await;
    assert_eq!(there.next_of_type("live").await["event"]["typing"], true);
    let members = json!({"conversationId": conversation, "typing": false});
    there.expect_success("typing", members).await;
    // The first received frame is that of the other client.
    assert_eq!(here.next_of_type("live").await["event"]["typing"], false);
    for socket in [&mut here, &mut there] {
        assert_eq!(socket.remaining().await, Vec::<Value>::new());
    }
    api.stop().await;
}

#[tokio::test]
async fn typing_is_sent_only_when_it_changes() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let mut listener = SocketClient::connected(&api, &api.reader(), &["tenant"]).await;
    let mut writer = SocketClient::connected(&api, &api.writer(), &[]).await;
    for typing in [true, true, true, true, false, false, true] {
        let members = json!({"conversationId": conversation, "typing": typing});
        writer.expect_success("typing", members).await;
    }
    let mut observed = Vec::new();
    while observed.last() != Some(&true) || !observed.contains(&false) {
        let event = listener.next_of_type("live").await["event"].clone();
        observed.push(event["typing"] == true);
    }
    // The time between repetitions of an unchanged state.
    observed.dedup();
    assert_eq!(observed, [true, false, true]);
    api.stop().await;
}
