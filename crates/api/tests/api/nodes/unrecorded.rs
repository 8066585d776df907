//! Idempotency keys of chats of which nothing else is stored, with two nodes.

use domain::ProblemCode;
use serde_json::{Value, json};

use super::{
    expired_lease::{MARK, execute_sql},
    pair::{Node, NodePair},
};
use crate::{response::Request, sse_client::EventStream};

fn chat(node: &Node, body: &Value) -> Request {
    node.chat(body).header("Idempotency-Key", "k")
}

fn unrecorded(pair: &NodePair) -> Value {
    json!({"agentId": pair.agent, "store": false, "message": "Hello"})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_on_another_node_receives_the_answer_of_the_first() {
    let mut pair = NodePair::start().await;
    let body = unrecorded(&pair);
    let first = chat(&pair.a, &body).begin();
    let call = pair.a.script.next_call().await;
    let twins = [chat(&pair.b, &body).begin(), chat(&pair.b, &body).begin()];
    call.answer("Once.").await;
    let first = first.await.expect("an answer").ok();
    for twin in twins {
        let twin = twin.await.expect("an answer");
        assert!(twin.has("idempotency-replayed"));
        assert_eq!(twin.ok(), first);
    }
    assert_eq!(chat(&pair.b, &body).send().await.ok(), first);
    pair.b.script.assert_no_more_calls();
    pair.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_of_a_dead_node_is_released() {
    let mut pair = NodePair::start().await;
    let body = unrecorded(&pair);
    let first = chat(&pair.a, &body).begin();
    let call = pair.a.script.next_call().await;
    // Its response begins once it waits for the turn of the other node.
    let streamed = chat(&pair.b, &body).header("Accept", "text/event-stream");
    let mut twin = EventStream::open(streamed).await;
    execute_sql(&pair, MARK).await;
    call.wait_until_stopped().await;
    let first = first.await.expect("an answer");
    first.problem(ProblemCode::Interrupted);
    let events = twin.remaining().await;
    let failed = &events.last().expect("an end").data;
    assert_eq!(
        (&failed["type"], &failed["error"]["code"]),
        (&json!("turn.failed"), &json!("interrupted"))
    );
    let again = chat(&pair.b, &body).begin();
    pair.b.script.next_call().await.answer("Once.").await;
    let again = again.await.expect("an answer");
    assert!(!again.has("idempotency-replayed"));
    assert_eq!(chat(&pair.a, &body).send().await.ok(), again.ok());
    pair.a.script.assert_no_more_calls();
    pair.stop().await;
}
