//! `CompletedTurn`: a whole turn in one write.

use domain::{Conversation, EventType, Turn, TurnStatus};
use writes::{CompletedTurn, ConversationTarget, RecordTurnOutcome};

use crate::{
    Store, fixture, log, lookup,
    results::{ResultExt as _, assert_stale},
    setup,
    snapshot::Snapshot,
};

pub(crate) async fn outcome(storage: &Store, turn: &CompletedTurn) -> RecordTurnOutcome {
    storage
        .turns
        .record_completed_turn(turn.clone())
        .await
        .success()
}

pub(crate) fn with_key(mut turn: CompletedTurn, key: &str) -> CompletedTurn {
    turn.begin.idempotency = Some(fixture::entry(key));
    turn
}

/// The turn is completed, both messages are stored, and the conversation is updated.
pub async fn a_completed_turn_is_stored_with_both_messages(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let mut turn = fixture::completed_turn(7, &agent, fixture::existing(&conversation, 0));
    turn.finished_at = fixture::at(99);
    let RecordTurnOutcome::Recorded { messages, .. } = outcome(storage, &turn).await else {
        panic!("not recorded");
    };
    let stored = lookup::messages(storage, conversation.id).await;
    assert_eq!(stored.len(), 2);
    assert_eq!(
        (messages.message.seq, messages.reply_seq),
        (stored[0].seq, 2)
    );
    let as_asked = turn.turn(&messages);
    let excerpt = turn.reply.content.clone();
    let turn = Turn {
        reasoning: None,
        continues: None,
        instruction: None,
        id: fixture::turn_id(7),
        conversation_id: conversation.id,
        agent_id: agent.id,
        agent_version: Some(1),
        status: TurnStatus::Completed,
        input: turn.begin.input,
        files: Vec::new(),
        client_message_id: None,
        retry_of: None,
        reply: Some(stored[1].clone()),
        engine: Some(turn.reply.engine),
        model: turn.reply.model,
        degraded: false,
        finish_reason: Some(turn.reply.finish_reason),
        usage: None,
        tool_calls: Vec::new(),
        output: None,
        repaired: false,
        metadata: turn.begin.metadata,
        error: None,
        created_at: fixture::at(7),
        started_at: Some(fixture::at(7)),
        finished_at: Some(fixture::at(99)),
    };
    let found = lookup::turn_with_owner(storage, turn.id).await;
    let found = found.expect("the turn exists");
    assert_eq!(found.turn, turn);
    assert_eq!(as_asked, turn);
    assert_eq!(found.principal, fixture::principal());
    assert_eq!(found.user_id, conversation.user_id);
    let moved_on = Conversation {
        message_count: 2,
        excerpt: Some(excerpt),
        updated_at: fixture::at(99),
        last_message_at: Some(fixture::at(99)),
        ..conversation
    };
    let after = lookup::conversation(storage, moved_on.id).await;
    assert_eq!(after, Some(moved_on));
}

/// The events are `turn.started` and `turn.completed`.
pub async fn a_completed_turn_writes_turn_started_and_turn_completed(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let head = log::head(storage, &fixture::tenant()).await;
    let turn = fixture::completed_turn(7, &agent, fixture::existing(&conversation, 0));
    let committed = setup::record_turn(storage, turn).await;
    assert_eq!(
        (committed.first, committed.last),
        (head.plus(1), head.plus(2))
    );
    let events = log::events_of(storage, committed).await;
    let types: Vec<_> = events.iter().map(|event| event.kind).collect();
    assert_eq!(types, [EventType::TurnStarted, EventType::TurnCompleted]);
    for event in events {
        assert_eq!(event.turn_id, Some(fixture::turn_id(7)));
        assert_eq!(event.conversation_id, Some(conversation.id));
        assert_eq!(event.agent_id, Some(agent.id));
        assert_eq!(event.user_id, conversation.user_id);
        assert_eq!(event.actor, fixture::principal());
    }
}

/// A new conversation is created with its first turn; `conversation.created` is written first.
pub async fn a_new_conversation_is_created_with_its_first_completed_turn(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let conversation = fixture::conversation(1, agent.id);
    let target = ConversationTarget::New(conversation.clone());
    let committed = setup::record_turn(storage, fixture::completed_turn(7, &agent, target)).await;
    let expected = [
        EventType::ConversationCreated,
        EventType::TurnStarted,
        EventType::TurnCompleted,
    ];
    assert_eq!(log::types_of(storage, committed).await, expected);
    let made = Conversation {
        message_count: 2,
        excerpt: Some(fixture::reply(7).content),
        updated_at: fixture::at(7),
        last_message_at: Some(fixture::at(7)),
        ..conversation
    };
    assert_eq!(
        lookup::conversation(storage, made.id).await,
        Some(made.clone())
    );
    let head = lookup::state(storage, made.id).await;
    assert_eq!((head.last_message_seq, head.turn_count), (2, 1));
}

