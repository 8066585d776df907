//! `/api/chat` with the built-in engine.

use domain::ProblemCode;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::api_server::{ApiServer, id_of};

#[tokio::test(flavor = "multi_thread")]
async fn a_message_gets_a_reply() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let command = json!({"agentId": agent, "message": "Hello!"});
    let response = api.writer().post("/api/chat", command).await;
    assert_snapshot!(response.snapshot(), @r#"
    200 OK
    {
      "agentId": "[id]",
      "agentVersion": 1,
      "conversationId": "[id]",
      "createdAt": "[time]",
      "degraded": false,
      "engine": "rules",
      "finishReason": "stop",
      "message": "Hello! I'm Ada. What can I do for you?",
      "messageId": "[id]",
      "model": null,
      "turnId": "[id]",
      "usage": null
    }
    "#);
    for part in ["store;dur=", "engine;dur=", "total;dur="] {
        assert!(
            response.header("server-timing").contains(part),
            "{response:?}"
        );
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_starts_a_conversation_and_continues_it() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let first = api
        .chat(json!({"agentId": agent, "message": "Hello", "userId": "bob"}))
        .await;
    let id = first["conversationId"].as_str().unwrap();
    let conversation = api
        .reader()
        .get(&format!("/api/conversations/{id}"))
        .await
        .ok();
    assert_eq!(conversation["userId"], "bob");
    assert_eq!(conversation["messageCount"], 2);
    let next = json!({"agentId": agent, "conversationId": id, "userId": "bob", "message": "Bye"});
    let second = api.chat(next).await;
    assert_eq!(second["conversationId"], first["conversationId"]);
    assert_ne!(second["turnId"], first["turnId"]);
    let conversation = api
        .reader()
        .get(&format!("/api/conversations/{id}"))
        .await
        .ok();
    assert_eq!(conversation["messageCount"], 4);
    assert_eq!(conversation["lastMessageAt"], second["createdAt"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_reply_by_priority_capability_and_turn() {
    let api = ApiServer::start().await;
    let draft = json!({"name": "Ada", "capabilities": ["orders"], "config": {
        "fallbackReply": "Pardon?",
        "rules": [
            {"pattern": "order (?P<number>\\d+)", "reply": "{{agent.name}} looks for {{capture.number}}, {{user.id}}."},
            {"keywords": ["order"], "reply": "Never.", "capability": "returns", "priority": 9},
            {"keywords": ["HELLO", "there"], "replies": ["One.", "Two."], "capability": "orders"},
        ],
    }});
    let agent = id_of(&api.agent(draft).await);
    let id = id_of(
        &api.conversation(json!({"agentId": agent, "userId": "bob"}))
            .await,
    );
    let mut contents = Vec::new();
    for message in [
        "hello there",
        "Hello, THERE!",
        "Where is ORDER 66?",
        "order",
        "There. Hello.",
    ] {
        let command = json!({"agentId": agent, "conversationId": id, "message": message});
        contents.push(
            api.chat(command).await["message"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    assert_eq!(
        contents,
        ["One.", "Two.", "Ada looks for 66, bob.", "Pardon?", "One."]
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_uses_the_current_version_of_the_agent() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let first = api
        .chat(json!({"agentId": agent, "message": "xyzzy"}))
        .await;
    let config = json!({"fallbackReply": "Nothing happens."});
    api.writer()
        .put(&format!("/api/agents/{agent}/config"), config)
        .await
        .ok();
    let second = api
        .chat(json!({"agentId": agent, "message": "xyzzy"}))
        .await;
    assert_eq!(second["message"], "Nothing happens.");
    assert_eq!(
        (&first["agentVersion"], &second["agentVersion"]),
        (&json!(1), &json!(2))
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_contradicts_its_conversation_is_rejected() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let other = api.agent_id().await;
    let id = id_of(
        &api.conversation(json!({"agentId": agent, "userId": "bob"}))
            .await,
    );
    let command = json!({
        "agentId": other, "conversationId": id, "userId": "eve", "message": "Hello",
    });
    assert_snapshot!(api.writer().post("/api/chat", command).await.snapshot(), @r#"
    422 Unprocessable Entity
    {
      "code": "validation_failed",
      "detail": "The request has 2 faults; see `errors`.",
      "errors": [
        {
          "code": "not_combinable",
          "detail": "the conversation is with another agent",
          "pointer": "/agentId"
        },
        {
          "code": "not_combinable",
          "detail": "the conversation belongs to another user",
          "pointer": "/userId"
        }
      ],
      "instance": "/api/chat",
      "requestId": "[id]",
      "retryable": false,
      "status": 422,
      "title": "The request is well-formed but not valid.",
      "type": "/problems/validation_failed"
    }
    "#);
    let messages = api
        .reader()
        .get(&format!("/api/conversations/{id}/messages"))
        .await;
    assert_eq!(messages.ok()["data"], json!([]));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_resources_are_not_found() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let anonymous = "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11";
    for (agent, conversation, code) in [
        (anonymous, Value::Null, ProblemCode::AgentNotFound),
        ("7", Value::Null, ProblemCode::AgentNotFound),
        (&agent, json!(anonymous), ProblemCode::ConversationNotFound),
        (&agent, json!("7"), ProblemCode::ConversationNotFound),
    ] {
        let mut command = json!({"agentId": agent, "message": "Hello"});
        if !conversation.is_null() {
            command["conversationId"] = conversation;
        }
        api.writer().post("/api/chat", command).await.problem(code);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_has_a_maximum_size() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let send_text = |message: String| {
        let body = json!({"agentId": agent, "message": message});
        let writer = api.writer();
        async move { writer.post("/api/chat", body).await }
    };
    send_text("🦊".repeat(32_000)).await.ok();
    let fault = |code: &str| [("/message".to_owned(), code.to_owned())];
    assert_eq!(
        send_text("🦊".repeat(32_001)).await.faults(),
        fault("too_long")
    );
    assert_eq!(send_text(String::new()).await.faults(), fault("too_short"));
    assert_eq!(
        send_text("a\0b".to_owned()).await.faults(),
        fault("bad_character")
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn message_text_is_never_interpreted() {
    let api = ApiServer::start().await;
    let rules = json!([{"pattern": "(?s).*", "reply": "{{message}}"}]);
    let agent = id_of(
        &api.agent(json!({"name": "Ada", "config": {"rules": rules}}))
            .await,
    );
    for text in [
        "'; drop table agents; --",
        "%' or 1=1 /*",
        "{{agent.name}} ${7*7} <%= x %>",
        "\u{202e}\u{feff}é\u{301}\r\n\t",
        "\\u0000 \\x00 %00",
    ] {
        let reply = api
            .chat(json!({"agentId": agent, "message": text, "userId": text.trim()}))
            .await;
        assert_eq!(reply["message"], text);
    }
    api.stop().await;
}
