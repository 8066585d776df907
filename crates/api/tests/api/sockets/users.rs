//! Users of an identity provider: each is told of what it started itself.

use domain::Scope;
use serde_json::{Value, json};

use super::client::{Socket, shown};
use crate::{
    engines::scripted_agent,
    harness::{Api, id_of},
    issuer::{ForeignIssuer, Imitation},
};

/// Two users, an agent, and a conversation of the first of them.
async fn two_users(issuer: &mut ForeignIssuer, api: &Api) -> [(String, crate::caller::Caller); 2] {
    let scope = "openid agents:read chat:write conversations:read events:read";
    let mut users = Vec::new();
    for login in ["auth0|ada", "auth0|bob"] {
        let minted = issuer.mint(json!({"login": login, "scope": scope})).await;
        users.push((minted.principal(), api.caller(Some(minted.token()))));
    }
    users.try_into().unwrap_or_else(|_| panic!("two users"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_is_told_of_its_own_conversations_alone() {
    let mut issuer = ForeignIssuer::start(Imitation::Auth0).await;
    let api = issuer.trusted().start().await;
    let agent = api.agent_id().await;
    let [(ada_id, ada), (_, bob)] = two_users(&mut issuer, &api).await;
    let channels = ["tenant", &format!("agent:{agent}")];
    let mut of_ada = Socket::connected(&api, &ada, &channels).await;
    let mut of_bob = Socket::connected(&api, &bob, &channels).await;
    let chat = json!({"agentId": agent, "message": "Hello"});
    let result = of_ada.carried_out("chat", chat).await;
    let told = of_ada.events_to("turn.completed").await;
    assert!(told.iter().all(|event| event["userId"] == json!(ada_id)));
    let conversation = result["turn"]["conversationId"].as_str().unwrap();
    let members = json!({"channel": format!("conversation:{conversation}")});
    let problem = of_bob.refused("subscribe", members).await;
    assert_eq!(problem["code"], "conversation_not_found");
    let members = json!({"conversationId": conversation, "typing": true});
    let problem = of_bob.refused("typing", members.clone()).await;
    assert_eq!(problem["code"], "conversation_not_found");
    let mut of_ada_elsewhere = Socket::connected(&api, &ada, &channels).await;
    of_ada_elsewhere.carried_out("typing", members).await;
    let typing = of_ada.next_of("live").await;
    assert_eq!(typing["event"]["actor"], json!(ada_id));
    let members = json!({"turnId": result["turn"]["id"]});
    let problem = of_bob.refused("cancel", members).await;
    assert_eq!(problem["code"], "turn_not_found");
    // Agents are for both.
    api.agent_id().await;
    assert_eq!(of_ada.event().await["type"], "agent.created");
    assert_eq!(of_bob.event().await["type"], "agent.created");
    assert_eq!(shown(&of_bob.rest().await), Vec::<String>::new());
    drop((of_ada, of_ada_elsewhere, of_bob));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_read_conversations_is_told_of_the_turns_that_it_started() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let scopes = [Scope::EventsRead, Scope::ChatWrite];
    let chatter = api.holder_of(&scopes).await;
    let mut socket = Socket::connected(&api, &chatter, &["tenant"]).await;
    let mut other = Socket::connected(&api, &api.holder_of(&scopes).await, &["tenant"]).await;
    let chat = json!({"agentId": agent, "message": "Hello"});
    let result = socket.carried_out("chat", chat).await;
    let call = script.next_call().await;
    call.say("Hi!").await;
    let mut told = Vec::new();
    while told.last() != Some(&json!("reply.delta")) {
        told.push(socket.next().await["event"]["type"].clone());
    }
    call.end();
    told.push(socket.next().await["event"]["type"].clone());
    // The conversation is not its own affair, what is said in its turn is.
    assert_eq!(told, ["turn.started", "reply.delta", "turn.completed"]);
    let conversation = id_of(&json!({"id": result["turn"]["conversationId"]}));
    let chat = json!({"agentId": agent, "conversationId": conversation, "message": "Bye"});
    let answered = async {
        script.next_call().await.answer("Bye!").await;
    };
    let writer = api.writer();
    tokio::join!(writer.post("/api/chat", chat), answered)
        .0
        .ok();
    let mut all = Socket::connected(&api, &api.reader(), &["tenant"]).await;
    api.agent_id().await;
    all.event().await;
    for socket in [&mut socket, &mut other] {
        assert_eq!(socket.rest().await, Vec::<Value>::new());
    }
    drop((socket, other, all));
    api.stop().await;
}