/// Completed turns follow each other: messages and turns are numbered without gaps.
pub async fn completed_turns_are_numbered_without_gaps(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    for number in 0..20 {
        let target = fixture::existing(&conversation, i64::from(number));
        setup::record_turn(storage, fixture::completed_turn(number, &agent, target)).await;
    }
    let messages = lookup::messages(storage, conversation.id).await;
    let positions: Vec<_> = messages.iter().map(|message| message.seq).collect();
    assert_eq!(positions, (1..=40).collect::<Vec<_>>());
    for (number, pair) in (0..).zip(messages.chunks(2)) {
        assert_eq!(pair[0].content, format!("Question {number}"));
        assert_eq!(pair[1].content, format!("Reply {number}"));
    }
    assert_eq!(lookup::state(storage, conversation.id).await.turn_count, 20);
}

/// The outcome MUST be `Stale`, and nothing written, if the agent's version is not the assumed one.
pub async fn a_completed_turn_for_another_agent_version_is_stale(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    setup::update_agent(storage, &fixture::renamed(&agent, "Grace")).await;
    let new = ConversationTarget::New(fixture::conversation(2, agent.id));
    for target in [fixture::existing(&conversation, 0), new] {
        let turn = with_key(fixture::completed_turn(7, &agent, target), "k");
        let before = Snapshot::take(storage, &turn.begin).await;
        assert_stale(&storage.turns.record_completed_turn(turn.clone()).await);
        before.assert_no_trace_of(storage, &turn.begin).await;
    }
}

/// The outcome MUST be `Stale`, and nothing written, if the turn count is not the assumed one.
pub async fn a_completed_turn_for_another_turn_count_is_stale(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let first = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::record_turn(storage, first).await;
    for count in [0, 2] {
        let target = fixture::existing(&conversation, count);
        let turn = with_key(fixture::completed_turn(7, &agent, target), "k");
        let before = Snapshot::take(storage, &turn.begin).await;
        assert_stale(&storage.turns.record_completed_turn(turn.clone()).await);
        before.assert_no_trace_of(storage, &turn.begin).await;
    }
}

/// The outcome is `AgentNotFound` if the agent never existed or is deleted.
pub async fn a_completed_turn_needs_an_existing_agent(storage: &Store) {
    let (deleted, conversation) = setup::chat(storage).await;
    setup::delete_agent(storage, &deleted).await;
    for agent in [deleted, fixture::agent(404)] {
        let new = ConversationTarget::New(fixture::conversation(2, agent.id));
        for target in [fixture::existing(&conversation, 0), new] {
            let turn = with_key(fixture::completed_turn(7, &agent, target), "k");
            let before = Snapshot::take(storage, &turn.begin).await;
            let result = outcome(storage, &turn).await;
            assert_eq!(result, RecordTurnOutcome::AgentNotFound);
            before.assert_no_trace_of(storage, &turn.begin).await;
        }
    }
}

/// The outcome is `ConversationNotFound` if the conversation never existed, is deleted, or belongs
/// to another agent.
pub async fn a_completed_turn_needs_an_existing_conversation(storage: &Store) {
    let (agent, deleted) = setup::chat(storage).await;
    setup::delete_conversation(storage, &deleted).await;
    let other = setup::agent(storage, 2).await;
    let foreign = setup::conversation(storage, 2, &other).await;
    for conversation in [deleted, foreign, fixture::conversation(404, agent.id)] {
        let target = fixture::existing(&conversation, 0);
        let turn = with_key(fixture::completed_turn(7, &agent, target), "k");
        let before = Snapshot::take(storage, &turn.begin).await;
        let result = outcome(storage, &turn).await;
        assert_eq!(result, RecordTurnOutcome::ConversationNotFound);
        before.assert_no_trace_of(storage, &turn.begin).await;
    }
}

/// The outcome is `Busy` while a turn is running, or queued without a running one.
pub async fn a_completed_turn_is_busy_beside_an_open_turn(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let running = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &running).await;
    let target = fixture::existing(&conversation, 1);
    setup::queue_turn(storage, &fixture::begin_turn(2, &agent, target.clone())).await;
    let turn = with_key(fixture::completed_turn(7, &agent, target), "k");
    for ended in [false, true] {
        if ended {
            setup::cancel_turn(storage, &running, None).await;
        }
        let before = Snapshot::take(storage, &turn.begin).await;
        assert_eq!(outcome(storage, &turn).await, RecordTurnOutcome::Busy);
        before.assert_no_trace_of(storage, &turn.begin).await;
    }
}
