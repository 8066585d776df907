//! Users of an identity provider: each receives only its own events.

use domain::Scope;
use serde_json::json;

use super::client::{SocketClient, types_and_channels};
use crate::{
    api_server::{ApiServer, id_of},
    engines::scripted_agent,
    issuer::{ExternalIssuer, ProviderKind},
};

/// Two users, an agent, and a conversation of the first of them.
async fn two_users(
    issuer: &mut ExternalIssuer,
    api: &ApiServer,
) -> [(String, crate::caller::Caller); 2] {
    let scope = "openid agents:read chat:write conversations:read events:read";
    let mut users = Vec::new();
    for login in ["auth0|ada", "auth0|bob"] {
        let minted = issuer
            .issue_tokens(json!({"login": login, "scope": scope}))
            .await;
        users.push((minted.principal(), api.caller(Some(minted.token()))));
    }
    users.try_into().unwrap_or_else(|_| panic!("two users"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_receives_events_of_its_own_conversations_only() {
    let mut issuer = ExternalIssuer::start(ProviderKind::Auth0).await;
    let api = issuer.trusting_server().start().await;
    let agent = api.agent_id().await;
    let [(ada_id, ada), (_, bob)] = two_users(&mut issuer, &api).await;
    let channels = ["tenant", &format!("agent:{agent}")];
    let mut of_ada = SocketClient::connected(&api, &ada, &channels).await;
    let mut of_bob = SocketClient::connected(&api, &bob, &channels).await;
    let chat = json!({"agentId": agent, "message": "Hello"});
    let result = of_ada.expect_success("chat", chat).await;
    let received = of_ada.events_to("turn.completed").await;
    assert!(
        received
            .iter()
            .all(|event| event["userId"] == json!(ada_id))
    );
    let conversation = result["turn"]["conversationId"].as_str().unwrap();
    let members = json!({"channel": format!("conversation:{conversation}")});
    let problem = of_bob.expect_problem("subscribe", members).await;
    assert_eq!(problem["code"], "conversation_not_found");
    let members = json!({"conversationId": conversation, "typing": true});
    let problem = of_bob.expect_problem("typing", members.clone()).await;
    assert_eq!(problem["code"], "conversation_not_found");
    let mut of_ada_elsewhere = SocketClient::connected(&api, &ada, &channels).await;
    of_ada_elsewhere.expect_success("typing", members).await;
    let typing = of_ada.next_of_type("live").await;
    assert_eq!(typing["event"]["actor"], json!(ada_id));
    let members = json!({"turnId": result["turn"]["id"]});
    let problem = of_bob.expect_problem("cancel", members).await;
    assert_eq!(problem["code"], "turn_not_found");
    // Both users may see agents.
    api.agent_id().await;
    assert_eq!(of_ada.event().await["type"], "agent.created");
    assert_eq!(of_bob.event().await["type"], "agent.created");
    assert_eq!(
        types_and_channels(&of_bob.remaining().await),
        Vec::<String>::new()
    );
    drop((of_ada, of_ada_elsewhere, of_bob));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_read_scope_a_caller_receives_events_of_its_own_turns() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let scopes = [Scope::EventsRead, Scope::ChatWrite];
    let chatter = api.caller_with_scopes(&scopes).await;
    let mut socket = SocketClient::connected(&api, &chatter, &["tenant"]).await;
    let mut other =
        SocketClient::connected(&api, &api.caller_with_scopes(&scopes).await, &["tenant"]).await;
    let chat = json!({"agentId": agent, "message": "Hello"});
    let result = socket.expect_success("chat", chat).await;
    let call = script.next_call().await;
    call.send_text("Hi!").await;
    let mut received = Vec::new();
    while received.last() != Some(&json!("reply.delta")) {
        received.push(socket.next().await["event"]["type"].clone());
    }
    call.end();
    received.push(socket.next().await["event"]["type"].clone());
    // The caller sees the events and text of its turn, but not those of the conversation.
    assert_eq!(received, ["turn.started", "reply.delta", "turn.completed"]);
    let conversation = id_of(&json!({"id": result["turn"]["conversationId"]}));
    let chat = json!({"agentId": agent, "conversationId": conversation, "message": "Bye"});
    let answered = async {
        script.next_call().await.answer("Bye!").await;
    };
    let writer = api.writer();
    tokio::join!(writer.post("/api/chat", chat), answered)
        .0
        .ok();
    let mut all = SocketClient::connected(&api, &api.reader(), &["tenant"]).await;
    api.agent_id().await;
    all.event().await;
    for socket in [&mut socket, &mut other] {
        let rest = socket.remaining().await;
        let names: Vec<_> = rest
            .iter()
            .map(|it| &it["event"]["data"]["profile"]["name"])
            .collect();
        assert_eq!(names, ["Ada"], "of agents, it sees profiles");
    }
    drop((socket, other, all));
    api.stop().await;
}
