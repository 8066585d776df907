//! The model of replies.

use async_trait::async_trait;
use domain::{Agent, FinishReason};
use futures::{StreamExt as _, stream};
use ports::{ModelChunk, ModelRequest, ModelStream, ReplyEngine, ReplyError};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    engines::turn,
};

/// An engine whose responses name the model in the message, unless that is `nothing`.
struct Named;

#[async_trait]
impl ReplyEngine for Named {
    fn model(&self, _: &Agent) -> Option<String> {
        Some("small".to_owned())
    }

    async fn request(&self, request: ModelRequest) -> Result<ModelStream, ReplyError> {
        let name = request.message.to_string();
        let chunks = [
            ModelChunk::Text("Hello.".to_owned()),
            ModelChunk::End {
                finish_reason: FinishReason::Stop,
                usage: None,
                model: Some(name).filter(|name| name != "nothing"),
                state: None,
            },
        ];
        Ok(stream::iter(chunks.map(Ok)).boxed())
    }
}

async fn named_agent() -> (ApiServer, String) {
    let builder = ApiServerBuilder::default().engine("named", Named);
    let api = builder.start().await;
    let draft = json!({"name": "Ada", "config": {"engine": "named"}});
    let agent = id_of(&api.agent(draft).await);
    (api, agent)
}

/// The newest message of a conversation, as `/messages` lists it.
async fn last_message(api: &ApiServer, path: &str) -> Value {
    let page = api.reader().get(&format!("{path}/messages")).await.ok();
    let messages = page["data"].as_array().expect("a page");
    messages.last().expect("a message").clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_has_the_reported_model_or_else_the_one_that_was_asked_for() {
    let (api, agent) = named_agent().await;
    let too_long = "x".repeat(257);
    let cases = [
        ("small-2026-11", "small-2026-11"),
        ("nothing", "small"),
        ("small\u{7}", "small"),
        (too_long.as_str(), "small"),
    ];
    for (reported, expected) in cases {
        let reply = api
            .chat(json!({"agentId": agent, "message": reported}))
            .await;
        assert_eq!(reply["model"], expected, "{reported:?}");
        let turn = turn(&api, reply["turnId"].as_str().unwrap()).await;
        assert_eq!(
            (&turn["model"], &turn["reply"]["model"]),
            (&reply["model"], &reply["model"])
        );
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_events_exports_and_forks_have_the_model() {
    let (api, agent) = named_agent().await;
    let reply = api
        .chat(json!({"agentId": agent, "message": "small-7"}))
        .await;
    let path = format!(
        "/api/conversations/{}",
        reply["conversationId"].as_str().unwrap()
    );
    let message = last_message(&api, &path).await;
    assert_eq!(
        (&message["role"], &message["model"]),
        (&json!("agent"), &json!("small-7"))
    );

    let events = api
        .reader()
        .get("/api/events?since=0&types=turn.completed")
        .await
        .ok();
    let data = &events["data"][0]["data"];
    assert_eq!(data["turn"]["model"], "small-7");
    assert_eq!(data["message"]["model"], "small-7");

    let fork = json!({"forkOf": {"conversationId": reply["conversationId"]}});
    let fork = api
        .writer()
        .post("/api/conversations", fork)
        .await
        .created();
    let copy = last_message(&api, &format!("/api/conversations/{}", id_of(&fork))).await;
    assert_eq!(copy["model"], "small-7");

    let exported = api.reader().get("/api/export").await;
    assert!(
        exported.text().contains(r#""model":"small-7""#),
        "{}",
        exported.text()
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_and_an_unrecorded_chat_have_the_model() {
    let (api, agent) = named_agent().await;
    let command = json!({"agentId": agent, "message": "small-7"});
    let send = || {
        let request = api.writer().request("POST", "/api/chat").json(&command);
        request.header("idempotency-key", "once").send()
    };
    let (first, repeated) = (send().await.ok(), send().await.ok());
    assert_eq!(first["model"], "small-7");
    assert_eq!(repeated, first);

    let unrecorded = json!({"agentId": agent, "message": "small-8", "store": false});
    assert_eq!(api.chat(unrecorded).await["model"], "small-8");
    api.stop().await;
}
