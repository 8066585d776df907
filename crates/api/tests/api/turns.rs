//! `/api/turns/{id}` of turns that have ended; running ones are in `engines`.

use domain::{ProblemCode, Scope};
use insta::assert_snapshot;
use serde_json::json;

use crate::harness::Api;

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_holds_question_and_answer() {
    let api = Api::start().await;
    let agent = api.agent_id().await;
    let command = json!({"agentId": agent, "message": "Thanks", "metadata": {"page": "cart"}});
    let reply = api.chat(command).await;
    let path = format!("/api/turns/{}", reply["turnId"].as_str().unwrap());
    let answer = api.reader().get(&path).await;
    assert_snapshot!(answer.shown(), @r#"
    200 OK
    {
      "agentId": "[id]",
      "agentVersion": 1,
      "conversationId": "[id]",
      "createdAt": "[time]",
      "degraded": false,
      "engine": "rules",
      "error": null,
      "finishReason": "stop",
      "finishedAt": "[time]",
      "id": "[id]",
      "input": "Thanks",
      "metadata": {
        "page": "cart"
      },
      "reply": {
        "agentVersion": 1,
        "content": "You're welcome! Just ask if there is anything else.",
        "conversationId": "[id]",
        "createdAt": "[time]",
        "engine": "rules",
        "finishReason": "stop",
        "id": "[id]",
        "role": "agent",
        "seq": 2,
        "turnId": "[id]",
        "usage": null
      },
      "startedAt": "[time]",
      "status": "completed",
      "toolCalls": [],
      "usage": null
    }
    "#);
    // agent.created, conversation.created, turn.started, turn.completed
    assert_eq!(answer.header("x-event-seq"), "4");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_has_ended_is_cancelled_no_more() {
    let api = Api::start().await;
    let agent = api.agent_id().await;
    let reply = api
        .chat(json!({"agentId": agent, "message": "Hello"}))
        .await;
    let path = format!("/api/turns/{}", reply["turnId"].as_str().unwrap());
    let before = api.reader().get(&path).await.ok();
    for _ in 0..2 {
        let answer = api
            .writer()
            .request("POST", &format!("{path}/cancel"))
            .send()
            .await;
        assert_eq!(answer.ok(), before);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_shown_to_who_may_chat_or_read_conversations() {
    let api = Api::start().await;
    let agent = api.agent_id().await;
    let reply = api
        .chat(json!({"agentId": agent, "message": "Hello"}))
        .await;
    let path = format!("/api/turns/{}", reply["turnId"].as_str().unwrap());
    for scope in [Scope::ChatWrite, Scope::ConversationsRead] {
        api.holder_of(&[scope]).await.get(&path).await.ok();
    }
    let answer = api.holder_of(&[Scope::AgentsRead]).await.get(&path).await;
    answer.problem(ProblemCode::InsufficientScope);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_turn_is_not_found() {
    let api = Api::start().await;
    for id in ["019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11", "7", "%20"] {
        let answer = api.reader().get(&format!("/api/turns/{id}")).await;
        answer.problem(ProblemCode::TurnNotFound);
        let cancel = api
            .writer()
            .request("POST", &format!("/api/turns/{id}/cancel"));
        cancel.send().await.problem(ProblemCode::TurnNotFound);
    }
    api.stop().await;
}
