//! Turns whose tool calls wait for the user, for the page or for staff.

use domain::{ProblemCode, Scope, Usage};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    engines::{scripted_agent, turn},
    user_tokens::{BACKEND, backend, user},
};

/// An agent that calculates once someone has approved it.
async fn calculating_agent(api: &ApiServer, approver: &str) -> String {
    let call = json!({"tool": "calculator", "arguments": {"expression": "{{capture.1}}"}});
    let rules = json!([{"pattern": "what is (.*)\\?", "call": call, "reply": "{{result}}."}]);
    let tools = json!([{"name": "calculator", "approval": "always", "approver": approver}]);
    let config = json!({"engine": "rules", "rules": rules, "tools": tools});
    id_of(&api.agent(json!({"name": "Ada", "config": config})).await)
}

fn decision(turn: &str, decision: &str) -> Value {
    json!({"actions": [{"callId": format!("{turn}-1"), "decision": decision}]})
}

fn actions(turn: &str) -> String {
    format!("/api/turns/{turn}/actions")
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

async fn ask(api: &ApiServer, agent: &str) -> Value {
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
async fn staff_decides_later_and_another_turn_reports_it() {
    let api = ApiServer::start().await;
    let agent = calculating_agent(&api, "staff").await;
    let asked = ask(&api, &agent).await;
    assert_eq!(asked["finishReason"], "stop");
    let id = text(&asked["turnId"]);
    let staff = [Scope::ToolsApprove, Scope::ConversationsRead];
    let staff = api.caller_with_scopes(&staff).await;
    let listed = staff.get("/api/turns?waitingFor=staff").await.ok();
    assert_eq!(listed["data"][0]["id"], id.as_str());
    let nobody = api.caller_with_scopes(&[Scope::ChatWrite]).await;
    let rejected = nobody.post(&actions(&id), decision(&id, "approve")).await;
    rejected.problem(ProblemCode::InsufficientScope);
    let decided = staff.post(&actions(&id), decision(&id, "approve")).await;
    assert_eq!(decided.status, 202, "{}", decided.text());
    let begun = decided.json();
    assert_eq!(begun["continues"]["turnId"], id.as_str());
    let report = text(&begun["id"]);
    let reported = loop {
        let found = turn(&api, &report).await;
        if found["status"] == "completed" {
            break found;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    assert_eq!(reported["reply"]["content"], "5.");
    assert_eq!(reported["toolCalls"][0]["id"], format!("{id}-1"));
    assert_eq!(turn(&api, &id).await["toolCalls"][0]["status"], "approved");
    let listed = staff.get("/api/turns?waitingFor=staff").await.ok();
    assert_eq!(listed["data"], json!([]));
    let again = staff.post(&actions(&id), decision(&id, "approve")).await;
    assert_eq!(again.json()["id"], report.as_str());
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
