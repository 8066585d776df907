//! A panic fails one request, never the service.

use std::sync::Arc;

use async_trait::async_trait;
use domain::ProblemCode;
use ports::{ModelRequest, ModelStream, ReplyEngine, ReplyError};
use serde_json::json;

use crate::{
    api_server::{ApiServerBuilder, id_of},
    script::FixedEngine,
    storage_probe::{InjectedFault, StorageProbe},
};

/// An engine that panics at once, before anything is stored.
struct PanicsAtOnce;

#[async_trait]
impl ReplyEngine for PanicsAtOnce {
    fn is_immediate(&self) -> bool {
        true
    }

    async fn request(&self, _: ModelRequest) -> Result<ModelStream, ReplyError> {
        panic!("as the test wants");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_or_layer_that_panics_answers_500() {
    let probe = Arc::new(StorageProbe::default());
    let wrapped = Arc::clone(&probe);
    let api = ApiServerBuilder::default()
        .wrap_storage(move |storage| wrapped.wrap_storage(storage))
        .start()
        .await;
    for call in ["agents.list", "credentials.find"] {
        probe.inject(call, InjectedFault::Panic);
        let caller = api.caller_with_key(|_| {}).await;
        let response = caller.get("/api/agents").await;
        response.problem(ProblemCode::Internal);
        assert_eq!(response.json()["instance"], "/api/agents");
        probe.clear_faults();
        caller.get("/api/agents").await.ok();
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_panics_fails_its_turn_alone() {
    let slow = FixedEngine(|| panic!("as the test wants"));
    let builder = ApiServerBuilder::default()
        .engine("at-once", PanicsAtOnce)
        .engine("slow", slow);
    let api = builder.start().await;
    for engine in ["at-once", "slow"] {
        let draft = json!({"name": "Ada", "config": {"engine": engine}});
        let agent = id_of(&api.agent(draft).await);
        let id = id_of(&api.conversation(json!({"agentId": agent})).await);
        let command = json!({"agentId": agent, "conversationId": id, "message": "Hello"});
        for _ in 0..2 {
            // The second request proves that the conversation is not blocked.
            let response = api.writer().post("/api/chat", command.clone()).await;
            response.problem(ProblemCode::Internal);
        }
        let config = json!({"fallbackReply": "Hm."});
        api.writer()
            .put(&format!("/api/agents/{agent}/config"), config)
            .await
            .ok();
        assert_eq!(api.chat(command).await["engine"], "rules");
        let path = format!("/api/events?since=0&limit=100&conversationId={id}");
        let events = api.reader().get(&path).await.ok();
        let ended = |kind: &str| {
            let events = events["data"].as_array().unwrap().iter();
            events.filter(|event| event["type"] == kind).count()
        };
        let (started, failed) = (ended("turn.started"), ended("turn.failed"));
        assert_eq!(started, failed + 1, "every turn has an end: {events}");
    }
    api.stop().await;
}
