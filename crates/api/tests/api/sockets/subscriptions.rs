//! Channels: events, start positions and visibility.

use domain::Scope;
use serde_json::{Value, json};

use super::client::{SocketClient, Upgrade, types_and_channels};
use crate::api_server::{ApiServer, id_of};

/// The position of the newest event.
async fn head(api: &ApiServer) -> i64 {
    let page = api.writer().get("/api/events").await.ok();
    page["headSeq"].as_i64().expect("a position")
}

#[tokio::test]
async fn events_after_the_subscription_are_sent() {
    let api = ApiServer::start().await;
    api.agent_id().await;
    let mut socket = SocketClient::connected(&api, &api.reader(), &["tenant"]).await;
    let agent = api.agent(json!({"name": "Bea"})).await;
    let frame = socket.next_of_type("event").await;
    assert_eq!(frame["channels"], json!(["tenant"]));
    let event = &frame["event"];
    assert_eq!(event["type"], "agent.created");
    assert_eq!(event["data"]["agent"]["id"], agent["id"]);
    // The same event object as in all interfaces.
    let page = api.reader().get("/api/events?since=1").await.ok();
    assert_eq!(page["data"], json!([event]));
    drop(socket);
    api.stop().await;
}

#[tokio::test]
async fn an_event_of_several_channels_is_sent_once_with_all_of_them() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let other = api.agent_id().await;
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let channels = [
        "tenant".to_owned(),
        format!("agent:{agent}"),
        format!("agent:{other}"),
        format!("conversation:{conversation}"),
    ];
    let channels: Vec<&str> = channels.iter().map(String::as_str).collect();
    let mut socket = SocketClient::connected(&api, &api.reader(), &channels).await;
    let path = format!("/api/conversations/{conversation}");
    api.writer()
        .patch(&path, json!({"title": "One"}))
        .await
        .ok();
    let frame = socket.next_of_type("event").await;
    let mut named: Vec<&str> = frame["channels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it.as_str().unwrap())
        .collect();
    named.sort_unstable();
    let mut expected = vec![channels[0], channels[1], channels[3]];
    expected.sort_unstable();
    assert_eq!(named, expected);
    assert_eq!(socket.remaining().await, Vec::<Value>::new());
    api.stop().await;
}

#[tokio::test]
async fn subscribe_works_like_connect_and_unsubscribe_ends_it() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let other = api.agent_id().await;
    let mut socket = SocketClient::connected(&api, &api.reader(), &[]).await;
    let channel = format!("agent:{agent}");
    let since = json!({"channel": channel, "since": 0});
    let subscribed = socket.expect_success("subscribe", since).await;
    assert_eq!(
        subscribed,
        json!({"channel": channel, "recovered": true, "headSeq": 2})
    );
    assert_eq!(socket.event().await["agentId"], json!(agent));
    socket.next_of_type("caughtUp").await;
    let rename = |agent: &str, name: &str| {
        let path = format!("/api/agents/{agent}");
        let (writer, name) = (api.writer(), json!({"name": name}));
        async move { writer.patch(&path, name).await.ok() }
    };
    rename(&other, "Bea").await;
    rename(&agent, "Cleo").await;
    assert_eq!(socket.event().await["data"]["agent"]["name"], "Cleo");
    let result = socket
        .expect_success("unsubscribe", json!({"channel": channel}))
        .await;
    assert_eq!(result, json!({}));
    let mut other_socket = SocketClient::connected(&api, &api.reader(), &["tenant"]).await;
    rename(&agent, "Dora").await;
    // The event is in the past from then on.
    let is_it = |frame: &Value| frame["event"]["data"]["agent"]["name"] == "Dora";
    other_socket.find(is_it).await;
    // Later events follow.
    socket
        .expect_success("subscribe", json!({"channel": "tenant"}))
        .await;
    rename(&other, "Eve").await;
    assert_eq!(socket.event().await["data"]["agent"]["name"], "Eve");
    api.stop().await;
}

