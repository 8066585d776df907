//! Users of an identity provider of somebody else's: each sees what they started themselves.

use domain::ProblemCode;
use serde_json::{Value, json};

use crate::{
    caller::Caller,
    harness::Api,
    issuer::{ForeignIssuer, Imitation, get_with_keys},
};

const EVERYTHING_OF_TALKS: &str =
    "openid agents:read chat:write conversations:read conversations:write events:read";

/// A user who is signed in.
struct User {
    id: String,
    caller: Caller,
}

impl User {
    async fn sign_in(issuer: &mut ForeignIssuer, api: &Api, login: &str, more: &str) -> Self {
        let scope = format!("{EVERYTHING_OF_TALKS}{more}");
        let minted = issuer.mint(json!({"login": login, "scope": scope})).await;
        Self {
            id: minted.principal(),
            caller: api.caller(Some(minted.token())),
        }
    }

    /// Says hello and answers the reply.
    async fn chat(&self, agent: &str) -> Value {
        let command = json!({"agentId": agent, "message": "Hello"});
        self.caller.post("/api/chat", command).await.ok()
    }

    /// How many things a page holds.
    async fn count(&self, path: &str) -> usize {
        let page = self.caller.get(path).await.ok();
        page["data"].as_array().expect("a page").len()
    }
}

/// Two users, an agent, and what the agent replied to the first of them.
struct Scene {
    api: Api,
    issuer: ForeignIssuer,
    ada: User,
    bob: User,
    agent: String,
    reply: Value,
}

impl Scene {
    async fn set() -> Self {
        let mut issuer = ForeignIssuer::start(Imitation::Auth0).await;
        let api = issuer.trusted().start().await;
        let agent = api.agent_id().await;
        let ada = User::sign_in(&mut issuer, &api, "auth0|ada", "").await;
        let bob = User::sign_in(&mut issuer, &api, "auth0|bob", "").await;
        get_with_keys(&ada.caller, "/api/agents").await.ok();
        let reply = ada.chat(&agent).await;
        Self {
            api,
            issuer,
            ada,
            bob,
            agent,
            reply,
        }
    }

    fn conversation(&self) -> String {
        let id = self.reply["conversationId"].as_str();
        format!("/api/conversations/{}", id.expect("an id"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_user_starts_is_theirs() {
    let scene = Scene::set().await;
    let conversation = scene.ada.caller.get(&scene.conversation()).await.ok();
    assert_eq!(conversation["userId"], "idp~auth0|ada");
    assert_eq!(scene.ada.count("/api/conversations").await, 1);
    let by_agent = format!("/api/conversations?agentId={}", scene.agent);
    assert_eq!(scene.ada.count(&by_agent).await, 1);
    let messages = format!("{}/messages", scene.conversation());
    assert_eq!(scene.ada.count(&messages).await, 2);
    let draft = json!({"agentId": scene.agent, "userId": scene.ada.id});
    let made = scene
        .ada
        .caller
        .post("/api/conversations", draft)
        .await
        .made();
    assert_eq!(made["userId"], scene.ada.id);
    scene.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_user_started_is_not_there() {
    let scene = Scene::set().await;
    let (bob, conversation) = (&scene.bob.caller, scene.conversation());
    for path in [conversation.clone(), format!("{conversation}/messages")] {
        bob.get(&path)
            .await
            .problem(ProblemCode::ConversationNotFound);
    }
    let answer = bob.patch(&conversation, json!({"title": "mine"})).await;
    answer.problem(ProblemCode::ConversationNotFound);
    let answer = bob.delete(&conversation).await;
    answer.problem(ProblemCode::ConversationNotFound);
    let command = json!({
        "agentId": scene.agent, "message": "Hello",
        "conversationId": scene.reply["conversationId"],
    });
    let answer = bob.post("/api/chat", command).await;
    answer.problem(ProblemCode::ConversationNotFound);
    let turn = format!(
        "/api/turns/{}",
        scene.reply["turnId"].as_str().expect("an id")
    );
    bob.get(&turn).await.problem(ProblemCode::TurnNotFound);
    let answer = bob.post(&format!("{turn}/cancel"), json!({})).await;
    answer.problem(ProblemCode::TurnNotFound);
    let by_agent = format!("/api/conversations?agentId={}", scene.agent);
    for path in ["/api/conversations", &by_agent] {
        assert_eq!(scene.bob.count(path).await, 0, "{path}");
    }
    // It is all still as Ada left it.
    assert_eq!(
        scene.ada.caller.get(&conversation).await.ok()["title"],
        Value::Null
    );
    scene.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_acts_in_another_user_s_name() {
    let scene = Scene::set().await;
    let (bob, ada) = (&scene.bob.caller, &scene.ada.id);
    let draft = json!({"agentId": scene.agent, "userId": ada});
    let command = json!({"agentId": scene.agent, "userId": ada, "message": "Hello"});
    for (path, body) in [("/api/conversations", draft), ("/api/chat", command)] {
        bob.post(path, body)
            .await
            .problem(ProblemCode::ValidationFailed);
    }
    let answer = bob.get("/api/conversations?userId=idp~auth0%7Cada").await;
    answer.problem(ProblemCode::ValidationFailed);
    assert_eq!(scene.ada.count("/api/conversations").await, 1);
    scene.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_hears_of_their_own_conversations_alone() {
    let scene = Scene::set().await;
    scene.bob.chat(&scene.agent).await;
    let id = scene.reply["conversationId"].as_str().expect("an id");
    let by_agent = format!("/api/events?since=0&agentId={}", scene.agent);
    for path in ["/api/events?since=0", &by_agent] {
        let page = scene.bob.caller.get(path).await.ok();
        let events = page["data"].as_array().expect("a page");
        let theirs = |event: &&Value| event["conversationId"].is_string();
        assert_eq!(events.iter().filter(theirs).count(), 3, "{path}: {page}");
        assert!(!page.to_string().contains(id), "{path}: {page}");
    }
    // As of a conversation that there never was.
    let path = format!("/api/events?since=0&conversationId={id}");
    assert_eq!(scene.bob.count(&path).await, 0);
    scene.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scope_lets_a_user_see_all_conversations() {
    let mut scene = Scene::set().await;
    let more = " conversations:all";
    let eve = User::sign_in(&mut scene.issuer, &scene.api, "auth0|eve", more).await;
    eve.caller.get(&scene.conversation()).await.ok();
    assert_eq!(eve.count("/api/conversations").await, 1);
    assert_eq!(
        eve.count("/api/conversations?userId=idp~auth0%7Cada").await,
        1
    );
    scene.api.stop().await;
}
