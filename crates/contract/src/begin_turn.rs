//! `BeginTurn`: a turn starts, is queued, or is rejected.

use domain::{Conversation, EventType, OpenTurn, Role, Turn, TurnStatus, admission::OnBusy};
use writes::{BeginOutcome, BeginTurn, ConversationTarget};

use crate::{
    Store, fixture, log, lookup,
    results::{ResultExt as _, event_count},
    setup,
    snapshot::Snapshot,
};

pub(crate) async fn outcome(storage: &Store, begin: &BeginTurn) -> BeginOutcome {
    storage.turns.begin_turn(begin.clone()).await.success()
}

pub(crate) fn with_key(begin: BeginTurn) -> BeginTurn {
    BeginTurn {
        idempotency: Some(fixture::entry("k")),
        ..begin
    }
}

pub(crate) fn rejecting(begin: BeginTurn) -> BeginTurn {
    BeginTurn {
        on_busy: OnBusy::Reject,
        ..begin
    }
}

/// In an idle conversation, a turn starts: it is in progress, and the user's message is stored.
pub async fn a_turn_starts_in_an_idle_conversation(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = fixture::begin_turn(7, &agent, fixture::existing(&conversation, 0));
    let started = setup::start_turn(storage, &begin).await;
    assert_eq!(
        (started.messages.message.seq, started.messages.turn_number),
        (1, 0)
    );
    let expected = Turn {
        reasoning: None,
        continues: None,
        instruction: None,
        id: begin.turn_id,
        conversation_id: conversation.id,
        agent_id: agent.id,
        agent_version: Some(1),
        status: TurnStatus::InProgress,
        input: begin.input.clone(),
        files: Vec::new(),
        client_message_id: None,
        retry_of: None,
        reply: None,
        engine: None,
        model: None,
        degraded: false,
        finish_reason: None,
        usage: None,
        tool_calls: Vec::new(),
        output: None,
        repaired: false,
        metadata: begin.metadata.clone(),
        error: None,
        created_at: fixture::at(7),
        started_at: Some(fixture::at(7)),
        finished_at: None,
    };
    assert_eq!(lookup::turn(storage, begin.turn_id).await, Some(expected));
    let message = lookup::messages(storage, conversation.id).await.remove(0);
    assert_eq!((message.id, message.seq), (begin.message_id, 1));
    assert_eq!((message.role, message.content), (Role::User, begin.input));
    assert_eq!(message.turn_id, Some(begin.turn_id));
    let head = lookup::state(storage, conversation.id).await;
    assert_eq!((head.last_message_seq, head.turn_count), (1, 1));
    assert_eq!(head.running_turn, Some(begin.turn_id));
}

/// A turn that starts writes `turn.started`.
pub async fn a_starting_turn_writes_turn_started(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = fixture::begin_turn(7, &agent, fixture::existing(&conversation, 0));
    let started = setup::start_turn(storage, &begin).await;
    assert_eq!(event_count(started.committed), 1);
    let event = log::events_of(storage, started.committed).await.remove(0);
    assert_eq!(event.kind, EventType::TurnStarted);
    assert_eq!(
        (event.time, event.actor),
        (fixture::at(7), fixture::principal())
    );
    assert_eq!(event.turn_id, Some(begin.turn_id));
    assert_eq!(event.conversation_id, Some(conversation.id));
    assert_eq!(event.agent_id, Some(agent.id));
    assert_eq!(event.user_id, conversation.user_id);
}

/// A new conversation is created with its first turn; `conversation.created` is written first.
pub async fn a_new_conversation_is_created_with_its_first_turn(storage: &Store) {
    let (agent, _) = setup::chat(storage).await;
    let conversation = fixture::conversation(2, agent.id);
    let target = ConversationTarget::New(conversation.clone());
    let begin = fixture::begin_turn(7, &agent, target);
    let started = setup::start_turn(storage, &begin).await;
    assert_eq!(
        (started.messages.message.seq, started.messages.turn_number),
        (1, 0)
    );
    let types = log::types_of(storage, started.committed).await;
    assert_eq!(
        types,
        [EventType::ConversationCreated, EventType::TurnStarted]
    );
    let made = Conversation {
        message_count: 1,
        excerpt: Some(begin.input),
        open_turns: vec![OpenTurn {
            id: begin.turn_id,
            status: TurnStatus::InProgress,
            created_at: fixture::at(7),
        }],
        updated_at: fixture::at(7),
        last_message_at: Some(fixture::at(7)),
        ..conversation
    };
    assert_eq!(lookup::conversation(storage, made.id).await, Some(made));
}