#[tokio::test]
async fn missing_channels_are_rejected_one_by_one() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let anonymous = "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11";
    let mut socket = Upgrade::new(&api).with_caller(&api.reader()).open().await;
    let channels = [
        format!("agent:{agent}"),
        format!("agent:{anonymous}"),
        "agent:nonsense".to_owned(),
        format!("conversation:{anonymous}"),
    ];
    let connected = socket.connect(json!({"channels": channels})).await;
    let received: Vec<_> = connected["channels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|channel| {
            (
                channel["ok"].as_bool().unwrap(),
                channel["error"]["code"].as_str().unwrap_or("none"),
            )
        })
        .collect();
    assert_eq!(
        received,
        [
            (true, "none"),
            (false, "agent_not_found"),
            (false, "agent_not_found"),
            (false, "conversation_not_found")
        ]
    );
    let problem = socket
        .expect_problem(
            "subscribe",
            json!({"channel": format!("agent:{anonymous}")}),
        )
        .await;
    assert_eq!(problem["code"], "agent_not_found");
    assert_eq!(problem["status"], 404);
    let foreign = id_of(
        &api.other_tenant()
            .post("/api/agents", json!({"name": "Theirs"}))
            .await
            .created(),
    );
    let problem = socket
        .expect_problem("subscribe", json!({"channel": format!("agent:{foreign}")}))
        .await;
    assert_eq!(problem["code"], "agent_not_found");
    api.stop().await;
}

#[tokio::test]
async fn a_channel_ends_when_its_resource_is_deleted() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
    let other = id_of(&api.conversation(json!({"agentId": agent})).await);
    let channels = [
        format!("agent:{agent}"),
        format!("conversation:{conversation}"),
        format!("conversation:{other}"),
    ];
    let names: Vec<&str> = channels.iter().map(String::as_str).collect();
    let mut socket = SocketClient::connected(&api, &api.reader(), &names).await;
    let deleted = api
        .writer()
        .delete(&format!("/api/conversations/{conversation}"))
        .await;
    assert_eq!(deleted.status, 204);
    assert_eq!(socket.event().await["type"], "conversation.deleted");
    let ended = socket.next_of_type("unsubscribed").await;
    assert_eq!(
        ended,
        json!({"type": "unsubscribed", "channel": channels[1], "reason": "deleted"})
    );
    let deleted = api.writer().delete(&format!("/api/agents/{agent}")).await;
    assert_eq!(deleted.status, 204);
    assert_eq!(socket.event().await["type"], "agent.deleted");
    // A conversation ends with its agent.
    let mut ended = [
        socket.next_of_type("unsubscribed").await,
        socket.next_of_type("unsubscribed").await,
    ];
    ended.sort_by_key(ToString::to_string);
    assert_eq!(ended[0]["channel"], json!(channels[0]));
    assert_eq!(ended[1]["channel"], json!(channels[2]));
    assert_eq!(socket.remaining().await, Vec::<Value>::new());
    api.stop().await;
}

#[tokio::test]
async fn events_that_the_caller_may_not_read_are_not_sent() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let only_agents = api
        .caller_with_scopes(&[Scope::EventsRead, Scope::AgentsRead])
        .await;
    let mut agents = SocketClient::connected(&api, &only_agents, &["tenant"]).await;
    let only_conversations = api
        .caller_with_scopes(&[Scope::EventsRead, Scope::ConversationsRead])
        .await;
    let mut conversations = SocketClient::connected(&api, &only_conversations, &["tenant"]).await;
    let mut strangers = SocketClient::connected(&api, &api.other_tenant(), &["tenant"]).await;
    let nothing = api.caller_with_scopes(&[Scope::EventsRead]).await;
    let mut nothing = SocketClient::connected(&api, &nothing, &["tenant"]).await;
    let problem = nothing
        .expect_problem("subscribe", json!({"channel": format!("agent:{agent}")}))
        .await;
    assert_eq!(problem["code"], "insufficient_scope");
    let since = head(&api).await;
    api.conversation(json!({"agentId": agent})).await;
    api.agent_id().await;
    let mut everything = Upgrade::new(&api).with_caller(&api.reader()).open().await;
    everything
        .connect(json!({"channels": ["tenant"], "since": since}))
        .await;
    everything.find(|frame| frame["type"] == "caughtUp").await;
    assert_eq!(agents.event().await["type"], "agent.created");
    assert_eq!(conversations.event().await["type"], "conversation.created");
    for socket in [
        &mut agents,
        &mut conversations,
        &mut strangers,
        &mut nothing,
    ] {
        assert_eq!(
            types_and_channels(&socket.remaining().await),
            Vec::<String>::new()
        );
    }
    api.stop().await;
}
