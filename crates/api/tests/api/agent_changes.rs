//! `/api/agents/{id}`: agents change and go.

use domain::ProblemCode;
use futures::future::join_all;
use insta::assert_snapshot;
use serde_json::json;

use crate::harness::{Api, id_of};

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_patch_changes_what_it_names_and_removes_what_is_null() {
    let api = Api::start().await;
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
    let answer = request.send().await;
    assert_snapshot!(answer.shown(), @r#"
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
    assert_eq!(answer.header("etag"), "\"v2\"");
    assert_eq!(api.reader().get(&path).await.ok(), answer.json());
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_may_be_called_a_merge_patch_and_nothing_else() {
    let api = Api::start().await;
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
    let answer = sent_as("application/json-patch+json").await;
    answer.problem(ProblemCode::UnsupportedMediaType);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_must_be_there_cannot_be_removed() {
    let api = Api::start().await;
    let path = format!("/api/agents/{}", api.agent_id().await);
    let answer = api.writer().patch(&path, json!({"name": null})).await;
    answer.problem(ProblemCode::ValidationFailed);
    assert_eq!(answer.faults()[0].0, "/name");
    let answer = api.writer().patch(&path, json!({"id": "x"})).await;
    assert_eq!(
        answer.faults(),
        [("/id".to_owned(), "unknown_member".to_owned())]
    );
    assert_eq!(api.reader().get(&path).await.ok()["version"], 1);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_without_effect_is_none() {
    let api = Api::start().await;
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
async fn no_change_is_lost_among_many() {
    let api = Api::start().await;
    let path = format!("/api/agents/{}", api.agent_id().await);
    let writer = api.writer();
    let changes = (0..12).map(|number| {
        let change = json!({"config": {"metadata": {format!("n{number}"): "x"}}});
        writer.patch(&path, change)
    });
    for answer in join_all(changes).await {
        answer.ok();
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
    let api = Api::start().await;
    let agent = api.agent_id().await;
    let draft = json!({"agentId": agent});
    let conversation = api.writer().post("/api/conversations", draft).await.made();
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
        for answer in join_all(changes).await {
            answer.ok();
        }
        assert_eq!(writer.get(&path).await.ok()["version"], 201);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deletes_what_belongs_to_an_agent_with_it() {
    let api = Api::start().await;
    let id = api.agent_id().await;
    let reply = api.chat(json!({"agentId": id, "message": "Hello"})).await;
    let conversation = reply["conversationId"].as_str().unwrap();
    let turn = reply["turnId"].as_str().unwrap();
    let writer = api.writer();
    let answer = writer.delete(&format!("/api/agents/{id}")).await;
    assert_eq!((answer.status, answer.body.len()), (204, 0));

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
