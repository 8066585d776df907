//! Turns that supersede the newest messages of their conversation.

use domain::{Agent, Conversation, EventData, EventType, TurnStatus};
use writes::{BeginOutcome, BeginTurn, CompletedTurn, RecordTurnOutcome, TurnMessages};

use crate::{
    Store, fixture, log, lookup,
    results::{ResultExt as _, assert_stale},
    setup,
    setup::Started,
    snapshot::Snapshot,
};

/// The two ways in which a turn starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// `begin_turn`.
    Begun,
    /// `record_completed_turn`.
    Recorded,
}

const BOTH: [Start; 2] = [Start::Begun, Start::Recorded];

/// Conversation 2 or 3 of agent 1 with three completed turns: messages 1 to 6.
async fn conversation_with_turns(storage: &Store, agent: &Agent, start: Start) -> Conversation {
    let number = 2 + start as u32;
    let conversation = setup::conversation(storage, number, agent).await;
    for turn in 0..3 {
        let target = fixture::existing(&conversation, i64::from(turn));
        let turn = fixture::completed_turn(10 * number + turn, agent, target);
        setup::record_turn(storage, turn).await;
    }
    conversation
}

/// Starts a turn, or records it with reply 900.
async fn start(storage: &Store, begin: &BeginTurn, start: Start) -> Started {
    if start == Start::Begun {
        return setup::start_turn(storage, begin).await;
    }
    let turn = CompletedTurn {
        begin: begin.clone(),
        reply: fixture::reply(900),
        finished_at: begin.stamp.time,
    };
    match storage.turns.record_completed_turn(turn).await.success() {
        RecordTurnOutcome::Recorded {
            committed,
            messages,
        } => Started {
            committed,
            messages,
        },
        other => panic!("not recorded: {other:?}"),
    }
}

/// An edit: the messages from a position on are superseded, and the turn's message follows them.
pub async fn a_turn_supersedes_messages_from_a_position(storage: &Store) {
    let (agent, _) = setup::chat(storage).await;
    for how in BOTH {
        let conversation = conversation_with_turns(storage, &agent, how).await;
        let begin = fixture::begin_turn(100, &agent, fixture::existing(&conversation, 3));
        let begin = BeginTurn {
            turn_id: fixture::turn_id(100 + how as u32),
            ..fixture::superseding(begin, 3, 2)
        };
        let TurnMessages {
            message,
            reply_seq,
            turn_number,
            retry_of,
            are_for_staff: _,
        } = start(storage, &begin, how).await.messages;
        assert_eq!((message.id, message.seq), (begin.message_id, 7));
        assert_eq!((reply_seq, turn_number, retry_of), (8, 3, None));
        if how == Start::Begun {
            assert_eq!(
                lookup::message_seqs(storage, conversation.id).await,
                [1, 2, 7]
            );
            setup::complete_turn(storage, &begin, 900).await;
        }
        let messages = lookup::all_messages(storage, conversation.id).await;
        let superseded = messages
            .iter()
            .map(|message| message.superseded_at.is_some());
        let expected = [false, false, true, true, true, true, false, false];
        assert_eq!(superseded.collect::<Vec<_>>(), expected);
        assert_eq!(messages[2].superseded_at, Some(begin.stamp.time));
        let context = lookup::state(storage, conversation.id).await;
        assert_eq!((context.last_message_seq, context.turn_count), (8, 4));
    }
}

/// `messages.superseded` precedes `turn.started`, with the range of the messages and the turn.
pub async fn a_supersession_writes_messages_superseded_first(storage: &Store) {
    let (agent, _) = setup::chat(storage).await;
    for how in BOTH {
        let conversation = conversation_with_turns(storage, &agent, how).await;
        let begin = fixture::begin_turn(100, &agent, fixture::existing(&conversation, 3));
        let begin = BeginTurn {
            turn_id: fixture::turn_id(100 + how as u32),
            ..fixture::superseding(begin, 5, 4)
        };
        let committed = start(storage, &begin, how).await.committed;
        let events = log::events_of(storage, committed).await;
        let types: Vec<_> = events.iter().map(|event| event.kind).collect();
        let expected = [
            EventType::MessagesSuperseded,
            EventType::TurnStarted,
            EventType::TurnCompleted,
        ];
        let count = if how == Start::Begun { 2 } else { 3 };
        assert_eq!(types, expected[..count]);
        let expected = EventData::MessagesSuperseded {
            from_seq: 5,
            to_seq: 6,
            turn_id: begin.turn_id,
        };
        assert_eq!(events[0].data, expected);
        assert_eq!(events[0].turn_id, Some(begin.turn_id));
        assert_eq!(events[0].conversation_id, Some(conversation.id));
        assert_eq!(events[0].agent_id, Some(agent.id));
        assert_eq!(events[0].user_id, conversation.user_id);
        assert_eq!(events[0].actor, begin.stamp.actor);
    }
}

