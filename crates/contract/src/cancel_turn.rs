//! `TurnRepository::cancel_turn`: ending a turn from outside.

use domain::{EventType, FinishReason, NodeId, Turn, TurnStatus};
use ports::{BeginTurn, CancelOutcome, FinishOutcome, Reply, Storage, TurnEnding};

use crate::{
    answers::{Answer as _, event_count},
    found, given, log, samples,
};

async fn cancel(
    storage: &Storage,
    question: &BeginTurn,
    partial: Option<Reply>,
    node: Option<NodeId>,
) -> CancelOutcome {
    let (tenant, stamp) = (samples::tenant(), samples::stamp(900));
    let turns = &storage.turns;
    let answer = turns.cancel_turn(&tenant, question.turn_id, partial, node, &stamp);
    answer.await.answered()
}

fn said_so_far(text: &str) -> Reply {
    Reply {
        content: text.to_owned(),
        finish_reason: FinishReason::Cancelled,
        engine: "llm".to_owned(),
        ..samples::reply(7)
    }
}

/// A running turn ends with `turn.cancelled`, and nothing else of it changes.
pub async fn cancels_a_running_turn(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = samples::question(7, &agent, samples::existing(&talk, 0));
    given::started(storage, &question).await;
    let running = found::turn(storage, question.turn_id).await;
    let (committed, promoted) = given::cancelled(storage, &question, None).await;
    assert_eq!((event_count(committed), promoted), (1, None));
    let event = log::events_of(storage, committed).await.remove(0);
    assert_eq!(event.kind, EventType::TurnCancelled);
    assert_eq!(
        (event.time, event.actor),
        (samples::at(900), samples::principal())
    );
    assert_eq!(event.turn_id, Some(question.turn_id));
    assert_eq!(event.conversation_id, Some(talk.id));
    assert_eq!(event.agent_id, Some(agent.id));
    let turn = found::turn(storage, question.turn_id).await;
    let turn = turn.expect("the turn is kept");
    assert_eq!(
        (turn.status, turn.error.clone()),
        (TurnStatus::Cancelled, None)
    );
    assert_eq!(turn.finished_at, Some(samples::at(900)));
    let undone = Turn {
        status: TurnStatus::InProgress,
        finish_reason: None,
        finished_at: None,
        ..turn
    };
    assert_eq!(Some(undone), running);
    assert_eq!(found::head(storage, talk.id).await.running_turn, None);
    assert_eq!(found::messages(storage, talk.id).await.len(), 1);
}

/// What the engine had said so far is kept as the agent's message.
pub async fn keeps_what_had_been_said(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = samples::question(7, &agent, samples::existing(&talk, 0));
    given::started(storage, &question).await;
    let partial = said_so_far("Once upon a 🦊");
    let outcome = cancel(storage, &question, Some(partial.clone()), None).await;
    assert!(
        matches!(outcome, CancelOutcome::Cancelled { .. }),
        "{outcome:?}"
    );
    let message = found::messages(storage, talk.id).await.remove(1);
    assert_eq!((message.id, message.seq), (partial.message_id, 2));
    assert_eq!(message.content, partial.content);
    assert_eq!(message.engine, Some(partial.engine.clone()));
    assert_eq!(message.finish_reason, Some(FinishReason::Cancelled));
    assert_eq!(message.agent_version, Some(1));
    let turn = found::turn(storage, question.turn_id).await;
    let turn = turn.expect("the turn is kept");
    assert_eq!(turn.status, TurnStatus::Cancelled);
    assert_eq!(turn.reply, Some(message));
    assert_eq!(turn.engine, Some(partial.engine));
    assert_eq!(turn.finish_reason, Some(FinishReason::Cancelled));
    assert_eq!(found::head(storage, talk.id).await.message_count, 2);
}

/// Without text there is no message.
pub async fn keeps_no_empty_message(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = samples::question(7, &agent, samples::existing(&talk, 0));
    given::started(storage, &question).await;
    cancel(storage, &question, Some(said_so_far("")), None).await;
    assert_eq!(found::messages(storage, talk.id).await.len(), 1);
    assert_eq!(found::head(storage, talk.id).await.message_count, 1);
    let turn = found::turn(storage, question.turn_id).await;
    assert_eq!(turn.and_then(|turn| turn.reply), None);
}

/// The tools that were called are kept, whether or not anything was said.
pub async fn keeps_the_tools_that_were_called(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    for (number, text) in [(0, "It is "), (1, "")] {
        let target = samples::existing(&talk, i64::from(number));
        let question = samples::question(number, &agent, target);
        given::started(storage, &question).await;
        let partial = Reply {
            tool_calls: vec![samples::tool_call()],
            message_id: samples::message_id(100 + number),
            ..said_so_far(text)
        };
        cancel(storage, &question, Some(partial), None).await;
        let turn = found::turn(storage, question.turn_id).await;
        let turn = turn.expect("the turn is kept");
        assert_eq!(turn.tool_calls, [samples::tool_call()]);
        assert_eq!(turn.reply.is_some(), !text.is_empty());
    }
    assert_eq!(found::messages(storage, talk.id).await.len(), 3);
}

