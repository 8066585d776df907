//! Tool calls that wait for approval by staff.

use std::time::Duration;

use domain::{ProblemCode, Scope};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::{
    api_server::ApiServer,
    approvals::{actions, agent_with_calculator, ask, calculating_agent, decision, text},
    caller::Caller,
    engines::turn,
    external_users::User,
    issuer::{ExternalIssuer, ProviderKind},
    user_tokens::{BACKEND, backend, user},
};

/// Waits for the end of the turn that a decision has begun.
pub(crate) async fn reported(api: &ApiServer, begun: &Value) -> Value {
    let id = text(&begun["id"]);
    let completed = async {
        loop {
            let found = turn(api, &id).await;
            match found["status"].as_str() {
                Some("completed") => return found,
                Some("queued" | "in_progress") => sleep(Duration::from_millis(20)).await,
                _ => panic!("{found}"),
            }
        }
    };
    let completed = timeout(Duration::from_secs(30), completed).await;
    completed.expect("it ends")
}

pub(crate) async fn staff(api: &ApiServer) -> Caller {
    let scopes = [Scope::ToolsApprove, Scope::ConversationsRead];
    api.caller_with_scopes(&scopes).await
}

/// While staff handles the conversation, a decision makes the call, or does not, and the agent is silent.
#[tokio::test(flavor = "multi_thread")]
async fn the_agent_reports_no_decision_while_staff_handles_the_conversation() {
    let api = ApiServer::start().await;
    let agent = calculating_agent(&api, "staff").await;
    for (choice, status) in [("approve", "ok"), ("deny", "denied")] {
        let asked = ask(&api, &agent).await;
        let id = text(&asked["turnId"]);
        let path = format!("/api/conversations/{}", text(&asked["conversationId"]));
        let writer = api.writer();
        writer
            .patch(&path, json!({"handledBy": "staff"}))
            .await
            .ok();
        let before = api.reader().get(&path).await.ok();
        let staff = staff(&api).await;
        let decided = staff.post(&actions(&id), decision(&id, choice)).await;
        assert_eq!(decided.status, 202, "{}", decided.text());
        let reported = reported(&api, &decided.json()).await;
        assert_eq!(reported["finishReason"], "handed_over");
        assert_eq!(reported["reply"], json!(null));
        assert_eq!(reported["toolCalls"][0]["status"], status);
        let after = api.reader().get(&path).await.ok();
        assert_eq!(after["messageCount"], before["messageCount"]);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn staff_decides_later_and_another_turn_reports_it() {
    let api = ApiServer::start().await;
    let agent = calculating_agent(&api, "staff").await;
    let asked = ask(&api, &agent).await;
    assert_eq!(asked["finishReason"], "stop");
    let id = text(&asked["turnId"]);
    let staff = staff(&api).await;
    let listed = staff.get("/api/turns?waitingFor=staff").await.ok();
    assert_eq!(listed["data"][0]["id"], id.as_str());
    let nobody = api.caller_with_scopes(&[Scope::ChatWrite]).await;
    let rejected = nobody.post(&actions(&id), decision(&id, "approve")).await;
    rejected.problem(ProblemCode::InsufficientScope);
    let decided = staff.post(&actions(&id), decision(&id, "approve")).await;
    assert_eq!(decided.status, 202, "{}", decided.text());
    let begun = decided.json();
    assert_eq!(begun["continues"]["turnId"], id.as_str());
    let reported = reported(&api, &begun).await;
    assert_eq!(reported["reply"]["content"], "5.");
    assert_eq!(reported["toolCalls"][0]["id"], format!("{id}-1"));
    assert_eq!(turn(&api, &id).await["toolCalls"][0]["status"], "approved");
    let listed = staff.get("/api/turns?waitingFor=staff").await.ok();
    assert_eq!(listed["data"], json!([]));
    let again = staff.post(&actions(&id), decision(&id, "approve")).await;
    assert_eq!(again.json()["id"], reported["id"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn staff_changes_the_arguments() {
    let api = ApiServer::start().await;
    let agent = calculating_agent(&api, "staff").await;
    let id = text(&ask(&api, &agent).await["turnId"]);
    let edited = |arguments: Value| json!({"actions": [{"callId": format!("{id}-1"), "decision": "approve", "arguments": arguments}]});
    let staff = staff(&api).await;
    for arguments in [json!("2"), json!([]), json!(null)] {
        let rejected = staff.post(&actions(&id), edited(arguments)).await;
        rejected.problem(ProblemCode::ValidationFailed);
    }
    let long = json!({"expression": "1".repeat(64 * 1024)});
    let rejected = staff.post(&actions(&id), edited(long)).await;
    rejected.problem(ProblemCode::ValidationFailed);
    assert_eq!(rejected.faults()[0].0, "/actions/0/arguments");
    let rounded: Value =
        serde_json::from_str(r#"{"expression": 18446744073709551616}"#).expect("JSON");
    let rejected = staff.post(&actions(&id), edited(rounded)).await;
    assert_eq!(rejected.faults()[0].1, "too_large");
    let with_denial = json!({"actions": [
        {"callId": format!("{id}-1"), "decision": "deny", "arguments": {}}
    ]});
    let rejected = staff.post(&actions(&id), with_denial).await;
    assert_eq!(rejected.faults()[0].1, "not_combinable");
    let other = json!({"expression": "20 + 3"});
    let decided = staff.post(&actions(&id), edited(other.clone())).await;
    assert_eq!(decided.status, 202, "{}", decided.text());
    let reported = reported(&api, &decided.json()).await;
    assert_eq!(reported["reply"]["content"], "23.");
    let asked = turn(&api, &id).await;
    for call in [&reported["toolCalls"][0], &asked["toolCalls"][0]] {
        assert_eq!(call["arguments"], json!({"expression": "2 + 3"}));
        assert_eq!(call["editedArguments"], other);
    }
    let again = staff.post(&actions(&id), edited(other)).await;
    assert_eq!(again.json()["id"], reported["id"]);
    let unedited = staff.post(&actions(&id), decision(&id, "approve")).await;
    unedited.problem(ProblemCode::ActionDecided);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_staff_changes_the_arguments_of_a_call_that_waits_for_the_user() {
    let api = ApiServer::start().await;
    let agent = calculating_agent(&api, "user").await;
    let id = text(&ask(&api, &agent).await["turnId"]);
    let edited = json!({"actions": [{"callId": format!("{id}-1"), "decision": "approve",
        "arguments": {"expression": "1"}}]});
    let chatting = api.caller_with_scopes(&[Scope::ChatWrite]).await;
    let rejected = chatting.post(&actions(&id), edited.clone()).await;
    rejected.problem(ProblemCode::ValidationFailed);
    let fault = &rejected.faults()[0];
    assert_eq!(
        (fault.0.as_str(), fault.1.as_str()),
        ("/actions/0/arguments", "not_combinable")
    );
    let both = [Scope::ChatWrite, Scope::ToolsApprove];
    let both = api.caller_with_scopes(&both).await;
    let answered = both.post(&actions(&id), edited).await.ok();
    assert_eq!(answered["reply"]["content"], "1.");
    let id = text(&ask(&api, &agent).await["turnId"]);
    let unchanged = json!({"actions": [{"callId": format!("{id}-1"), "decision": "approve",
        "arguments": {"expression": "2 + 3"}}]});
    let answered = chatting.post(&actions(&id), unchanged).await.ok();
    assert!(answered["toolCalls"][0].get("editedArguments").is_none());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_decides_in_their_own_conversation() {
    let mut issuer = ExternalIssuer::start(ProviderKind::Auth0).await;
    let api = issuer.trusting_server().start().await;
    let agent = calculating_agent(&api, "staff").await;
    let more = " tools:approve conversations:all";
    let ada = User::sign_in(&mut issuer, &api, "auth0|ada", more).await;
    let bob = User::sign_in(&mut issuer, &api, "auth0|bob", more).await;
    let chat = json!({"agentId": agent, "message": "What is 2 + 3?"});
    let id = text(&ada.caller.post("/api/chat", chat).await.ok()["turnId"]);
    let own = ada
        .caller
        .post(&actions(&id), decision(&id, "approve"))
        .await;
    own.problem(ProblemCode::OwnConversation);
    let decided = bob
        .caller
        .post(&actions(&id), decision(&id, "approve"))
        .await;
    assert_eq!(decided.status, 202, "{}", decided.text());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn users_are_not_told_of_hidden_calls_that_wait() {
    let api = ApiServer::start().await;
    let entry = json!({"approver": "staff", "visibility": "none"});
    let agent = agent_with_calculator(&api, entry).await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let chat = json!({"agentId": agent, "message": "What is 2 + 3?"});
    let asked = ada.post("/api/chat", chat).await.ok();
    let seen = ada.get("/api/turns?waitingFor=staff").await.ok();
    assert_eq!(seen["data"], json!([]));
    let staff = staff(&api).await;
    let listed = staff.get("/api/turns?waitingFor=staff");
    assert_eq!(listed.await.ok()["data"][0]["id"], asked["turnId"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_limited_to_a_time() {
    let api = ApiServer::start().await;
    let agent = calculating_agent(&api, "staff").await;
    let id = text(&ask(&api, &agent).await["turnId"]);
    let created = text(&turn(&api, &id).await["createdAt"]);
    let staff = staff(&api).await;
    for (limits, count) in [
        (format!("from={created}"), 1),
        (format!("to={created}"), 0),
        (format!("from={created}&to=2100-01-01T00:00:00Z"), 1),
        ("from=2100-01-01T00:00:00Z".to_owned(), 0),
    ] {
        let path = format!("/api/turns?waitingFor=staff&{limits}");
        let page = staff.get(&path).await.ok();
        let found = page["data"].as_array().expect("a page").len();
        assert_eq!(found, count, "{limits}");
    }
    let rejected = staff.get("/api/turns?waitingFor=staff&from=today").await;
    rejected.problem(ProblemCode::ValidationFailed);
    api.stop().await;
}
