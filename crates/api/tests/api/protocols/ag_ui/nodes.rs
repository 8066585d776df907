//! Runs that are followed on another node than the one that runs their turn.

use serde_json::json;
use tokio_util::task::TaskTracker;

use super::client::{input, kinds, last, post, start, stream, text};
use crate::nodes::pair::NodePair;

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_run_continues_on_another_node() {
    let mut pair = NodePair::start().await;
    let body = input("t", "r", ("m1", "Hello"));
    let mut lost = start(&pair.a.api, &pair.agent, &body).await;
    let call = pair.a.script.next_call().await;
    call.send_text("Good ").await;
    lost.next_of_type("RUN_STARTED").await;
    lost.next_of_type("TEXT_MESSAGE_START").await;
    let id = lost.next_of_type("TEXT_MESSAGE_CONTENT").await.id;
    drop(lost);
    let id = id.expect("an id");
    let headers = [("Last-Event-ID", &*id)];
    let response = post(&pair.b.api.writer(), &pair.agent, &body, &headers).await;
    let mut continued = stream(response);
    call.answer("morning").await;
    let events = continued.remaining().await;
    assert_eq!(text(&events), "morning");
    assert_eq!(last(&events)["type"], "RUN_FINISHED");
    pair.b.script.assert_no_more_calls();
    pair.a.api.stop().await;
    pair.b.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draining_node_ends_runs_of_the_other_with_an_error() {
    let mut pair = NodePair::start().await;
    let body = input("t", "r", ("m1", "Hello"));
    let mut own = start(&pair.a.api, &pair.agent, &body).await;
    let call = pair.a.script.next_call().await;
    call.send_text("Good ").await;
    let response = post(&pair.b.api.writer(), &pair.agent, &body, &[]).await;
    let mut followed = stream(response);
    followed.next_of_type("RUN_STARTED").await;
    followed.next_of_type("TEXT_MESSAGE_START").await;
    followed.next_of_type("TEXT_MESSAGE_CONTENT").await;
    let NodePair { a, b, .. } = pair;
    let stopping = TaskTracker::new().spawn(b.api.stop());
    let events = followed.remaining().await;
    assert_eq!(kinds(&events), ["RUN_ERROR"]);
    assert_eq!(last(&events)["code"], "draining");
    stopping.await.expect("an end in order");
    call.answer("morning").await;
    let events = own.remaining().await;
    assert_eq!(last(&events)["outcome"], json!({"type": "success"}));
    a.api.stop().await;
}
