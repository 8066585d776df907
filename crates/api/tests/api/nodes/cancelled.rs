//! Turns that are ended by another node than their own.

use std::time::Instant;

use domain::ProblemCode;

use super::pair::{NodePair, SOON};
use crate::engines::contents;

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_on_the_other_node_stops_the_engine() {
    let mut pair = NodePair::start().await;
    let id = pair.conversation().await;
    let first = pair.a.chat(&pair.command(&id, "one")).send();
    let cancelled = async {
        let call = pair.a.script.next_call().await;
        call.send_text("Well").await;
        let second = pair.start_turn(&pair.a, &id, "two").await;
        let turn = pair.b.cancel(call.request.turn_id).await.ok();
        assert_eq!(turn["status"], "cancelled");
        let since = Instant::now();
        call.wait_until_stopped().await;
        assert!(since.elapsed() < SOON, "{:?}", since.elapsed());
        // The node that runs the turn ends it, and starts the next queued one.
        let call = pair.a.script.next_call().await;
        assert_eq!(call.turn(), second);
        call.answer("Two.").await;
        let ended = pair.b.turn_after("in_progress", &second).await;
        assert_eq!(ended["status"], "completed");
        since
    };
    let first = async { (first.await, Instant::now()) };
    let ((first, received), since) = tokio::join!(first, cancelled);
    first.problem(ProblemCode::TurnCancelled);
    assert!(received - since < SOON, "{:?}", received - since);
    pair.a.script.assert_no_more_calls();
    let texts = contents(&pair.a.api, &id).await;
    assert_eq!(texts, ["one", "Well", "two", "Two."]);
    pair.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_on_the_other_node_stops_the_engine() {
    let mut pair = NodePair::start().await;
    let id = pair.conversation().await;
    let conversation = format!("/api/conversations/{id}");
    let agent = format!("/api/agents/{}", pair.agent);
    let mut body = pair.command(&id, "Hello");
    for path in [conversation, agent] {
        let mut stream = pair.a.stream_chat(body.clone()).await;
        let call = pair.a.script.next_call().await;
        call.send_text("Well").await;
        assert_eq!(pair.b.api.writer().delete(&path).await.status, 204);
        let since = Instant::now();
        call.wait_until_stopped().await;
        let events = stream.remaining().await;
        let names: Vec<&str> = events.iter().map(|event| &*event.name).collect();
        assert_eq!(names, ["turn.started", "reply.delta", "turn.cancelled"]);
        assert!(since.elapsed() < SOON, "{:?}", since.elapsed());
        let life = pair.events_of_turn(&call.turn()).await;
        assert_eq!(life, ["turn.started", "turn.cancelled"]);
        body["conversationId"].take();
        body.as_object_mut().unwrap().remove("conversationId");
    }
    pair.stop().await;
}
