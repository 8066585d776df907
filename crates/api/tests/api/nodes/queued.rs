//! Turns that are queued on one node behind turns of the other.

use std::time::Instant;

use serde_json::{Value, json};

use super::pair::{NodePair, SOON, word};
use crate::{engines::contents, response::ApiResponse, script::EngineCall};

#[tokio::test(flavor = "multi_thread")]
async fn waiting_on_another_node_returns_the_reply_while_it_is_written() {
    let mut pair = NodePair::start().await;
    let id = pair.conversation().await;
    let mut first = pair.a.stream_chat(pair.command(&id, "one")).await;
    let call = pair.a.script.next_call().await;
    let mut second = pair.b.stream_chat(pair.command(&id, "two")).await;
    let queued = second.next_of_type("turn.queued").await;
    let third = pair.b.chat(&pair.command(&id, "three")).send();
    let of_a = async {
        call.answer("One.").await;
        first.remaining().await;
        // The node that ends a turn starts the next queued one.
        let call = pair.a.script.next_call().await;
        assert_eq!(json!(call.turn()), queued["turnId"]);
        let started = second.next_of_type("turn.started").await;
        assert_eq!(started["turnId"], queued["turnId"]);
        call.send_text("Two ").await;
        assert_eq!(second.next_of_type("reply.delta").await["text"], "Two ");
        call.answer("two.").await;
        let ended = Instant::now();
        let delta = second.next_of_type("reply.delta").await;
        assert_eq!(
            (&delta["from"], &delta["text"]),
            (&json!(4), &json!("two."))
        );
        let reply = second.next_of_type("turn.completed").await;
        assert_eq!(reply["message"], "Two two.");
        assert!(ended.elapsed() < SOON, "{:?}", ended.elapsed());
        assert_eq!(second.next().await, None);
        let call = pair.a.script.next_call().await;
        call.answer("Three.").await;
        Instant::now()
    };
    let (third, ended) = tokio::join!(third, of_a);
    assert_eq!(third.ok()["message"], "Three.");
    assert!(ended.elapsed() < SOON, "{:?}", ended.elapsed());
    pair.b.script.assert_no_more_calls();
    assert_eq!(
        contents(&pair.b.api, &id).await,
        ["one", "One.", "two", "Two two.", "three", "Three."]
    );
    pair.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_run_in_queue_order_across_nodes() {
    const WAITING: usize = 8;
    let mut pair = NodePair::start().await;
    let id = pair.conversation().await;
    let first = pair.start_turn(&pair.a, &id, "0").await;
    let call = pair.a.script.next_call().await;
    assert_eq!(call.turn(), first);
    let messages = (1..=WAITING).map(|number| number.to_string());
    let requests = messages.enumerate().map(|(index, message)| {
        let node = [&pair.a, &pair.b][index % 2];
        let (pair, id) = (&pair, &id);
        async move { pair.start_turn(node, id, &message).await }
    });
    futures::future::join_all(requests).await;
    let log = pair.log().await;
    let queued = log.iter().filter(|event| event["type"] == "turn.queued");
    let queued: Vec<String> = queued.map(|event| word(&event["turnId"])).collect();
    assert_eq!(queued.len(), WAITING);
    call.answer("Yes.").await;
    for turn in &queued {
        let call = pair.a.script.next_call().await;
        assert_eq!(call.turn(), *turn);
        pair.a.script.assert_no_more_calls();
        call.answer("Yes.").await;
    }
    for turn in &queued {
        let ended = pair.b.turn_after("in_progress", turn).await;
        assert_eq!(ended["status"], "completed");
    }
    let log = pair.log().await;
    let started = log.iter().filter(|event| event["type"] == "turn.started");
    let started: Vec<String> = started.map(|event| word(&event["turnId"])).collect();
    assert_eq!(started, [&[first][..], &queued].concat());
    pair.b.script.assert_no_more_calls();
    pair.stop().await;
}

/// The call of the one of two engines that was called.
async fn next_engine_call(pair: &mut NodePair) -> EngineCall {
    tokio::select! {
        call = pair.a.script.next_call() => call,
        call = pair.b.script.next_call() => call,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_on_two_nodes_calls_one_engine() {
    let mut pair = NodePair::start().await;
    for round in 0..5 {
        let key = format!("k{round}");
        let body = json!({"agentId": pair.agent, "message": "Hello"});
        let requests = [&pair.a, &pair.b].map(|node| {
            let request = node.chat(&body).header("Idempotency-Key", &key);
            request.begin()
        });
        let call = next_engine_call(&mut pair).await;
        call.answer("Once.").await;
        let responses = futures::future::try_join_all(requests).await;
        let responses: Vec<ApiResponse> = responses.expect("both are answered");
        let replies: Vec<Value> = responses.iter().map(ApiResponse::ok).collect();
        assert_eq!(replies[0], replies[1]);
        let replayed = responses.iter().filter(|it| it.has("idempotency-replayed"));
        assert_eq!(replayed.count(), 1);
        pair.a.script.assert_no_more_calls();
        pair.b.script.assert_no_more_calls();
    }
    pair.stop().await;
}