/// A turn that ends while queued leaves no message, and those beside it keep their order.
pub async fn cancels_a_turn_that_waits(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = |number| samples::question(number, &agent, samples::existing(&talk, 0));
    given::started(storage, &question(1)).await;
    for number in [2, 3, 4] {
        given::queued(storage, &question(number)).await;
    }
    let node = Some(samples::node_id(1));
    let partial = Some(said_so_far("out of nowhere"));
    match cancel(storage, &question(2), partial, node).await {
        CancelOutcome::Cancelled {
            committed,
            promoted,
        } => {
            assert_eq!(promoted, None, "another turn runs");
            let types = log::types_of(storage, committed).await;
            assert_eq!(types, [EventType::TurnCancelled]);
        }
        other => panic!("not cancelled: {other:?}"),
    }
    let turn = found::turn(storage, samples::turn_id(2)).await;
    let turn = turn.expect("the turn is kept");
    assert_eq!((turn.status, turn.reply), (TurnStatus::Cancelled, None));
    assert_eq!((turn.started_at, turn.agent_version), (None, None));
    let head = found::head(storage, talk.id).await;
    assert_eq!((head.message_count, head.turn_count), (1, 1));
    assert_eq!(head.running_turn, Some(samples::turn_id(1)));
    let (_, promoted) = given::cancelled(storage, &question(1), node).await;
    let promoted = promoted.map(|promoted| promoted.turn.id);
    assert_eq!(promoted, Some(samples::turn_id(3)));
}

/// When a running one ends, the first that waits MUST be promoted to the given node.
pub async fn promotes_to_the_node_that_cancels(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let node = given::node(storage, 2).await;
    let running = samples::question(1, &agent, samples::existing(&talk, 0));
    given::started(storage, &running).await;
    let waiting = samples::question(2, &agent, samples::existing(&talk, 1));
    given::queued(storage, &waiting).await;
    let (committed, promoted) = given::cancelled(storage, &running, Some(node)).await;
    let types = log::types_of(storage, committed).await;
    assert_eq!(types, [EventType::TurnCancelled, EventType::TurnStarted]);
    let promoted = promoted.expect("a turn waits");
    assert_eq!(promoted.turn.id, waiting.turn_id);
    assert_eq!((promoted.message_seq, promoted.turn_number), (2, 1));
    let turn = found::turn(storage, waiting.turn_id).await;
    assert_eq!(turn, Some(promoted.turn));
    let mut finish = samples::finish(&waiting, TurnEnding::Completed(samples::reply(2)));
    finish.node = node;
    given::finished(storage, finish).await;
}

/// Kept text comes before the message of the promoted turn.
pub async fn what_had_been_said_comes_before_the_next_question(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let running = samples::question(7, &agent, samples::existing(&talk, 0));
    given::started(storage, &running).await;
    let waiting = samples::question(8, &agent, samples::existing(&talk, 1));
    given::queued(storage, &waiting).await;
    let partial = Some(said_so_far("Once"));
    cancel(storage, &running, partial, Some(running.node)).await;
    let said = found::messages(storage, talk.id).await;
    let texts: Vec<_> = said.iter().map(|message| &*message.content).collect();
    assert_eq!(texts, ["Question 7", "Once", "Question 8"]);
}

/// Without a node nothing is promoted: what waits goes on waiting.
pub async fn promotes_nothing_without_a_node(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let running = samples::question(1, &agent, samples::existing(&talk, 0));
    given::started(storage, &running).await;
    let waiting = samples::question(2, &agent, samples::existing(&talk, 1));
    given::queued(storage, &waiting).await;
    let (committed, promoted) = given::cancelled(storage, &running, None).await;
    assert_eq!((event_count(committed), promoted), (1, None));
    let turn = found::turn(storage, waiting.turn_id).await;
    assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::Queued));
}

/// A turn that had reached its end is left as it is, whichever end.
pub async fn cancels_nothing_that_has_ended(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = |number: u32| {
        let count = i64::from(number) - 1;
        samples::question(number, &agent, samples::existing(&talk, count))
    };
    given::recorded(
        storage,
        samples::exchange(1, &agent, samples::existing(&talk, 0)),
    )
    .await;
    given::started(storage, &question(2)).await;
    let ending = TurnEnding::failed(samples::lasting_problem());
    given::finished(storage, samples::finish(&question(2), ending)).await;
    given::started(storage, &question(3)).await;
    given::cancelled(storage, &question(3), None).await;
    let head = log::head(storage, &samples::tenant()).await;
    for number in 1..=3 {
        let before = found::turn(storage, samples::turn_id(number)).await;
        let partial = Some(said_so_far("too late"));
        let outcome = cancel(storage, &question(number), partial, None).await;
        assert_eq!(outcome, CancelOutcome::AlreadyFinal);
        assert_eq!(found::turn(storage, samples::turn_id(number)).await, before);
    }
    assert_eq!(log::head(storage, &samples::tenant()).await, head);
}

/// "Not found" is a value.
pub async fn cancels_no_turn_that_was_never_asked(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let unknown = samples::question(404, &agent, samples::existing(&talk, 0));
    let outcome = cancel(storage, &unknown, None, None).await;
    assert_eq!(outcome, CancelOutcome::NotFound);
}

/// Cancel and completion race on one condition: the second is refused.
pub async fn a_cancelled_turn_cannot_be_completed(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = samples::question(7, &agent, samples::existing(&talk, 0));
    given::started(storage, &question).await;
    given::cancelled(storage, &question, None).await;
    let finish = samples::finish(&question, TurnEnding::Completed(samples::reply(7)));
    let outcome = storage.turns.finish_turn(finish).await.answered();
    assert_eq!(outcome, FinishOutcome::Refused);
    assert_eq!(found::messages(storage, talk.id).await.len(), 1);
}
