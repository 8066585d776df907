//! Idempotency keys of chats of which nothing else is stored: one answer for each key.

use std::sync::Arc;

use domain::ProblemCode;
use ports::ReplyError;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    engines::scripted_agent,
    raw::Connection,
    response::{ApiResponse, Request},
    script::scripted,
    sse_client::EventStream,
    storage_probe::{InjectedFault, StorageProbe},
};

fn chat(api: &ApiServer, key: &str, body: &Value) -> Request {
    let request = api.writer().request("POST", "/api/chat");
    request.header("Idempotency-Key", key).json(body)
}

fn unrecorded(agent: &str) -> Value {
    json!({
        "agentId": agent, "store": false, "message": "And on Sundays?",
        "history": [{"role": "user", "content": "When do you open?"}],
    })
}

#[track_caller]
fn assert_replayed(response: &ApiResponse, is_replayed: bool) -> Value {
    let has = response.has("idempotency-replayed");
    assert_eq!(has, is_replayed, "{response:?}");
    response.ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_answer_is_replayed_and_nothing_else_is_stored() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let head = api.reader().get("/api/events?since=0").await.ok()["headSeq"].clone();
    let body = unrecorded(&agent);
    let (first, ()) = tokio::join!(chat(&api, "k", &body).send(), async {
        script.next_call().await.answer("Never.").await;
    });
    let first = assert_replayed(&first, false);
    assert_eq!(
        (&first["message"], &first["conversationId"]),
        (&json!("Never."), &Value::Null)
    );
    assert_eq!(
        assert_replayed(&chat(&api, "k", &body).send().await, true),
        first
    );

    let mut other = body.clone();
    other["history"][0]["content"] = "When do you close?".into();
    let stored = json!({"agentId": agent, "message": "And on Sundays?"});
    for other in [&other, &stored] {
        let reused = chat(&api, "k", other).send().await;
        reused.problem(ProblemCode::IdempotencyKeyReused);
    }
    let events = api.reader().get("/api/events?since=0").await.ok();
    assert_eq!(events["headSeq"], head);
    let conversations = api.reader().get("/api/conversations").await.ok();
    assert_eq!(conversations["data"], json!([]));
    let turn = format!("/api/turns/{}", first["turnId"].as_str().unwrap());
    api.reader()
        .get(&turn)
        .await
        .problem(ProblemCode::TurnNotFound);

    // The key is checked before other errors.
    api.writer().delete(&format!("/api/agents/{agent}")).await;
    assert_eq!(
        assert_replayed(&chat(&api, "k", &body).send().await, true),
        first
    );
    let unknown = chat(&api, "new", &body).send().await;
    unknown.problem(ProblemCode::AgentNotFound);
    script.assert_no_more_calls();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_replayed_as_a_stream_and_after_a_restart() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = unrecorded(&agent);
    let streamed = |api: &ApiServer| chat(api, "k", &body).header("Accept", "text/event-stream");
    let mut first = EventStream::open(streamed(&api)).await;
    let call = script.next_call().await;
    call.result_of("clock").await;
    call.answer("Never.").await;
    let first = first.remaining().await;
    let api = api.restart(ApiServerBuilder::default()).await;
    let mut again = EventStream::open(streamed(&api)).await;
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    let again = again.remaining().await;
    let data = |events: &[crate::sse_client::StreamedEvent]| {
        events
            .iter()
            .map(|event| event.data.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(data(&again), data(&first));
    let types: Vec<_> = again
        .iter()
        .map(|event| event.data["type"].clone())
        .collect();
    let expected = [
        "turn.started",
        "tool.called",
        "tool.returned",
        "reply.delta",
        "turn.completed",
    ];
    assert_eq!(types, expected);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_repetitions_call_the_engine_once() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = unrecorded(&agent);
    let requests = futures::future::join_all((0..20).map(|_| chat(&api, "k", &body).send()));
    let (responses, ()) = tokio::join!(requests, async {
        script.next_call().await.answer("Never.").await;
    });
    let first = responses[0].ok();
    assert!(responses.iter().all(|response| response.ok() == first));
    let replayed = responses.iter().filter(|it| it.has("idempotency-replayed"));
    assert_eq!(replayed.count(), 19);
    script.assert_no_more_calls();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_chat_joins_the_turn_that_runs() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = unrecorded(&agent);
    let streamed = || chat(&api, "k", &body).header("Accept", "text/event-stream");
    let mut first = EventStream::open(streamed()).await;
    let call = script.next_call().await;
    call.send_text("Nev").await;
    let mut second = EventStream::open(streamed()).await;
    let started = second.next_of_type("turn.started").await;
    assert_eq!(started, first.next_of_type("turn.started").await);
    assert_eq!(second.next_of_type("reply.delta").await["text"], "Nev");
    drop(first);
    call.answer("er.").await;
    let events = second.remaining().await;
    assert_eq!(events.last().expect("an end").data["message"], "Never.");
    script.assert_no_more_calls();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_connection_does_not_stop_the_turn() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    for stream in [true, false] {
        let mut body = unrecorded(&agent);
        body["stream"] = stream.into();
        let text = body.to_string();
        let mut connection = Connection::open(api.address).await;
        let head = format!(
            "POST /api/chat HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {}\r\nIdempotency-Key: {stream}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{text}",
            api.writer().key(),
            text.len(),
        );
        connection.send(head).await;
        let call = script.next_call().await;
        call.send_text("Nev").await;
        drop(connection);
        let again = chat(&api, &stream.to_string(), &unrecorded(&agent)).send();
        let (again, ()) = tokio::join!(again, call.answer("er."));
        assert_eq!(assert_replayed(&again, true)["message"], "Never.");
    }
    script.assert_no_more_calls();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transient_failure_releases_the_key_and_another_one_is_replayed() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = unrecorded(&agent);
    let (failed, ()) = tokio::join!(chat(&api, "k", &body).send(), async {
        let unavailable = ReplyError::Unavailable("away".into());
        script.next_call().await.fail(unavailable);
    });
    failed.problem(ProblemCode::EngineUnavailable);
    let (failed, ()) = tokio::join!(chat(&api, "k", &body).send(), async {
        let rejected = ReplyError::Rejected("no".into());
        script.next_call().await.fail(rejected);
    });
    failed.problem(ProblemCode::EngineFailed);
    assert!(!failed.has("idempotency-replayed"));
    let again = chat(&api, "k", &body).send().await;
    again.problem(ProblemCode::EngineFailed);
    assert!(again.has("idempotency-replayed"));
    script.assert_no_more_calls();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_receives_an_answer_that_cannot_be_stored_yet() {
    let probe = Arc::new(StorageProbe::default());
    let (engine, mut script) = scripted();
    let wrapping = Arc::clone(&probe);
    let api = ApiServerBuilder::default()
        .engine("scripted", engine)
        .wrap_storage(move |storage| wrapping.wrap_storage(storage))
        .start()
        .await;
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    let body = unrecorded(&id_of(&api.agent(draft).await));
    probe.inject("idempotency_records.settle", InjectedFault::Unavailable);
    let (first, ()) = tokio::join!(chat(&api, "k", &body).send(), async {
        script.next_call().await.answer("Never.").await;
    });
    let first = assert_replayed(&first, false);
    assert_eq!(
        assert_replayed(&chat(&api, "k", &body).send().await, true),
        first
    );
    probe.clear_faults();
    assert_eq!(
        assert_replayed(&chat(&api, "k", &body).send().await, true),
        first
    );
    script.assert_no_more_calls();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_openai_clients_work_without_a_conversation() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let body = json!({"model": agent, "messages": [{"role": "user", "content": "Hello"}]});
    let ask = || {
        let request = api.writer().request("POST", "/v1/chat/completions");
        request.header("Idempotency-Key", "k").json(&body).open()
    };
    let (first, ()) = tokio::join!(ask(), async {
        script.next_call().await.answer("Once.").await;
    });
    let again = ask().await;
    let replayed = again.headers().get("idempotency-replayed").cloned();
    assert_eq!(replayed.expect("a replay"), "true");
    let [first, again]: [Value; 2] = [first.json().await.unwrap(), again.json().await.unwrap()];
    let message = |completion: &Value| completion["choices"][0]["message"].clone();
    assert_eq!(message(&first)["content"], "Once.");
    assert_eq!(
        (message(&again), &again["id"]),
        (message(&first), &first["id"])
    );
    script.assert_no_more_calls();
    api.stop().await;
}
