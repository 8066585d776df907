//! The problems of a service that fails, is busy or ends.

use std::sync::Arc;

use api::wiring;
use application::{ChatCommand, chat::OnBusy};
use contract::fixture;
use domain::{
    CredentialKind, CredentialSecret, Fingerprint, IdempotencyEntry, ProblemCode, config::Metadata,
};
use ports::ReplyError;
use serde_json::json;

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    raw,
    script::{FixedEngine, scripted},
    storage_probe::{InjectedFault, StorageProbe},
};

#[tokio::test(flavor = "multi_thread")]
async fn request_timeout() {
    let api = ApiServerBuilder::default()
        .setting("LIMITS__BODY_SECONDS", "1")
        .start()
        .await;
    // The body of an unauthenticated request is not awaited.
    let request = format!(
        "POST /api/agents HTTP/1.1\r\nHost: test\r\nX-API-Key: {}\r\nContent-Length: 9\r\n\r\n{{",
        api.writer().key()
    );
    let response = raw::answer(api.address, request).await;
    response.problem(ProblemCode::RequestTimeout);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conversation_busy_and_turn_cancelled() {
    let (engine, mut script) = scripted();
    let api = ApiServerBuilder::default()
        .engine("scripted", engine)
        .start()
        .await;
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    let agent = id_of(&api.agent(draft).await);
    let id = id_of(&api.conversation(json!({"agentId": agent})).await);
    let command = json!({
        "agentId": agent, "conversationId": id, "message": "Hello", "onBusy": "reject",
    });
    let writer = api.writer();
    let (cancelled, ()) = tokio::join!(writer.post("/api/chat", command.clone()), async {
        let call = script.next_call().await;
        let busy = writer.post("/api/chat", command).await;
        busy.problem(ProblemCode::ConversationBusy);
        let path = format!("/api/turns/{}/cancel", call.request.turn_id);
        writer.request("POST", &path).send().await.ok();
    });
    let problem = cancelled.problem(ProblemCode::TurnCancelled);
    assert_eq!(problem["conversationId"], id);
    let turn = crate::engines::turn(&api, problem["turnId"].as_str().unwrap()).await;
    assert_eq!(turn["status"], "cancelled");
    api.stop().await;
}

/// A chat whose key is used by something other than a turn.
#[tokio::test(flavor = "multi_thread")]
async fn idempotency_key_in_use() {
    let api = ApiServer::start().await;
    let agent = fixture::agent(1);
    let command = ChatCommand {
        client_tools: Vec::new(),
        response_schema: None,
        omits_refused_tools: false,
        tool_use: ports::ToolUse::default(),
        agent_id: Some(agent.id),
        message: Some("Hello".to_owned()),
        files: Vec::new(),
        instruction: None,
        conversation_id: None,
        conversation_key: None,
        supersedes: None,
        supersedes_itself: false,
        title: None,
        context: None,
        client_message_id: None,
        user_id: None,
        metadata: Metadata::new(),
        on_busy: OnBusy::Queue,
        request_id: None,
    };
    let secret = CredentialSecret::parse(CredentialKind::Key, api.writer().key());
    let principal = CredentialKind::Key.principal(&secret.expect("a key").id());
    let idempotency = IdempotencyEntry {
        principal,
        operation: "chat",
        fingerprint: Fingerprint::of(&command),
        created_at: wiring::system().0.now(),
        ..fixture::entry("k")
    };
    let (agents, tenant, stamp) = (&api.storage.agents, fixture::tenant(), fixture::stamp(0));
    let stored = agents.insert(&tenant, &agent, &stamp, Some(&idempotency));
    stored.await.expect("a store");
    let request = api.writer().request("POST", "/api/chat");
    let command = json!({"agentId": agent.id, "message": "Hello"});
    let response = request.header("Idempotency-Key", "k").json(&command);
    let response = response.send().await;
    response.problem(ProblemCode::IdempotencyKeyInUse);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn engine_failed_engine_unavailable_and_engine_timeout() {
    let api = ApiServerBuilder::default()
        .engine(
            "failed",
            FixedEngine(|| Err(ReplyError::Rejected("10.0.0.7".into()))),
        )
        .engine(
            "away",
            FixedEngine(|| Err(ReplyError::Unavailable("10.0.0.7".into()))),
        )
        .engine(
            "limited",
            FixedEngine(|| Err(ReplyError::RateLimited { retry_after: None })),
        )
        .engine("slow", FixedEngine(|| Err(ReplyError::TimedOut)))
        .start()
        .await;
    for (engine, code) in [
        ("failed", ProblemCode::EngineFailed),
        ("away", ProblemCode::EngineUnavailable),
        ("limited", ProblemCode::EngineUnavailable),
        ("slow", ProblemCode::EngineTimeout),
    ] {
        let draft = json!({"name": "Ada", "config": {"engine": engine}});
        let agent = id_of(&api.agent(draft).await);
        let command = json!({"agentId": agent, "message": "Hello"});
        let response = api.writer().post("/api/chat", command).await;
        response.problem(code);
        assert!(!response.text().contains("10.0.0.7"), "{}", response.text());
        // "Could not be reached" would be false for rate limits and failures.
        assert!(!response.text().contains("reached"), "{}", response.text());
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn internal_and_store_unavailable() {
    let probe = Arc::new(StorageProbe::default());
    let wrapped = Arc::clone(&probe);
    let says_nothing = FixedEngine(|| Err(ReplyError::TimedOut));
    let builder = ApiServerBuilder::default().engine("slow", says_nothing);
    let api = builder
        .wrap_storage(move |storage| wrapped.wrap_storage(storage))
        .start()
        .await;
    let draft = json!({"name": "Ada", "config": {"engine": "slow"}});
    let agent = id_of(&api.agent(draft).await);
    probe.inject("agents.list", InjectedFault::Corrupt);
    let response = api.reader().get("/api/agents").await;
    response.problem(ProblemCode::Internal);
    assert!(
        !response.text().contains("agents.config"),
        "{}",
        response.text()
    );

    probe.inject("agents.list", InjectedFault::Unavailable);
    probe.inject("agents.insert", InjectedFault::Unavailable);
    probe.inject("maintenance.ping", InjectedFault::Unavailable);
    for response in [
        api.reader().get("/api/agents").await,
        api.writer()
            .post("/api/agents", json!({"name": "Bob"}))
            .await,
        api.anonymous().get("/readyz").await,
    ] {
        let problem = response.problem(ProblemCode::StoreUnavailable);
        assert!(
            problem["detail"]
                .as_str()
                .unwrap()
                .contains("same Idempotency-Key")
        );
    }
    probe.inject("turns.finish_turn", InjectedFault::Corrupt);
    let command = json!({"agentId": agent, "message": "Hello"});
    let request = api.writer().request("POST", "/api/chat").json(&command);
    let response = request.begin();
    while !probe.calls().contains(&"turns.finish_turn") {
        tokio::task::yield_now().await;
    }
    probe.clear_faults();
    // The turn is found to have no owner, and resumed.
    let response = response.await.expect("an answer");
    response.problem(ProblemCode::EngineTimeout);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn draining() {
    let api = ApiServer::start().await;
    api.anonymous().get("/readyz").await.ok();
    let readiness = api.anonymous();
    let ending = api.drain_and_stop(std::time::Duration::from_mins(1));
    tokio::select! {
        biased;
        () = ending => panic!("a listener stays open while load balancers learn of the end"),
        response = async {
            // The shutdown has started.
            readiness.get("/readyz").await
        } => {
            response.problem(ProblemCode::Draining);
        }
    }
}
