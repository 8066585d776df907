//! Users of an external identity provider: each sees only its own conversations.

use domain::ProblemCode;
use serde_json::{Value, json};

use crate::{
    api_server::ApiServer,
    caller::Caller,
    issuer::{ExternalIssuer, ProviderKind, get_with_keys},
};

const EVERYTHING_OF_TALKS: &str =
    "openid agents:read chat:write conversations:read conversations:write events:read";

/// A signed-in user.
pub(crate) struct User {
    id: String,
    pub(crate) caller: Caller,
}

impl User {
    pub(crate) async fn sign_in(
        issuer: &mut ExternalIssuer,
        api: &ApiServer,
        login: &str,
        more: &str,
    ) -> Self {
        let scope = format!("{EVERYTHING_OF_TALKS}{more}");
        let minted = issuer
            .issue_tokens(json!({"login": login, "scope": scope}))
            .await;
        Self {
            id: minted.principal(),
            caller: api.caller(Some(minted.token())),
        }
    }

    /// Sends a message, and returns the reply.
    async fn chat(&self, agent: &str) -> Value {
        let command = json!({"agentId": agent, "message": "Hello"});
        self.caller.post("/api/chat", command).await.ok()
    }

    /// The number of items of a page.
    async fn count(&self, path: &str) -> usize {
        let page = self.caller.get(path).await.ok();
        page["data"].as_array().expect("a page").len()
    }
}

/// Two users, an agent, and the agent's reply to the first user.
struct Fixture {
    api: ApiServer,
    issuer: ExternalIssuer,
    ada: User,
    bob: User,
    agent: String,
    reply: Value,
}

impl Fixture {
    async fn new() -> Self {
        let mut issuer = ExternalIssuer::start(ProviderKind::Auth0).await;
        let api = issuer.trusting_server().start().await;
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
async fn a_conversation_belongs_to_the_user_that_starts_it() {
    let fixture = Fixture::new().await;
    let conversation = fixture.ada.caller.get(&fixture.conversation()).await.ok();
    assert_eq!(conversation["userId"], "idp~auth0|ada");
    assert_eq!(fixture.ada.count("/api/conversations").await, 1);
    let by_agent = format!("/api/conversations?agentId={}", fixture.agent);
    assert_eq!(fixture.ada.count(&by_agent).await, 1);
    let messages = format!("{}/messages", fixture.conversation());
    assert_eq!(fixture.ada.count(&messages).await, 2);
    let draft = json!({"agentId": fixture.agent, "userId": fixture.ada.id});
    let made = fixture
        .ada
        .caller
        .post("/api/conversations", draft)
        .await
        .created();
    assert_eq!(made["userId"], fixture.ada.id);
    fixture.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_of_other_users_are_not_found() {
    let fixture = Fixture::new().await;
    let (bob, conversation) = (&fixture.bob.caller, fixture.conversation());
    for path in [conversation.clone(), format!("{conversation}/messages")] {
        bob.get(&path)
            .await
            .problem(ProblemCode::ConversationNotFound);
    }
    let response = bob.patch(&conversation, json!({"title": "mine"})).await;
    response.problem(ProblemCode::ConversationNotFound);
    let response = bob.delete(&conversation).await;
    response.problem(ProblemCode::ConversationNotFound);
    let command = json!({
        "agentId": fixture.agent, "message": "Hello",
        "conversationId": fixture.reply["conversationId"],
    });
    let response = bob.post("/api/chat", command).await;
    response.problem(ProblemCode::ConversationNotFound);
    let turn = format!(
        "/api/turns/{}",
        fixture.reply["turnId"].as_str().expect("an id")
    );
    bob.get(&turn).await.problem(ProblemCode::TurnNotFound);
    let response = bob.post(&format!("{turn}/cancel"), json!({})).await;
    response.problem(ProblemCode::TurnNotFound);
    let by_agent = format!("/api/conversations?agentId={}", fixture.agent);
    for path in ["/api/conversations", &by_agent] {
        assert_eq!(fixture.bob.count(path).await, 0, "{path}");
    }
    // All data of Ada is unchanged.
    assert_eq!(
        fixture.ada.caller.get(&conversation).await.ok()["title"],
        Value::Null
    );
    fixture.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_cannot_act_as_another_user() {
    let fixture = Fixture::new().await;
    let (bob, ada) = (&fixture.bob.caller, &fixture.ada.id);
    let draft = json!({"agentId": fixture.agent, "userId": ada});
    let command = json!({"agentId": fixture.agent, "userId": ada, "message": "Hello"});
    for (path, body) in [("/api/conversations", draft), ("/api/chat", command)] {
        bob.post(path, body)
            .await
            .problem(ProblemCode::ValidationFailed);
    }
    let response = bob.get("/api/conversations?userId=idp~auth0%7Cada").await;
    response.problem(ProblemCode::ValidationFailed);
    assert_eq!(fixture.ada.count("/api/conversations").await, 1);
    fixture.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_receives_events_of_its_own_conversations_only() {
    let fixture = Fixture::new().await;
    fixture.bob.chat(&fixture.agent).await;
    let id = fixture.reply["conversationId"].as_str().expect("an id");
    let by_agent = format!("/api/events?since=0&agentId={}", fixture.agent);
    for path in ["/api/events?since=0", &by_agent] {
        let page = fixture.bob.caller.get(path).await.ok();
        let events = page["data"].as_array().expect("a page");
        let theirs = |event: &&Value| event["conversationId"].is_string();
        assert_eq!(events.iter().filter(theirs).count(), 3, "{path}: {page}");
        assert!(!page.to_string().contains(id), "{path}: {page}");
    }
    // The same as for a conversation that never existed.
    let path = format!("/api/events?since=0&conversationId={id}");
    assert_eq!(fixture.bob.count(&path).await, 0);
    fixture.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scope_lets_a_user_see_all_conversations() {
    let mut fixture = Fixture::new().await;
    let more = " conversations:all";
    let eve = User::sign_in(&mut fixture.issuer, &fixture.api, "auth0|eve", more).await;
    eve.caller.get(&fixture.conversation()).await.ok();
    assert_eq!(eve.count("/api/conversations").await, 1);
    assert_eq!(
        eve.count("/api/conversations?userId=idp~auth0%7Cada").await,
        1
    );
    fixture.api.stop().await;
}
