//! `/api/agents/{id}`: changing and deleting agents.

use domain::ProblemCode;
use futures::future::join_all;
use insta::assert_snapshot;
use serde_json::json;

use crate::api_server::{ApiServer, id_of};

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_patch_changes_its_members_and_removes_nulls() {
    let api = ApiServer::start().await;
    let draft = json!({
        "name": "Ada", "personality": "Brief.", "capabilities": ["orders"],
        "config": {"greeting": "Hi!", "fallbackReply": "Hm.", "metadata": {"a": "1", "b": "2"}},
    });
    let id = id_of(&api.agent(draft).await);
    let path = format!("/api/agents/{id}");
    let changes = json!({
        "personality": null,
        "config": {"greeting": null, "metadata": {"a": null, "c": "3"}},
    });
    let request = api
        .writer()
        .request("PATCH", &path)
        .body(changes.to_string());
    let response = request.send().await;
    assert_snapshot!(response.snapshot(), @r#"
    200 OK
    {
      "capabilities": [
        "orders"
      ],
      "config": {
        "fallbackReply": "Hm.",
        "metadata": {
          "b": "2",
          "c": "3"
        }
      },
      "createdAt": "[time]",
      "id": "[id]",
      "name": "Ada",
      "personality": "",
      "updatedAt": "[time]",
      "version": 2
    }
    "#);
    assert_eq!(response.header("etag"), "\"v2\"");
    assert_eq!(api.reader().get(&path).await.ok(), response.json());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_accepts_only_json_and_merge_patch_media_types() {
    let api = ApiServer::start().await;
    let path = format!("/api/agents/{}", api.agent_id().await);
    let sent_as = |media_type: &'static str| {
        let request = api.writer().request("PATCH", &path);
        let body = json!({"name": media_type}).to_string();
        request
            .header("Content-Type", media_type)
            .raw_body(body)
            .send()
    };
    assert_eq!(
        sent_as("application/merge-patch+json").await.ok()["version"],
        2
    );
    assert_eq!(
        sent_as("application/json; charset=utf-8").await.ok()["version"],
        3
    );
    let response = sent_as("application/json-patch+json").await;
    response.problem(ProblemCode::UnsupportedMediaType);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn required_members_cannot_be_removed() {
    let api = ApiServer::start().await;
    let path = format!("/api/agents/{}", api.agent_id().await);
    let response = api.writer().patch(&path, json!({"name": null})).await;
    response.problem(ProblemCode::ValidationFailed);
    assert_eq!(response.faults()[0].0, "/name");
    let response = api.writer().patch(&path, json!({"id": "x"})).await;
    assert_eq!(
        response.faults(),
        [("/id".to_owned(), "unknown_member".to_owned())]
    );
    assert_eq!(api.reader().get(&path).await.ok()["version"], 1);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_without_effect_is_not_stored() {
    let api = ApiServer::start().await;
    let path = format!("/api/agents/{}", api.agent_id().await);
    let before = api.reader().get(&path).await;
    let same = api.writer().patch(&path, json!({"name": "Ada"})).await;
    assert_eq!(same.ok(), before.json());
    assert_eq!(same.header("etag"), "\"v1\"");
    let events = api.reader().get("/api/events?since=0").await.ok();
    assert_eq!(events["data"].as_array().map(Vec::len), Some(1), "{events}");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_concurrent_change_is_lost() {
    let api = ApiServer::start().await;
    let path = format!("/api/agents/{}", api.agent_id().await);
    let writer = api.writer();
    let changes = (0..12).map(|number| {
        let change = json!({"config": {"metadata": {format!("n{number}"): "x"}}});
        writer.patch(&path, change)
    });
    for response in join_all(changes).await {
        response.ok();
    }
    let agent = api.reader().get(&path).await.ok();
    assert_eq!(agent["version"], 13);
    assert_eq!(
        agent["config"]["metadata"]
            .as_object()
            .map(serde_json::Map::len),
        Some(12)
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_concurrent_changes_of_one_resource_all_succeed() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let draft = json!({"agentId": agent});
    let conversation = api
        .writer()
        .post("/api/conversations", draft)
        .await
        .created();
    let writer = api.writer();
    for (path, member) in [
        (format!("/api/agents/{agent}"), "name"),
        (
            format!("/api/conversations/{}", id_of(&conversation)),
            "title",
        ),
    ] {
        let changes = (0..200).map(|number| {
            let change = json!({member: format!("{member} {number}")});
            writer.patch(&path, change)
        });
        for response in join_all(changes).await {
            response.ok();
        }
        assert_eq!(writer.get(&path).await.ok()["version"], 201);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_an_agent_deletes_its_conversations() {
    let api = ApiServer::start().await;
    let id = api.agent_id().await;
    let reply = api.chat(json!({"agentId": id, "message": "Hello"})).await;
    let conversation = reply["conversationId"].as_str().unwrap();
    let turn = reply["turnId"].as_str().unwrap();
    let writer = api.writer();
    let response = writer.delete(&format!("/api/agents/{id}")).await;
    assert_eq!((response.status, response.body.len()), (204, 0));

    let agent = format!("/api/agents/{id}");
    writer.get(&agent).await.problem(ProblemCode::AgentNotFound);
    writer
        .delete(&agent)
        .await
        .problem(ProblemCode::AgentNotFound);
    let patch = writer.patch(&agent, json!({"name": "Bob"})).await;
    patch.problem(ProblemCode::AgentNotFound);
    let below = format!("/api/conversations/{conversation}");
    writer
        .get(&below)
        .await
        .problem(ProblemCode::ConversationNotFound);
    let messages = writer.get(&format!("{below}/messages")).await;
    messages.problem(ProblemCode::ConversationNotFound);
    let chat = json!({"agentId": id, "conversationId": conversation, "message": "Still there?"});
    let chat = writer.post("/api/chat", chat).await;
    chat.problem(ProblemCode::ConversationNotFound);
    let chat = writer
        .post("/api/chat", json!({"agentId": id, "message": "Hello?"}))
        .await;
    chat.problem(ProblemCode::AgentNotFound);
    for listing in ["/api/agents", "/api/conversations"] {
        assert_eq!(writer.get(listing).await.ok()["data"], json!([]));
    }
    let ended = writer.get(&format!("/api/turns/{turn}")).await;
    ended.problem(ProblemCode::TurnNotFound);
    api.stop().await;
}
