//! `/api/turns/{id}` of turns that have ended; running ones are in `engines`.

use domain::{ProblemCode, Scope};
use insta::assert_snapshot;
use serde_json::json;

use crate::api_server::ApiServer;

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_contains_message_and_reply() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let command = json!({"agentId": agent, "message": "Thanks", "metadata": {"page": "cart"}});
    let reply = api.chat(command).await;
    let path = format!("/api/turns/{}", reply["turnId"].as_str().unwrap());
    let response = api.reader().get(&path).await;
    assert_snapshot!(response.snapshot(), @r#"
    200 OK
    {
      "agentId": "[id]",
      "agentVersion": 1,
      "clientMessageId": null,
      "conversationId": "[id]",
      "createdAt": "[time]",
      "degraded": false,
      "engine": "rules",
      "error": null,
      "files": [],
      "finishReason": "stop",
      "finishedAt": "[time]",
      "id": "[id]",
      "input": "Thanks",
      "metadata": {
        "page": "cart"
      },
      "model": null,
      "reply": {
        "agentVersion": 1,
        "content": "You're welcome! Just ask if there is anything else.",
        "conversationId": "[id]",
        "createdAt": "[time]",
        "engine": "rules",
        "files": [],
        "finishReason": "stop",
        "id": "[id]",
        "model": null,
        "role": "agent",
        "seq": 2,
        "turnId": "[id]",
        "usage": null
      },
      "retryOf": null,
      "startedAt": "[time]",
      "status": "completed",
      "toolCalls": [],
      "usage": null
    }
    "#);
    // agent.created, conversation.created, turn.started, turn.completed
    assert_eq!(response.header("x-event-seq"), "4");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_has_ended_cannot_be_cancelled() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let reply = api
        .chat(json!({"agentId": agent, "message": "Hello"}))
        .await;
    let path = format!("/api/turns/{}", reply["turnId"].as_str().unwrap());
    let before = api.reader().get(&path).await.ok();
    for _ in 0..2 {
        let response = api
            .writer()
            .request("POST", &format!("{path}/cancel"))
            .send()
            .await;
        assert_eq!(response.ok(), before);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_visible_with_chat_or_conversation_scopes() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let reply = api
        .chat(json!({"agentId": agent, "message": "Hello"}))
        .await;
    let path = format!("/api/turns/{}", reply["turnId"].as_str().unwrap());
    for scope in [Scope::ChatWrite, Scope::ConversationsRead] {
        api.caller_with_scopes(&[scope]).await.get(&path).await.ok();
    }
    let response = api
        .caller_with_scopes(&[Scope::AgentsRead])
        .await
        .get(&path)
        .await;
    response.problem(ProblemCode::InsufficientScope);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_turn_is_not_found() {
    let api = ApiServer::start().await;
    for id in ["019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11", "7", "%20"] {
        let response = api.reader().get(&format!("/api/turns/{id}")).await;
        response.problem(ProblemCode::TurnNotFound);
        let cancel = api
            .writer()
            .request("POST", &format!("/api/turns/{id}/cancel"));
        cancel.send().await.problem(ProblemCode::TurnNotFound);
    }
    api.stop().await;
}
