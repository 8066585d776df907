//! Changes of one conversation by both nodes at the same time.

use domain::ProblemCode;
use futures::future::join_all;
use serde_json::{Value, json};

use super::pair::{Node, NodePair, word};
use crate::api_server::id_of;

/// The number of requests that race for a message.
const RACERS: usize = 8;

/// Sends `bodies` at the same time, in turns to both nodes.
async fn race(pair: &NodePair, bodies: impl Iterator<Item = Value>) -> Vec<(u16, Value)> {
    let requests = bodies.enumerate().map(|(index, body)| {
        let node = [&pair.a, &pair.b][index % 2];
        async move {
            let response = node.chat(&body).send().await;
            (response.status, response.json())
        }
    });
    join_all(requests).await
}

async fn messages(node: &Node, conversation: &str) -> Vec<Value> {
    let path = format!("/api/conversations/{conversation}/messages?limit=100");
    let page = node.api.reader().get(&path).await.ok();
    page["data"].as_array().expect("a page").clone()
}

/// The text of each message with its position.
fn shown(messages: &[Value]) -> Vec<(i64, String)> {
    let shown = messages.iter().map(|message| {
        let seq = message["seq"].as_i64().expect("a position");
        (seq, word(&message["content"]))
    });
    shown.collect()
}

/// The messages of the only conversation, as the log describes them.
async fn logged(pair: &NodePair) -> Vec<(i64, String)> {
    let mut messages = Vec::new();
    for event in pair.log().await {
        let data = &event["data"];
        if event["type"] == "messages.superseded" {
            let (from, to) = (data["fromSeq"].as_i64(), data["toSeq"].as_i64());
            messages.retain(|(seq, _)| Some(*seq) < from || Some(*seq) > to);
        } else if data["message"].is_object() {
            messages.extend(shown(&[data["message"].clone()]));
        }
    }
    messages
}

/// Checks that both nodes and the log have the same messages, and returns them.
pub(crate) async fn agreed(pair: &NodePair, conversation: &str) -> Vec<(i64, String)> {
    let of_a = shown(&messages(&pair.a, conversation).await);
    assert_eq!(of_a, shown(&messages(&pair.b, conversation).await));
    assert_eq!(of_a, logged(pair).await);
    of_a
}

#[tokio::test(flavor = "multi_thread")]
async fn racing_edits_have_one_winner() {
    let pair = NodePair::start().await;
    let agent = pair.a.api.agent_id().await;
    let id = id_of(&pair.a.api.conversation(json!({"agentId": agent})).await);
    let first = json!({"conversationId": id, "message": "Number 0"});
    pair.a.api.chat(first).await;
    for round in 1..=5 {
        let edited = messages(&pair.b, &id).await[0]["id"].clone();
        let edits = (0..RACERS).map(|number| {
            let message = format!("Round {round}, number {number}");
            json!({"conversationId": id, "supersedes": edited, "message": message})
        });
        let responses = race(&pair, edits).await;
        let (won, lost): (Vec<_>, Vec<_>) = responses
            .into_iter()
            .enumerate()
            .partition(|(_, (status, _))| *status == 200);
        let [(number, (_, reply))] = &*won else {
            panic!("one edit takes effect: {won:?}");
        };
        for (_, (status, problem)) in lost {
            let code = word(&problem["code"]);
            assert_eq!(status, 409, "{problem}");
            assert!(["message_superseded", "conversation_busy"].contains(&&*code));
        }
        let position = 2 * round + 1;
        let sent = format!("Round {round}, number {number}");
        let expected = [(position, sent), (position + 1, word(&reply["message"]))];
        assert_eq!(agreed(&pair, &id).await, expected);
    }
    pair.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_waits_for_no_turn_of_the_other_node_and_its_cancellation_restores_nothing() {
    let mut pair = NodePair::start().await;
    let id = pair.conversation().await;
    let first = pair.a.chat(&pair.command(&id, "one")).send();
    let (first, edit) = tokio::join!(first, async {
        let call = pair.a.script.next_call().await;
        let edited = messages(&pair.b, &id).await[0]["id"].clone();
        let edit = json!({"conversationId": id, "supersedes": edited, "message": "uno"});
        let rejected = pair.b.chat(&edit).send().await;
        rejected.problem(ProblemCode::ConversationBusy);
        call.answer("One.").await;
        edit
    });
    first.ok();
    let edited = pair.b.chat(&edit).send();
    let (edited, ()) = tokio::join!(edited, async {
        let call = pair.b.script.next_call().await;
        call.send_text("Un").await;
        pair.a.cancel(call.request.turn_id).await.ok();
        call.wait_until_stopped().await;
    });
    edited.problem(ProblemCode::TurnCancelled);
    assert_eq!(
        agreed(&pair, &id).await,
        [(3, "uno".to_owned()), (4, "Un".to_owned())]
    );
    let again = pair.a.chat(&edit).send().await;
    again.problem(ProblemCode::MessageSuperseded);
    pair.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn racing_first_uses_of_a_conversation_key_create_one_conversation() {
    const FIRST_USES: usize = 32;
    let pair = NodePair::start().await;
    let agent = pair.a.api.agent_id().await;
    let uses = (0..FIRST_USES).map(|number| {
        let message = format!("Number {number}");
        json!({"agentId": agent, "conversationKey": "race", "message": message})
    });
    let responses = race(&pair, uses).await;
    let id = word(&responses[0].1["conversationId"]);
    for (status, reply) in &responses {
        assert_eq!((*status, &*word(&reply["conversationId"])), (200, &*id));
    }
    let agreed = agreed(&pair, &id).await;
    let positions: Vec<i64> = agreed.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(positions, (1..=64).collect::<Vec<_>>());
    // Each message is followed by its reply.
    let listed = messages(&pair.a, &id).await;
    for turn in listed.chunks(2) {
        assert_eq!(
            (&turn[0]["role"], &turn[1]["role"]),
            (&json!("user"), &json!("agent"))
        );
        assert_eq!(turn[0]["turnId"], turn[1]["turnId"]);
    }
    pair.stop().await;
}
