//! Turns whose tool calls wait for the user or for the page.

use domain::{ProblemCode, Usage};
use serde_json::{Value, json};
use sqlx::ConnectOptions as _;

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    engines::{scripted_agent, turn},
    postgres::Database,
    user_tokens::{BACKEND, backend, user},
};

/// An agent that calculates once someone has approved it.
pub(crate) async fn calculating_agent(api: &ApiServer, approver: &str) -> String {
    agent_with_calculator(api, json!({"approver": approver})).await
}

/// The same, with these members in the entry of the tool.
pub(crate) async fn agent_with_calculator(api: &ApiServer, mut entry: Value) -> String {
    entry["name"] = json!("calculator");
    entry["approval"] = json!("always");
    let call = json!({"tool": "calculator", "arguments": {"expression": "{{capture.1}}"}});
    let rules = json!([{"pattern": "what is (.*)\\?", "call": call, "reply": "{{result}}."}]);
    let config = json!({"engine": "rules", "rules": rules, "tools": [entry]});
    id_of(&api.agent(json!({"name": "Ada", "config": config})).await)
}

pub(crate) fn decision(turn: &str, decision: &str) -> Value {
    json!({"actions": [{"callId": format!("{turn}-1"), "decision": decision}]})
}

pub(crate) fn actions(turn: &str) -> String {
    format!("/api/turns/{turn}/actions")
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

pub(crate) async fn ask(api: &ApiServer, agent: &str) -> Value {
    let chat = json!({"agentId": agent, "message": "What is 2 + 3?", "userId": "ada"});
    api.chat(chat).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_call_is_made_and_the_first_answer_wins() {
    let api = ApiServer::start().await;
    let agent = calculating_agent(&api, "user").await;
    let asked = ask(&api, &agent).await;
    assert_eq!(asked["finishReason"], "requires_action");
    assert_eq!(asked["toolCalls"][0]["needs"], "approval");
    let id = text(&asked["turnId"]);
    assert_eq!(turn(&api, &id).await["status"], "requires_action");
    let unknown = json!({"actions": [{"callId": "none", "decision": "approve"}]});
    let response = api.writer().post(&actions(&id), unknown).await;
    response.problem(ProblemCode::ActionNotFound);
    let wrong = json!({"actions": [{"callId": format!("{id}-1"), "output": "5"}]});
    let response = api.writer().post(&actions(&id), wrong).await;
    response.problem(ProblemCode::ValidationFailed);
    assert_eq!(response.faults()[0].1, "not_combinable");
    for _ in 0..2 {
        let answered = api
            .writer()
            .post(&actions(&id), decision(&id, "approve"))
            .await;
        let answered = answered.ok();
        assert_eq!(answered["reply"]["content"], "5.");
        assert_eq!(answered["toolCalls"][0]["status"], "ok");
    }
    let other = api
        .writer()
        .post(&actions(&id), decision(&id, "deny"))
        .await;
    let problem = other.problem(ProblemCode::ActionDecided);
    assert_eq!(problem["callStatus"], "ok");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_call_is_not_made_and_a_message_dismisses_one() {
    let api = ApiServer::start().await;
    let agent = calculating_agent(&api, "user").await;
    let asked = ask(&api, &agent).await;
    let id = text(&asked["turnId"]);
    let denied = json!({"actions": [{"callId": format!("{id}-1"), "decision": "deny", "reason": "too dear"}]});
    let denied = api.writer().post(&actions(&id), denied).await.ok();
    assert_eq!(denied["toolCalls"][0]["status"], "denied");
    let content = text(&denied["reply"]["content"]);
    assert!(content.contains("too dear"), "{content}");
    let asked = ask(&api, &agent).await;
    let mut next = json!({"conversationId": asked["conversationId"], "message": "Hello"});
    next["onBusy"] = "reject".into();
    let rejected = api.writer().post("/api/chat", next.clone()).await;
    rejected.problem(ProblemCode::ActionRequired);
    next["onBusy"] = "queue".into();
    api.chat(next).await;
    let dismissed = turn(&api, &text(&asked["turnId"])).await;
    let found = (
        &dismissed["finishReason"],
        &dismissed["toolCalls"][0]["status"],
    );
    assert_eq!(found, (&json!("dismissed"), &json!("dismissed")));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn users_answer_their_own_questions_and_never_decide_for_staff() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let [ada, bob] = [
        user(&api, &backend, "ada").await,
        user(&api, &backend, "bob").await,
    ];
    let agent = calculating_agent(&api, "user").await;
    let chat = json!({"agentId": agent, "message": "What is 2 + 3?"});
    let asked = ada.post("/api/chat", chat).await.ok();
    assert_eq!(asked["toolCalls"][0]["arguments"]["expression"], "2 + 3");
    let id = text(&asked["turnId"]);
    let other = bob.post(&actions(&id), decision(&id, "approve")).await;
    other.problem(ProblemCode::TurnNotFound);
    let listed = bob.get("/api/turns?waitingFor=user").await.ok();
    assert_eq!(listed["data"], json!([]));
    let listed = ada.get("/api/turns?waitingFor=user").await.ok();
    assert_eq!(listed["data"][0]["id"], id.as_str());
    ada.post(&actions(&id), decision(&id, "approve")).await.ok();
    let agent = calculating_agent(&api, "staff").await;
    let chat = json!({"agentId": agent, "message": "What is 2 + 3?"});
    let asked = ada.post("/api/chat", chat).await.ok();
    let id = text(&asked["turnId"]);
    let found = ada.get(&format!("/api/turns/{id}")).await.ok();
    assert_eq!(found["toolCalls"][0]["arguments"], Value::Null);
    let rejected = ada.post(&actions(&id), decision(&id, "approve")).await;
    rejected.problem(ProblemCode::InsufficientScope);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_brings_tools_that_its_client_runs() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let tool = json!({"name": "open_cart", "parameters": {"type": "object"}});
    let chat = json!({"agentId": agent, "message": "Hi", "clientTools": [tool]});
    let (asked, ()) = tokio::join!(api.chat(chat.clone()), async {
        let call = script.next_call().await;
        call.use_tool_with("open_cart", Usage::default());
    });
    assert_eq!(asked["toolCalls"][0]["needs"], "output");
    let id = text(&asked["turnId"]);
    let output = json!({"actions": [{"callId": format!("{id}-1"), "output": {"open": true}}]});
    let (writer, path) = (api.writer(), actions(&id));
    let (answered, ()) = tokio::join!(writer.post(&path, output), async {
        script.next_call().await.answer("It is open.").await;
    });
    let answered = answered.ok();
    assert_eq!(answered["reply"]["content"], "It is open.");
    assert_eq!(answered["toolCalls"][0]["result"], r#"{"open":true}"#);
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let refused = ada.post("/api/chat", chat.clone()).await;
    refused.problem(ProblemCode::ValidationFailed);
    assert_eq!(refused.faults()[0].0, "/clientTools");
    let mut broken = chat;
    broken["clientTools"] = json!([{"name": "a b"}]);
    let broken = api.writer().post("/api/chat", broken).await;
    broken.problem(ProblemCode::ValidationFailed);
    api.stop().await;
}

/// An older process would not know that such a turn waits.
#[tokio::test(flavor = "multi_thread")]
async fn no_turn_waits_beside_a_process_of_an_earlier_version() {
    let database = Database::make().await;
    let on_postgres = || ApiServerBuilder::default().setting("DATABASE_URL", &database.url());
    let api = on_postgres().start().await;
    let agent = calculating_agent(&api, "user").await;
    let mut connection = database.options().connect().await.expect("it answers");
    let older =
        "insert into nodes (id, lease_until) values (gen_random_uuid(), now() + interval '1 hour')";
    let inserted = sqlx::query(older).execute(&mut connection).await;
    inserted.expect("the statement is valid");
    let api = api.restart(on_postgres()).await;
    let chat = json!({"agentId": agent, "message": "What is 2 + 3?"});
    let response = api.writer().post("/api/chat", chat).await;
    let problem = response.problem(ProblemCode::Upgrading);
    assert_eq!(problem["retryable"], true);
    api.stop().await;
}
