//! Tokens of users with the protocols of other clients.

use serde_json::json;

use super::{BACKEND, backend, user, withdraw};
use crate::{
    api_server::{ApiServer, id_of},
    caller::Caller,
};

/// The status and body of a chat over each protocol, whose errors differ.
async fn chats(user: &Caller, agent: &str) -> Vec<(u16, String)> {
    let message = json!({"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hello"}]});
    let ai_sdk = json!({"id": "talk", "trigger": "submit-message", "messages": [message]});
    let openai = json!({"model": agent, "messages": [{"role": "user", "content": "Hello"}]});
    let ag_ui = json!({
        "threadId": "thread", "runId": "run", "state": {}, "tools": [], "context": [],
        "forwardedProps": {}, "messages": [{"id": "m2", "role": "user", "content": "Hello"}],
    });
    let stream = json!({"agentId": agent, "message": "Hello", "stream": true});
    let mut responses = Vec::new();
    for (path, body) in [
        (format!("/ai-sdk/agents/{agent}/chat"), ai_sdk),
        ("/v1/chat/completions".to_owned(), openai),
        (format!("/ag-ui/agents/{agent}/run"), ag_ui),
        ("/api/chat".to_owned(), stream),
    ] {
        let response = user.request("POST", &path).json(&body).open().await;
        let status = response.status().as_u16();
        responses.push((status, response.text().await.expect("a text")));
    }
    responses
}

#[tokio::test(flavor = "multi_thread")]
async fn users_chat_over_every_protocol_until_their_tokens_are_withdrawn() {
    let api = ApiServer::start().await;
    let draft = json!({"name": "Ada", "config": {"allowUnrecorded": true}});
    let agent = id_of(&api.agent(draft).await);
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    for (status, body) in chats(&ada, &agent).await {
        assert_eq!(status, 200, "{body}");
        assert!(body.contains("Hello! I'm"), "{body}");
    }
    let stored = format!("/ai-sdk/agents/{agent}/chat/talk/messages");
    let bob = user(&api, &backend, "bob").await;
    for (user, has_messages) in [(&ada, true), (&bob, false)] {
        let shown = user.get(&stored).await;
        assert_eq!(shown.text().contains("Hello! I'm"), has_messages);
    }
    let conversations = ada.get("/api/conversations").await.ok();
    let conversations = conversations["data"].as_array().unwrap();
    assert!(conversations.len() >= 3, "{conversations:?}");
    assert!(
        conversations.iter().all(|it| it["userId"] == "ada"),
        "{conversations:?}"
    );
    assert_eq!(bob.get("/api/conversations").await.ok()["data"], json!([]));
    withdraw(&backend, "ada").await;
    for (status, body) in chats(&ada, &agent).await {
        assert_eq!(status, 401, "{body}");
    }
    api.stop().await;
}
