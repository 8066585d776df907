//! `CancelTurn`: ending a turn on request.

use domain::{EventType, FinishReason, NodeId, Turn, TurnStatus};
use writes::{BeginTurn, CancelOutcome, FinishOutcome, Reply, TurnEnding};

use crate::{
    Store, fixture, log, lookup,
    results::{ResultExt as _, event_count},
    setup,
};

async fn cancel(
    storage: &Store,
    begin: &BeginTurn,
    partial: Option<Reply>,
    node: Option<NodeId>,
) -> CancelOutcome {
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(900));
    let turns = &storage.turns;
    let result = turns.cancel_turn(&tenant, begin.turn_id, partial, node, &stamp);
    result.await.success()
}

fn partial_reply(text: &str) -> Reply {
    Reply {
        content: text.to_owned(),
        finish_reason: FinishReason::Cancelled,
        engine: "llm".to_owned(),
        ..fixture::reply(7)
    }
}

/// A running turn ends with `turn.cancelled`; nothing else of it changes.
pub async fn a_running_turn_can_be_cancelled(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = fixture::begin_turn(7, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
    let running = lookup::turn(storage, begin.turn_id).await;
    let (committed, promoted) = setup::cancel_turn(storage, &begin, None).await;
    assert_eq!((event_count(committed), promoted), (1, None));
    let event = log::events_of(storage, committed).await.remove(0);
    assert_eq!(event.kind, EventType::TurnCancelled);
    assert_eq!(
        (event.time, event.actor),
        (fixture::at(900), fixture::principal())
    );
    assert_eq!(event.turn_id, Some(begin.turn_id));
    assert_eq!(event.conversation_id, Some(conversation.id));
    assert_eq!(event.agent_id, Some(agent.id));
    let turn = lookup::turn(storage, begin.turn_id).await;
    let turn = turn.expect("the turn is kept");
    assert_eq!(
        (turn.status, turn.error.clone()),
        (TurnStatus::Cancelled, None)
    );
    assert_eq!(turn.finished_at, Some(fixture::at(900)));
    let undone = Turn {
        status: TurnStatus::InProgress,
        finish_reason: None,
        finished_at: None,
        ..turn
    };
    assert_eq!(Some(undone), running);
    assert_eq!(
        lookup::state(storage, conversation.id).await.running_turn,
        None
    );
    assert_eq!(lookup::messages(storage, conversation.id).await.len(), 1);
}

/// The text of the reply up to the cancellation is stored as the agent's message.
pub async fn a_cancelled_turn_keeps_its_partial_reply(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = fixture::begin_turn(7, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
    let partial = partial_reply("Once upon a 🦊");
    let outcome = cancel(storage, &begin, Some(partial.clone()), None).await;
    assert!(
        matches!(outcome, CancelOutcome::Cancelled { .. }),
        "{outcome:?}"
    );
    let message = lookup::messages(storage, conversation.id).await.remove(1);
    assert_eq!((message.id, message.seq), (partial.message_id, 2));
    assert_eq!(message.content, partial.content);
    assert_eq!(message.engine, Some(partial.engine.clone()));
    assert_eq!(message.model, partial.model);
    assert_eq!(message.finish_reason, Some(FinishReason::Cancelled));
    assert_eq!(message.agent_version, Some(1));
    let turn = lookup::turn(storage, begin.turn_id).await;
    let turn = turn.expect("the turn is kept");
    assert_eq!(turn.status, TurnStatus::Cancelled);
    assert_eq!(turn.reply, Some(message));
    assert_eq!(
        (turn.engine, turn.model),
        (Some(partial.engine), partial.model)
    );
    assert_eq!(turn.finish_reason, Some(FinishReason::Cancelled));
    assert_eq!(
        lookup::state(storage, conversation.id)
            .await
            .last_message_seq,
        2
    );
}

/// A partial reply without text creates no message.
pub async fn a_cancelled_turn_stores_no_empty_message(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = fixture::begin_turn(7, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
    cancel(storage, &begin, Some(partial_reply("")), None).await;
    assert_eq!(lookup::messages(storage, conversation.id).await.len(), 1);
    assert_eq!(
        lookup::state(storage, conversation.id)
            .await
            .last_message_seq,
        1
    );
    let turn = lookup::turn(storage, begin.turn_id).await;
    assert_eq!(turn.and_then(|turn| turn.reply), None);
}

/// The tools that were called are stored, with or without a partial text.
pub async fn a_cancelled_turn_keeps_its_tool_calls(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    for (number, text) in [(0, "It is "), (1, "")] {
        let target = fixture::existing(&conversation, i64::from(number));
        let begin = fixture::begin_turn(number, &agent, target);
        setup::start_turn(storage, &begin).await;
        let partial = Reply {
            tool_calls: vec![fixture::tool_call()],
            message_id: fixture::message_id(100 + number),
            ..partial_reply(text)
        };
        cancel(storage, &begin, Some(partial), None).await;
        let turn = lookup::turn(storage, begin.turn_id).await;
        let turn = turn.expect("the turn is kept");
        assert_eq!(turn.tool_calls, [fixture::tool_call()]);
        assert_eq!(turn.reply.is_some(), !text.is_empty());
    }
    assert_eq!(lookup::messages(storage, conversation.id).await.len(), 3);
}

/// A queued turn that is cancelled creates no message; the other queued turns keep their order.
pub async fn a_queued_turn_can_be_cancelled(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = |number| fixture::begin_turn(number, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin(1)).await;
    for number in [2, 3, 4] {
        setup::queue_turn(storage, &begin(number)).await;
    }
    let node = Some(fixture::node_id(1));
    let partial = Some(partial_reply("out of nowhere"));
    match cancel(storage, &begin(2), partial, node).await {
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
    let turn = lookup::turn(storage, fixture::turn_id(2)).await;
    let turn = turn.expect("the turn is kept");
    assert_eq!((turn.status, turn.reply), (TurnStatus::Cancelled, None));
    assert_eq!((turn.started_at, turn.agent_version), (None, None));
    let head = lookup::state(storage, conversation.id).await;
    assert_eq!((head.last_message_seq, head.turn_count), (1, 1));
    assert_eq!(head.running_turn, Some(fixture::turn_id(1)));
    let (_, promoted) = setup::cancel_turn(storage, &begin(1), node).await;
    let promoted = promoted.map(|promoted| promoted.turn.id);
    assert_eq!(promoted, Some(fixture::turn_id(3)));
}

/// If a running turn is cancelled, the first queued turn MUST be promoted to the given node.
pub async fn a_cancellation_promotes_to_the_given_node(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let node = setup::node(storage, 2).await;
    let running = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &running).await;
    let waiting = fixture::begin_turn(2, &agent, fixture::existing(&conversation, 1));
    setup::queue_turn(storage, &waiting).await;
    let (committed, promoted) = setup::cancel_turn(storage, &running, Some(node)).await;
    let types = log::types_of(storage, committed).await;
    assert_eq!(types, [EventType::TurnCancelled, EventType::TurnStarted]);
    let promoted = promoted.expect("a turn waits");
    assert_eq!(promoted.turn.id, waiting.turn_id);
    assert_eq!(
        (promoted.messages.message.seq, promoted.messages.turn_number),
        (2, 1)
    );
    let turn = lookup::turn(storage, waiting.turn_id).await;
    assert_eq!(turn, Some(promoted.turn));
    let mut finish = fixture::finish(&waiting, TurnEnding::Completed(fixture::reply(2)));
    finish.node = node;
    setup::finish_turn(storage, finish).await;
}

/// The message of the partial reply precedes the message of the promoted turn.
pub async fn a_partial_reply_precedes_the_next_message(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let running = fixture::begin_turn(7, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &running).await;
    let waiting = fixture::begin_turn(8, &agent, fixture::existing(&conversation, 1));
    setup::queue_turn(storage, &waiting).await;
    let partial = Some(partial_reply("Once"));
    cancel(storage, &running, partial, Some(running.node)).await;
    let texts = lookup::messages(storage, conversation.id).await;
    let texts: Vec<_> = texts.iter().map(|message| &*message.content).collect();
    assert_eq!(texts, ["Question 7", "Once", "Question 8"]);
}

/// Without a node no turn is promoted; queued turns stay queued.
pub async fn a_cancellation_without_a_node_promotes_no_turn(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let running = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &running).await;
    let waiting = fixture::begin_turn(2, &agent, fixture::existing(&conversation, 1));
    setup::queue_turn(storage, &waiting).await;
    let (committed, promoted) = setup::cancel_turn(storage, &running, None).await;
    assert_eq!((event_count(committed), promoted), (1, None));
    let turn = lookup::turn(storage, waiting.turn_id).await;
    assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::Queued));
}

