//! Conversations with names of clients.

use std::slice;

use domain::ProblemCode;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    response::ApiResponse,
};

#[tokio::test(flavor = "multi_thread")]
async fn the_first_chat_with_a_key_creates_the_conversation_and_later_ones_continue_it() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let command = |message: &str| {
        json!({
            "agentId": agent, "conversationKey": "order-1042", "message": message,
            "title": "My order", "clientMessageId": format!("client-{message}"),
        })
    };
    let first = api.chat(command("one")).await;
    let second = api.chat(command("two")).await;
    assert_eq!(first["conversationId"], second["conversationId"]);
    let path = format!(
        "/api/conversations/{}",
        first["conversationId"].as_str().unwrap()
    );
    let conversation = api.reader().get(&path).await.ok();
    assert_eq!(conversation["key"], "order-1042");
    assert_eq!(conversation["title"], "My order");
    assert_eq!(conversation["messageCount"], 4);
    assert_eq!(conversation["excerpt"], second["message"]);
    assert_eq!(conversation["openTurns"], json!([]));
    let messages = api.reader().get(&format!("{path}/messages")).await.ok();
    let users: Vec<&Value> = (0..4)
        .step_by(2)
        .map(|index| &messages["data"][index])
        .collect();
    assert_eq!(users[0]["clientMessageId"], "client-one");
    assert_eq!(users[1]["turnStatus"], "completed");
    let turn = format!("/api/turns/{}", second["turnId"].as_str().unwrap());
    let turn = api.reader().get(&turn).await.ok();
    assert_eq!(turn["clientMessageId"], "client-two");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_found_for_its_agent_and_user() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let make =
        |user: Option<&str>| json!({"agentId": agent, "conversationKey": "k", "userId": user});
    let of_nobody = id_of(&api.conversation(make(None)).await);
    let of_ada = id_of(&api.conversation(make(Some("ada"))).await);
    assert_ne!(of_nobody, of_ada);
    let again = api
        .writer()
        .post("/api/conversations", make(Some("ada")))
        .await;
    assert_eq!(again.status, 200);
    assert_eq!(id_of(&again.json()), of_ada);
    let found = async |query: &str| -> Vec<String> {
        let path = format!("/api/conversations?agentId={agent}&key={query}");
        let page = api.reader().get(&path).await.ok();
        page["data"].as_array().unwrap().iter().map(id_of).collect()
    };
    assert_eq!(found("k").await, [of_nobody]);
    assert_eq!(found("k&userId=ada").await, slice::from_ref(&of_ada));
    assert!(found("k&userId=eve").await.is_empty());
    assert!(found("other").await.is_empty());
    let path = format!("/api/conversations/{of_ada}");
    assert_eq!(api.writer().delete(&path).await.status, 204);
    assert!(found("k&userId=ada").await.is_empty());
    let fresh = id_of(&api.conversation(make(Some("ada"))).await);
    assert_ne!(fresh, of_ada, "the key is free again");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_in_a_deleted_named_conversation_begins_a_new_one() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let command = json!({"agentId": agent, "conversationKey": "k", "message": "Hello"});
    let first = api.chat(command.clone()).await;
    let path = format!(
        "/api/conversations/{}",
        first["conversationId"].as_str().unwrap()
    );
    assert_eq!(api.writer().delete(&path).await.status, 204);
    let second = api.chat(command).await;
    assert_ne!(first["conversationId"], second["conversationId"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_with_a_key_and_a_deleted_agent_is_rejected() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let writer = api.writer();
    let chat = |key: &str| {
        let body = json!({"agentId": agent, "conversationKey": key, "message": "Hello"});
        writer.post("/api/chat", body)
    };
    assert_eq!(chat("used").await.status, 200);
    let path = format!("/api/agents/{agent}");
    assert_eq!(writer.delete(&path).await.status, 204);
    for key in ["used", "other"] {
        chat(key).await.problem(ProblemCode::AgentNotFound);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn racing_first_uses_of_a_key_create_one_conversation() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let writer = api.writer();
    let sent = join_all((0..12).map(|number| {
        let command = json!({
            "agentId": agent, "conversationKey": "race", "message": format!("Number {number}"),
        });
        writer.post("/api/chat", command)
    }));
    let replies: Vec<Value> = sent.await.iter().map(ApiResponse::ok).collect();
    let id = &replies[0]["conversationId"];
    assert!(replies.iter().all(|reply| reply["conversationId"] == *id));
    let path = format!("/api/conversations/{}", id.as_str().unwrap());
    assert_eq!(api.reader().get(&path).await.ok()["messageCount"], 24);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_urls_would_not_preserve_are_rejected() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    for key in ["", ".", "..", "a b", "a/b", "ä", &"k".repeat(129)] {
        let body = json!({"agentId": agent, "conversationKey": key, "message": "Hello"});
        let rejected = api.writer().post("/api/chat", body).await;
        rejected.problem(ProblemCode::ValidationFailed);
        let faults = rejected.faults();
        assert_eq!(faults[0].0, "/conversationKey", "{key}");
    }
    let id = id_of(&api.conversation(json!({"agentId": agent})).await);
    let both = json!({
        "agentId": agent, "conversationKey": "k", "conversationId": id, "message": "Hello",
    });
    let rejected = api.writer().post("/api/chat", both).await;
    let expected = ("/conversationKey".to_owned(), "not_combinable".to_owned());
    assert_eq!(rejected.faults(), [expected]);
    api.stop().await;
}
