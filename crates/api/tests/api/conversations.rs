//! `/api/conversations`.

use std::collections::HashSet;

use domain::ProblemCode;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{
    agents::all_ids,
    api_server::{ApiServer, id_of},
    engines::{scripted_agent, turn},
};

const UNKNOWN_ID: &str = "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11";

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_starts_with_the_greeting() {
    let api = ApiServer::start().await;
    let draft = json!({"name": "Ada", "config": {"greeting": "Good morning!"}});
    let agent = id_of(&api.agent(draft).await);
    let draft = json!({
        "agentId": agent, "userId": "bob", "title": "My order", "metadata": {"shop": "7"},
    });
    let response = api.writer().post("/api/conversations", draft).await;
    assert_snapshot!(response.snapshot(), @r#"
    201 Created
    {
      "agentId": "[id]",
      "createdAt": "[time]",
      "excerpt": "Good morning!",
      "forkedFrom": null,
      "handledBy": "agent",
      "id": "[id]",
      "key": null,
      "lastMessageAt": "[time]",
      "messageCount": 1,
      "metadata": {
        "shop": "7"
      },
      "openTurns": [],
      "title": "My order",
      "titleSource": "person",
      "updatedAt": "[time]",
      "userId": "bob",
      "version": 1
    }
    "#);
    let path = format!("/api/conversations/{}", id_of(&response.created()));
    assert_eq!(response.header("location"), path);
    let read = api.reader().get(&path).await;
    assert_eq!(response.header("etag"), read.header("etag"));
    assert_eq!(api.reader().get(&path).await.ok(), response.json());
    let messages = api.reader().get(&format!("{path}/messages")).await.ok();
    assert_eq!(messages["data"][0]["content"], "Good morning!");
    assert_eq!(messages["data"][0]["turnId"], Value::Null);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_needs_an_agent_that_exists() {
    let api = ApiServer::start().await;
    for unknown in [UNKNOWN_ID, "7", ""] {
        let response = api
            .writer()
            .post("/api/conversations", json!({"agentId": unknown}))
            .await;
        response.problem(ProblemCode::AgentNotFound);
    }
    let response = api
        .writer()
        .post("/api/conversations", json!({"title": "x"}))
        .await;
    assert_eq!(
        response.faults(),
        [("/agentId".to_owned(), "required".to_owned())]
    );
    let agent = api.agent_id().await;
    let foreign = api
        .other_tenant()
        .post("/api/conversations", json!({"agentId": agent}))
        .await;
    foreign.problem(ProblemCode::AgentNotFound);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_latest_active_conversation_comes_first() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let other = api.agent_id().await;
    let begin =
        |agent: &str, user: &str| api.conversation(json!({"agentId": agent, "userId": user}));
    let first = id_of(&begin(&agent, "ada").await);
    let second = id_of(&begin(&agent, "bob").await);
    let third = id_of(&begin(&other, "ada").await);
    api.chat(json!({"agentId": agent, "conversationId": first, "message": "Hello"}))
        .await;

    let reader = api.reader();
    let all = all_ids(&reader, "/api/conversations?limit=1").await;
    // Conversations created within one millisecond are ordered by id.
    assert_eq!(all, [first.clone(), third.clone(), second.clone()]);
    let of_agent = all_ids(
        &reader,
        &format!("/api/conversations?agentId={agent}&limit=1"),
    )
    .await;
    assert_eq!(of_agent, [first.clone(), second]);
    let of_user = all_ids(&reader, "/api/conversations?userId=ada&limit=1").await;
    assert_eq!(of_user, [first.clone(), third]);
    for nobodys in [
        format!("agentId={UNKNOWN_ID}"),
        "agentId=7".to_owned(),
        "userId=eve".to_owned(),
    ] {
        let path = format!("/api/conversations?{nobodys}");
        assert_eq!(all_ids(&reader, &path).await, Vec::<String>::new());
    }
    for (user, expected) in [("ada", vec![first]), ("eve", vec![])] {
        let path = format!("/api/conversations?agentId={agent}&userId={user}&limit=1");
        assert_eq!(all_ids(&reader, &path).await, expected);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn title_and_metadata_change_and_nothing_else_does() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let draft = json!({"agentId": agent, "title": "Old", "metadata": {"a": "1", "b": "2"}});
    let path = format!(
        "/api/conversations/{}",
        id_of(&api.conversation(draft).await)
    );
    let edits = json!({"title": null, "metadata": {"b": null, "c": "3"}});
    let response = api.writer().patch(&path, edits).await;
    let changed = response.ok();
    assert_eq!(changed["title"], Value::Null);
    assert_eq!(changed["metadata"], json!({"a": "1", "c": "3"}));
    assert_eq!(changed["version"], 2);
    let tag = response.header("etag");
    assert!(tag.starts_with("\"v2."), "{tag}");
    let same = api
        .writer()
        .patch(&path, json!({"metadata": {"a": "1"}}))
        .await;
    assert_eq!(same.ok()["version"], 2);
    for rejected in [
        json!({"agentId": agent}),
        json!({"title": "x".repeat(201)}),
        json!([]),
    ] {
        let response = api.writer().patch(&path, rejected).await;
        response.problem(ProblemCode::ValidationFailed);
    }
    assert_eq!(api.reader().get(&path).await.ok(), changed);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_changes_the_entity_tag_but_not_the_version() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let id = id_of(&api.conversation(json!({"agentId": agent})).await);
    let path = format!("/api/conversations/{id}");
    let before = api.reader().get(&path).await.header("etag").to_owned();
    api.chat(json!({"agentId": agent, "conversationId": id, "message": "Hello"}))
        .await;
    let after = api.reader().get(&path).await;
    let versions = [&*before, after.header("etag")].map(|tag| tag.split('.').next());
    assert_eq!(versions, [Some("\"v1"); 2]);
    assert_ne!(before, after.header("etag"));
    let conditional = |method: &str| {
        let request = api.writer().request(method, &path);
        request.header("If-Match", &before)
    };
    // A writer that has not seen the last message may still change the title.
    let renamed = conditional("PATCH")
        .json(&json!({"title": "New"}))
        .send()
        .await;
    assert_eq!(renamed.ok()["version"], 2);
    let stale = conditional("PATCH")
        .json(&json!({"title": "Newer"}))
        .send()
        .await;
    stale.problem(ProblemCode::VersionMismatch);
    conditional("DELETE")
        .send()
        .await
        .problem(ProblemCode::VersionMismatch);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_entity_tag_comes_back_while_turns_change_their_status() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let id = id_of(&api.conversation(json!({"agentId": agent})).await);
    let path = format!("/api/conversations/{id}");
    let message = json!({"conversationId": id, "message": "Hello", "onBusy": "queue"});
    let start = async || {
        let request = api.writer().request("POST", "/api/chat").json(&message);
        let response = request.header("Prefer", "respond-async").send().await;
        response.json()["id"].as_str().expect("a turn").to_owned()
    };
    let tag = async || api.reader().get(&path).await.header("etag").to_owned();
    let mut tags = vec![tag().await];
    let running = start().await;
    tags.push(tag().await);
    let call = script.next_call().await;
    for _ in 0..2 {
        let queued = start().await;
        tags.push(tag().await);
        let cancel = format!("/api/turns/{queued}/cancel");
        api.writer().post(&cancel, json!({})).await.ok();
        let after = api.reader().request("GET", &path);
        let after = after.header("If-None-Match", &tags.join(", ")).send().await;
        assert_eq!(after.status, 200, "{tags:?}");
        tags.push(after.header("etag").to_owned());
    }
    call.answer("Hello.").await;
    while turn(&api, &running).await["status"] != "completed" {}
    tags.push(tag().await);
    let different: HashSet<_> = tags.iter().collect();
    assert_eq!(different.len(), tags.len(), "{tags:?}");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_conversation_is_not_found_anywhere() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let chat = || {
        let request = api.writer().request("POST", "/api/chat");
        let body = json!({"agentId": agent, "message": "Hello"});
        request.header("Idempotency-Key", "k").json(&body)
    };
    let reply = chat().send().await.ok();
    let id = reply["conversationId"].as_str().unwrap();
    let path = format!("/api/conversations/{id}");
    let writer = api.writer();
    assert_eq!(writer.delete(&path).await.status, 204);
    let responses = [
        chat().send().await,
        chat().header("Accept", "text/event-stream").send().await,
        chat().header("Prefer", "respond-async").send().await,
        writer.get(&path).await,
        writer.get(&format!("{path}/messages")).await,
        writer.patch(&path, json!({"title": "x"})).await,
        writer.delete(&path).await,
        writer
            .post(
                "/api/chat",
                json!({"agentId": agent, "conversationId": id, "message": "Hm"}),
            )
            .await,
    ];
    for response in responses {
        response.problem(ProblemCode::ConversationNotFound);
    }
    assert_eq!(
        writer.get("/api/conversations").await.ok()["data"],
        json!([])
    );
    let turn = writer
        .get(&format!("/api/turns/{}", reply["turnId"].as_str().unwrap()))
        .await;
    turn.problem(ProblemCode::TurnNotFound);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_returned_as_null_may_be_sent_as_null() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let sent = json!({"agentId": agent, "userId": null, "title": null});
    let made = api
        .writer()
        .post("/api/conversations", sent)
        .await
        .created();
    assert_eq!(
        (&made["userId"], &made["title"]),
        (&json!(null), &json!(null))
    );
    let sent =
        json!({"agentId": agent, "message": "Hello", "conversationId": null, "userId": null});
    let reply = api.chat(sent).await;
    assert_ne!(reply["conversationId"], made["id"]);
    let sent =
        json!({"name": "shop", "scopes": ["agents:read"], "expiresAt": null, "limits": null});
    let key = api.writer().post("/api/keys", sent.clone()).await.created();
    assert_eq!(
        (&key["expiresAt"], &key["limits"]),
        (&json!(null), &json!({}))
    );
    let client = api
        .writer()
        .post("/api/oauth-clients", sent)
        .await
        .created();
    assert_eq!(
        (&client["expiresAt"], &client["limits"]),
        (&json!(null), &json!({}))
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_of_any_length_in_a_body_are_not_found() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let long = "x".repeat(65);
    for (path, body, code) in [
        (
            "/api/chat",
            json!({"agentId": long, "message": "Hello"}),
            ProblemCode::AgentNotFound,
        ),
        (
            "/api/chat",
            json!({"agentId": agent, "conversationId": long, "message": "Hello"}),
            ProblemCode::ConversationNotFound,
        ),
        (
            "/api/conversations",
            json!({"agentId": long}),
            ProblemCode::AgentNotFound,
        ),
    ] {
        api.writer().post(path, body).await.problem(code);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_makes_one_conversation() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let create = |title: &str| {
        let request = api.writer().request("POST", "/api/conversations");
        let body = json!({"agentId": agent, "title": title});
        request.header("Idempotency-Key", "k").json(&body).send()
    };
    let first = create("a").await.created();
    assert_eq!(create("a").await.created(), first);
    create("b").await.problem(ProblemCode::IdempotencyKeyReused);
    let listed = api.reader().get("/api/conversations").await.ok();
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1));
    api.stop().await;
}