/// A turn that has ended does not change, whichever way it ended.
pub async fn an_ended_turn_cannot_be_cancelled(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = |number: u32| {
        let count = i64::from(number) - 1;
        fixture::begin_turn(number, &agent, fixture::existing(&conversation, count))
    };
    setup::record_turn(
        storage,
        fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0)),
    )
    .await;
    setup::start_turn(storage, &begin(2)).await;
    let ending = TurnEnding::failed(fixture::lasting_problem());
    setup::finish_turn(storage, fixture::finish(&begin(2), ending)).await;
    setup::start_turn(storage, &begin(3)).await;
    setup::cancel_turn(storage, &begin(3), None).await;
    let head = log::head(storage, &fixture::tenant()).await;
    for number in 1..=3 {
        let before = lookup::turn(storage, fixture::turn_id(number)).await;
        let partial = Some(partial_reply("too late"));
        let outcome = cancel(storage, &begin(number), partial, None).await;
        assert_eq!(outcome, CancelOutcome::AlreadyFinal);
        assert_eq!(
            lookup::turn(storage, fixture::turn_id(number)).await,
            before
        );
    }
    assert_eq!(log::head(storage, &fixture::tenant()).await, head);
}

/// "Not found" is a value.
pub async fn an_unknown_turn_cannot_be_cancelled(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let unknown = fixture::begin_turn(404, &agent, fixture::existing(&conversation, 0));
    let outcome = cancel(storage, &unknown, None, None).await;
    assert_eq!(outcome, CancelOutcome::NotFound);
}

/// If cancellation and completion race, the second is rejected.
pub async fn a_cancelled_turn_cannot_be_completed(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = fixture::begin_turn(7, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
    setup::cancel_turn(storage, &begin, None).await;
    let finish = fixture::finish(&begin, TurnEnding::Completed(fixture::reply(7)));
    let outcome = storage.turns.finish_turn(finish).await.success();
    assert_eq!(outcome, FinishOutcome::NotOwned);
    assert_eq!(lookup::messages(storage, conversation.id).await.len(), 1);
}