/// Messages and turns continue the numbering of their conversation.
pub async fn turns_and_messages_continue_the_numbering(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::record_turn(storage, turn).await;
    let begin = fixture::begin_turn(2, &agent, fixture::existing(&conversation, 1));
    let started = setup::start_turn(storage, &begin).await;
    assert_eq!(
        (started.messages.message.seq, started.messages.turn_number),
        (3, 1)
    );
}

/// Behind a running turn, a turn is queued: `turn.queued`, no message, no agent version.
pub async fn a_turn_is_queued_behind_a_running_turn(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let running = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &running).await;
    let waiting = fixture::begin_turn(2, &agent, fixture::existing(&conversation, 1));
    let committed = setup::queue_turn(storage, &waiting).await;
    assert_eq!(
        log::types_of(storage, committed).await,
        [EventType::TurnQueued]
    );
    let turn = lookup::turn(storage, waiting.turn_id).await;
    let turn = turn.expect("the turn exists");
    assert_eq!(turn.status, TurnStatus::Queued);
    assert_eq!((turn.agent_version, turn.started_at), (None, None));
    assert_eq!(
        (turn.input, turn.created_at),
        (waiting.input, fixture::at(2))
    );
    let head = lookup::state(storage, conversation.id).await;
    assert_eq!((head.last_message_seq, head.turn_count), (1, 1));
    assert_eq!(head.running_turn, Some(running.turn_id));
    assert_eq!(lookup::messages(storage, conversation.id).await.len(), 1);
}

/// A turn with `OnBusy::Reject` is rejected while another turn is running or queued.
pub async fn a_turn_that_must_not_queue_is_rejected(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let running = rejecting(fixture::begin_turn(
        1,
        &agent,
        fixture::existing(&conversation, 0),
    ));
    setup::start_turn(storage, &running).await;
    let target = fixture::existing(&conversation, 1);
    setup::queue_turn(storage, &fixture::begin_turn(2, &agent, target.clone())).await;
    let impatient = with_key(rejecting(fixture::begin_turn(3, &agent, target)));
    for nothing_runs in [false, true] {
        if nothing_runs {
            setup::cancel_turn(storage, &running, None).await;
        }
        let before = Snapshot::take(storage, &impatient).await;
        assert_eq!(outcome(storage, &impatient).await, BeginOutcome::Busy);
        before.assert_no_trace_of(storage, &impatient).await;
    }
}

/// 16 turns can be queued; the next is rejected until one of them has ended.
pub async fn sixteen_turns_can_be_queued(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = |number, count| {
        fixture::begin_turn(number, &agent, fixture::existing(&conversation, count))
    };
    setup::start_turn(storage, &begin(1, 0)).await;
    for number in 2..=17 {
        setup::queue_turn(storage, &begin(number, 1)).await;
    }
    let one_too_many = with_key(begin(18, 1));
    let before = Snapshot::take(storage, &one_too_many).await;
    assert_eq!(outcome(storage, &one_too_many).await, BeginOutcome::Busy);
    before.assert_no_trace_of(storage, &one_too_many).await;
    setup::cancel_turn(storage, &begin(9, 1), None).await;
    setup::queue_turn(storage, &one_too_many).await;
}

/// A new turn never overtakes a queued one, even if no turn is running.
pub async fn a_turn_does_not_overtake_queued_turns(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let running = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &running).await;
    let target = fixture::existing(&conversation, 1);
    setup::queue_turn(storage, &fixture::begin_turn(2, &agent, target.clone())).await;
    setup::cancel_turn(storage, &running, None).await;
    setup::queue_turn(storage, &fixture::begin_turn(3, &agent, target)).await;
    assert_eq!(
        lookup::state(storage, conversation.id).await.running_turn,
        None
    );
}

/// The entry is written with the turn and names it, both for started and for queued turns.
pub async fn the_idempotency_entry_is_stored_with_the_turn(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    for (number, key) in [(1, "starts"), (2, "waits")] {
        let entry = fixture::entry(key);
        let begin = BeginTurn {
            idempotency: Some(entry.clone()),
            ..fixture::begin_turn(number, &agent, fixture::existing(&conversation, 0))
        };
        outcome(storage, &begin).await;
        let record = lookup::record(storage, &entry).await;
        let record = record.expect("the entry is stored");
        assert_eq!(record.turn_id, Some(begin.turn_id), "{key}");
        assert_eq!(record.fingerprint, entry.fingerprint);
    }
}
