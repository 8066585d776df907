//! The history that engines receive in a conversation with replies from two nodes.

use contract::fixture;
use domain::{ConversationId, HistoryLimits, HistoryMessage};
use ports::{HistoryQuery, ReplyError};
use serde_json::json;

use super::pair::{Node, NodePair};
use crate::script::EngineCall;

/// The end of a turn.
#[derive(Debug, Clone, Copy)]
enum End {
    Completed,
    Failed,
    Cancelled,
}

/// The stored history before the current message.
async fn stored(node: &Node, id: ConversationId, limits: HistoryLimits) -> Vec<HistoryMessage> {
    let (tenant, conversations) = (fixture::tenant(), &node.api.storage.conversations);
    let head = conversations.find_state(&tenant, id).await;
    let head = head.expect("the store answers").value.expect("it is there");
    let query = HistoryQuery {
        before: head.last_message_seq,
        limits,
    };
    let history = conversations.history(&tenant, id, &query).await;
    history.expect("the store answers")
}

async fn end(node: &Node, call: EngineCall, end: End, number: usize) {
    if number.is_multiple_of(3) {
        call.use_tool("calculator", json!({})).await;
    } else if number.is_multiple_of(5) {
        call.use_tool("clock", json!({})).await;
    }
    match end {
        End::Completed => call.answer(&format!("answer {number}")).await,
        End::Failed => call.fail(ReplyError::TimedOut),
        End::Cancelled => {
            call.send_text("Well").await;
            node.cancel(call.request.turn_id).await.ok();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_receives_the_history_of_all_nodes() {
    use End::{Cancelled, Completed, Failed};
    let mut pair = NodePair::start().await;
    let id: ConversationId = pair.conversation().await.parse().expect("an id");
    let turns = [
        // The node, the limits of messages and characters, and the end of the turn.
        (true, 5, 1_000, [Completed, Completed, Completed, Completed]),
        (false, 5, 1_000, [Completed, Completed, Failed, Completed]),
        (true, 5, 1_000, [Completed, Failed, Completed, Cancelled]),
        (true, 5, 30, [Completed, Completed, Completed, Failed]),
        (false, 5, 30, [Failed, Completed, Completed, Cancelled]),
        (true, 0, 30, [Completed, Completed, Completed, Completed]),
        (true, 40, 1_000, [Completed, Completed, Cancelled, Failed]),
        (false, 40, 1_000, [Completed, Failed, Completed, Completed]),
    ];
    let mut number = 0;
    for (is_on_a, messages, characters, ends) in turns {
        let limits = HistoryLimits {
            max_messages: Some(messages),
            max_characters: Some(characters),
            ..HistoryLimits::default()
        };
        let config = json!({"engine": "scripted", "history": limits});
        let path = format!("/api/agents/{}/config", pair.agent);
        pair.a.api.writer().put(&path, config).await.ok();
        for ending in ends {
            number += 1;
            let command = pair.command(&id.to_string(), &format!("question {number}"));
            let node = if is_on_a { &mut pair.a } else { &mut pair.b };
            let chat = node.chat(&command).send();
            let call = async {
                let call = node.script.next_call().await;
                let shown = stored(node, id, limits.clone()).await;
                let shown = limits.in_steps(&shown).unwrap_or(shown);
                assert_eq!(
                    *call.request.history, shown,
                    "before {ending:?} turn {number}"
                );
                end(node, call, ending, number).await;
            };
            tokio::join!(chat, call);
        }
    }
    pair.stop().await;
}