/// The conversation counts the kept and the new messages; its excerpt is that of the newest one.
pub async fn a_supersession_sets_the_message_count(storage: &Store) {
    let (agent, conversation) = setup::chat_with_turns(storage, 3).await;
    let read = async || {
        let stored = lookup::conversation(storage, conversation.id).await;
        let stored = stored.expect("the conversation exists");
        (stored.message_count, stored.excerpt.unwrap_or_default())
    };
    let begin = fixture::begin_turn(100, &agent, fixture::existing(&conversation, 3));
    let edit = fixture::superseding(begin, 3, 2);
    setup::start_turn(storage, &edit).await;
    assert_eq!(read().await, (3, edit.input.clone()));
    setup::complete_turn(storage, &edit, 100).await;
    assert_eq!(read().await, (4, fixture::reply(100).content));
    let begin = fixture::begin_turn(200, &agent, fixture::existing(&conversation, 4));
    let from_the_start = fixture::superseding(begin, 1, 0);
    start(storage, &from_the_start, Start::Recorded).await;
    assert_eq!(read().await, (2, fixture::reply(900).content));
    assert_eq!(
        lookup::message_seqs(storage, conversation.id).await,
        [9, 10]
    );
    let turn = fixture::completed_turn(300, &agent, fixture::existing(&conversation, 5));
    setup::record_turn(storage, turn).await;
    assert_eq!(read().await.0, 4);
}

/// A message keeps the time at which it was superseded first.
pub async fn a_message_is_superseded_once(storage: &Store) {
    let (agent, conversation) = setup::chat_with_turns(storage, 2).await;
    for (number, from_seq, kept, turn_count) in [(100, 3, 2, 2), (200, 1, 0, 3)] {
        let begin =
            fixture::begin_turn(number, &agent, fixture::existing(&conversation, turn_count));
        let begin = fixture::superseding(begin, from_seq, kept);
        setup::start_turn(storage, &begin).await;
        setup::complete_turn(storage, &begin, number).await;
    }
    let messages = lookup::all_messages(storage, conversation.id).await;
    let times: Vec<_> = messages
        .iter()
        .map(|message| message.superseded_at)
        .collect();
    let (first, second) = (Some(fixture::at(100)), Some(fixture::at(200)));
    let expected = [second, second, first, first, second, second, None, None];
    assert_eq!(times, expected);
}

