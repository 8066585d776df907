//! `POST /api/conversations` with messages of conversations that were led elsewhere.

use domain::ProblemCode;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    response::ApiResponse,
    user_tokens::{backend, token},
};

fn imported(agent: &str) -> Value {
    json!({
        "agentId": agent,
        "userId": "ada",
        "createdAt": "2024-05-01T09:59:00.000Z",
        "messages": [
            {"role": "user", "content": "Where is my order?", "createdAt": "2024-05-01T10:00:00Z", "clientMessageId": "own-1"},
            {"role": "agent", "content": "On its way.", "createdAt": "2024-05-01T10:00:00Z"},
            {"role": "agent", "content": "It arrives today.", "createdAt": "2024-05-01T10:05:00+00:00", "author": {"name": "Grace"}},
        ],
    })
}

async fn import(api: &ApiServer, body: Value) -> ApiResponse {
    api.writer().post("/api/conversations", body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_conversation_has_its_messages_and_times() {
    let api = ApiServer::start().await;
    let draft = json!({"name": "Ada", "config": {"greeting": "Good morning!"}});
    let agent = id_of(&api.agent(draft).await);
    let conversation = import(&api, imported(&agent)).await.created();
    assert_eq!(conversation["createdAt"], "2024-05-01T09:59:00.000Z");
    assert_eq!(conversation["lastMessageAt"], "2024-05-01T10:05:00.000Z");
    assert_eq!(conversation["messageCount"], 3);
    assert_eq!(conversation["excerpt"], "It arrives today.");
    let path = format!("/api/conversations/{}", id_of(&conversation));
    assert_eq!(api.reader().get(&path).await.ok(), conversation);
    let page = api.reader().get(&format!("{path}/messages")).await.ok();
    let shown: Vec<_> = page["data"].as_array().unwrap().iter().collect();
    assert_eq!(shown.len(), 3, "without the greeting");
    assert_eq!(shown[0]["clientMessageId"], "own-1");
    assert_eq!(shown[0]["turnId"], Value::Null);
    assert_eq!(shown[1]["author"], Value::Null);
    assert_eq!(shown[1]["createdAt"], "2024-05-01T10:00:00.000Z");
    assert_eq!(shown[2]["author"]["name"], "Grace");
    let reply = api.chat(json!({"conversationId": conversation["id"], "message": "Thanks"}));
    assert!(reply.await["messageId"].is_string());
    let page = api.reader().get(&format!("{path}/messages")).await.ok();
    assert_eq!(page["data"][4]["seq"], 5);
    // The client's own id finds an imported message, as it finds others.
    let fork =
        json!({"forkOf": {"conversationId": conversation["id"], "messageId": shown[1]["id"]}});
    let fork = import(&api, fork).await.created();
    let copied = format!("/api/conversations/{}/messages", id_of(&fork));
    let copied = api.reader().get(&copied).await.ok();
    assert_eq!(copied["data"][0]["clientMessageId"], "own-1");
    assert_eq!(copied["data"].as_array().unwrap().len(), 2);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_reply_is_written_again() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let mut body = imported(&agent);
    body["messages"].as_array_mut().unwrap().pop();
    let conversation = import(&api, body).await.created();
    let path = format!("/api/conversations/{}/messages", id_of(&conversation));
    let page = api.reader().get(&path).await.ok();
    let again = json!({"conversationId": conversation["id"], "supersedes": page["data"][1]["id"]});
    api.chat(again).await;
    let page = api.reader().get(&path).await.ok();
    assert_eq!(page["data"].as_array().unwrap().len(), 2);
    assert_eq!(page["data"][0]["clientMessageId"], "own-1");
    assert_ne!(page["data"][1]["content"], "On its way.");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_is_one_event_and_happens_once() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let mut body = imported(&agent);
    body["conversationKey"] = "ticket-7".into();
    let writer = api.writer();
    let send = |body: &Value| {
        let request = writer.request("POST", "/api/conversations");
        request
            .header("Idempotency-Key", "import-7")
            .json(body)
            .send()
    };
    let head = async || {
        let page = api.reader().get("/api/conversations").await;
        page.header("x-event-seq").parse::<i64>().unwrap()
    };
    let before = head().await;
    let first = send(&body).await;
    let again = send(&body).await;
    assert_eq!(head().await, before + 1);
    assert_eq!(first.created()["id"], again.created()["id"]);
    assert_eq!(again.header("idempotency-replayed"), "true");
    let other = import(&api, body.clone()).await;
    other.problem(ProblemCode::ConversationKeyInUse);
    body["messages"][0]["content"] = "Another".into();
    send(&body).await.problem(ProblemCode::IdempotencyKeyReused);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_import_is_rejected_with_its_faults() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let faults = async |change: fn(&mut Value)| {
        let mut body = imported(&agent);
        change(&mut body);
        import(&api, body).await.faults()
    };
    let fault = |pointer: &str, code: &str| vec![(pointer.to_owned(), code.to_owned())];
    assert_eq!(
        faults(|body| body["createdAt"] = "2024-05-01T10:00:01Z".into()).await,
        fault("/messages/0/createdAt", "too_small")
    );
    assert_eq!(
        faults(|body| body["messages"][2]["createdAt"] = "2999-01-01T00:00:00Z".into()).await,
        fault("/messages/2/createdAt", "too_large")
    );
    assert_eq!(
        faults(|body| body["messages"][1]["content"] = " ".into()).await,
        fault("/messages/1/content", "too_short")
    );
    assert_eq!(
        faults(|body| body["messages"][1]["role"] = "system".into()).await,
        fault("/messages/1/role", "unknown_value")
    );
    assert_eq!(
        faults(|body| {
            let message = body["messages"][0].clone();
            body["messages"] = vec![message; 1_001].into();
        })
        .await,
        fault("/messages", "too_many")
    );
    assert_eq!(
        faults(|body| {
            let id = body["agentId"].clone();
            body["forkOf"] = json!({"conversationId": id});
        })
        .await,
        fault("/forkOf", "not_combinable")
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn users_import_nothing_and_have_small_bodies() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let scopes = ["user-tokens:issue", "conversations:write"];
    let (_, backend) = backend(&api, &scopes).await;
    let draft = json!({"userId": "ada", "scopes": &scopes[1..]});
    let user = api.caller(Some(&token(&backend, draft).await));
    for member in ["messages", "createdAt"] {
        let mut body = json!({"agentId": agent});
        body[member] = imported(&agent)[member].clone();
        let refused = user.post("/api/conversations", body).await;
        refused.problem(ProblemCode::InsufficientScope);
    }
    let messages = vec![
        json!({"role": "user", "content": "x".repeat(8_000), "createdAt": "2024-05-01T10:00:00Z"});
        1_000
    ];
    let body = json!({"agentId": agent, "messages": messages});
    let refused = user.post("/api/conversations", body.clone()).await;
    refused.problem(ProblemCode::BodyTooLarge);
    let large = import(&api, body).await.created();
    assert_eq!(large["messageCount"], 1_000);
    let too_large = json!({"agentId": agent, "title": "x".repeat(8 * 1024 * 1024)});
    let refused = import(&api, too_large).await;
    refused.problem(ProblemCode::BodyTooLarge);
    api.stop().await;
}