/// A regeneration stores no message: it answers a stored one, which then belongs to its turn.
pub async fn a_turn_can_answer_a_stored_message_again(storage: &Store) {
    let (agent, _) = setup::chat(storage).await;
    for how in BOTH {
        let conversation = conversation_with_turns(storage, &agent, how).await;
        let question = lookup::messages(storage, conversation.id).await.remove(2);
        let begin = fixture::begin_turn(100, &agent, fixture::existing(&conversation, 3));
        let begin = BeginTurn {
            turn_id: fixture::turn_id(100 + how as u32),
            ..fixture::answering_again(begin, &question, 3)
        };
        let Started {
            committed,
            messages,
        } = start(storage, &begin, how).await;
        assert_eq!(
            (messages.message.id, messages.message.seq),
            (question.id, 3)
        );
        assert_eq!((messages.reply_seq, messages.retry_of), (7, None));
        match &log::events_of(storage, committed).await[1].data {
            EventData::Turn { turn, message, .. } => {
                assert_eq!((turn.id, message), (begin.turn_id, &None));
            }
            other => panic!("not a turn: {other:?}"),
        }
        let found = lookup::turn_with_owner(storage, begin.turn_id).await;
        assert_eq!(found.map(|found| found.message_id), Some(question.id));
        if how == Start::Begun {
            let stored = lookup::conversation(storage, conversation.id).await;
            let stored = stored.expect("the conversation exists");
            assert_eq!(
                (stored.message_count, stored.excerpt),
                (3, Some(begin.input.clone()))
            );
            setup::complete_turn(storage, &begin, 900).await;
        }
        let messages = lookup::messages(storage, conversation.id).await;
        let seqs: Vec<_> = messages.iter().map(|message| message.seq).collect();
        assert_eq!(seqs, [1, 2, 3, 7]);
        assert_eq!(messages[2].turn_id, Some(begin.turn_id));
        assert_eq!(messages[2].turn_status, Some(TurnStatus::Completed));
        assert_eq!(messages[2].created_at, question.created_at);
        assert_eq!(messages[3].turn_id, Some(begin.turn_id));
        let superseded = question.turn_id.expect("a turn");
        let superseded = lookup::turn(storage, superseded)
            .await
            .expect("the turn is kept");
        assert_eq!(superseded.reply.map(|reply| reply.seq), Some(4));
    }
}

/// While a turn runs or waits, a supersession is `Busy`, and nothing is written.
pub async fn a_supersession_beside_an_open_turn_is_busy(storage: &Store) {
    let (agent, conversation) = setup::chat_with_turns(storage, 1).await;
    let running = fixture::begin_turn(2, &agent, fixture::existing(&conversation, 1));
    setup::start_turn(storage, &running).await;
    let target = fixture::existing(&conversation, 2);
    setup::queue_turn(storage, &fixture::begin_turn(3, &agent, target.clone())).await;
    let begin = BeginTurn {
        idempotency: Some(fixture::entry("k")),
        ..fixture::superseding(fixture::begin_turn(4, &agent, target), 1, 0)
    };
    for is_running in [true, false] {
        if !is_running {
            setup::cancel_turn(storage, &running, None).await;
        }
        let before = Snapshot::take(storage, &begin).await;
        let outcome = storage.turns.begin_turn(begin.clone()).await.success();
        assert_eq!(outcome, BeginOutcome::Busy);
        let turn = CompletedTurn {
            begin: begin.clone(),
            ..fixture::completed_turn(4, &agent, begin.target.clone())
        };
        let outcome = storage.turns.record_completed_turn(turn).await.success();
        assert_eq!(outcome, RecordTurnOutcome::Busy);
        before.assert_no_trace_of(storage, &begin).await;
    }
}

/// A turn that has started since makes a supersession `Stale`: the messages are not the newest ones.
pub async fn a_supersession_with_another_turn_count_is_stale(storage: &Store) {
    let (agent, conversation) = setup::chat_with_turns(storage, 2).await;
    let begin = fixture::begin_turn(3, &agent, fixture::existing(&conversation, 1));
    let begin = fixture::superseding(begin, 1, 0);
    let before = Snapshot::take(storage, &begin).await;
    assert_stale(&storage.turns.begin_turn(begin.clone()).await);
    let turn = CompletedTurn {
        begin: begin.clone(),
        ..fixture::completed_turn(3, &agent, begin.target.clone())
    };
    assert_stale(&storage.turns.record_completed_turn(turn).await);
    before.assert_no_trace_of(storage, &begin).await;
}

/// A failure of the turn restores no message.
pub async fn a_failed_turn_restores_no_superseded_message(storage: &Store) {
    let (agent, conversation) = setup::chat_with_turns(storage, 2).await;
    let begin = fixture::begin_turn(3, &agent, fixture::existing(&conversation, 2));
    let begin = fixture::superseding(begin, 3, 2);
    setup::start_turn(storage, &begin).await;
    setup::fail_turn(storage, &begin).await;
    assert_eq!(
        lookup::message_seqs(storage, conversation.id).await,
        [1, 2, 5]
    );
    let stored = lookup::conversation(storage, conversation.id).await;
    assert_eq!(stored.map(|stored| stored.message_count), Some(3));
}
