//! Turns and messages that are written at the same time: each has its own values afterwards.

use domain::{Conversation, ToolCall, TurnStatus, Usage, conversation::excerpt};
use writes::{BeginTurn, Reply, TurnEnding};

use crate::{
    Store, fixture,
    forks::fork,
    group_values::{ROWS, at_once},
    lookup,
    results::ResultExt as _,
    setup,
};

/// Stores conversations 1 to [`ROWS`], each with an agent of the same number.
async fn conversations(storage: &Store) {
    setup::node(storage, 1).await;
    for number in 1..=ROWS {
        let agent = setup::agent(storage, number).await;
        setup::conversation(storage, number, &agent).await;
    }
}

fn conversation(number: u32) -> Conversation {
    fixture::conversation(number, fixture::agent_id(number))
}

/// A turn of conversation `number` with a key of its own, after `turn_count` other turns.
fn begin(turn: u32, number: u32, turn_count: i64) -> BeginTurn {
    let target = fixture::existing(&conversation(number), turn_count);
    BeginTurn {
        metadata: [("turn".to_owned(), turn.to_string())].into(),
        client_message_id: Some(format!("message-{turn}")),
        idempotency: Some(fixture::entry(&format!("key-{turn}"))),
        ..fixture::begin_turn(turn, &fixture::agent(number), target)
    }
}

fn reply(number: u32) -> Reply {
    Reply {
        degraded: number.is_multiple_of(2),
        usage: Some(Usage {
            input_tokens: i64::from(number),
            output_tokens: i64::from(100 + number),
            ..Usage::default()
        }),
        tool_calls: vec![ToolCall {
            id: format!("call-{number}"),
            ..fixture::tool_call()
        }],
        ..fixture::reply(number)
    }
}

async fn end(storage: &Store, begin: &BeginTurn, number: u32) {
    match number % 3 {
        0 => {
            let ending = TurnEnding::Completed(reply(number));
            setup::finish_turn(storage, fixture::finish(begin, ending)).await;
        }
        1 => setup::fail_turn(storage, begin).await,
        _ => {
            setup::cancel_turn(storage, begin, Some(fixture::node_id(1))).await;
        }
    }
}

async fn assert_ended(storage: &Store, begin: &BeginTurn, number: u32) {
    let found = lookup::turn(storage, begin.turn_id).await;
    let found = found.expect("the turn exists");
    let status = [
        TurnStatus::Completed,
        TurnStatus::Failed,
        TurnStatus::Cancelled,
    ];
    assert_eq!(found.status, status[number as usize % 3]);
    assert_eq!(found.conversation_id, begin.target.id());
    assert_eq!(
        (found.agent_id, &found.input),
        (begin.agent_id, &begin.input)
    );
    assert_eq!(
        (&found.metadata, &found.client_message_id),
        (&begin.metadata, &begin.client_message_id)
    );
    assert_eq!(found.created_at, begin.stamp.time);
    if found.status == TurnStatus::Failed {
        assert_eq!(found.error, Some(fixture::retryable_problem()));
        return;
    }
    let entry = begin.idempotency.as_ref().expect("the turn has a key");
    let record = lookup::record(storage, entry).await;
    let holder = record.and_then(|record| record.turn_id);
    assert_eq!(holder, Some(begin.turn_id));
    if found.status == TurnStatus::Completed {
        let expected = reply(number);
        let stored = found.reply.expect("a completed turn has a reply");
        assert_eq!(
            (stored.id, stored.content),
            (expected.message_id, expected.content)
        );
        assert_eq!(
            (found.usage, found.tool_calls),
            (expected.usage, expected.tool_calls)
        );
        assert_eq!((found.degraded, found.error), (expected.degraded, None));
    }
}

/// A turn begins in each conversation and another one is queued, which starts when the first ends
/// with a reply, a failure or a cancellation.
pub async fn turns_of_a_group_keep_their_own_values(storage: &Store) {
    conversations(storage).await;
    at_once(storage, |storage, number| async move {
        setup::start_turn(&storage, &begin(number, number, 0)).await;
    })
    .await;
    at_once(storage, |storage, number| async move {
        setup::queue_turn(&storage, &begin(number + 100, number, 1)).await;
    })
    .await;
    at_once(storage, |storage, number| async move {
        end(&storage, &begin(number, number, 0), number).await;
    })
    .await;
    for number in 1..=ROWS {
        let (first, second) = (begin(number, number, 0), begin(number + 100, number, 1));
        assert_ended(storage, &first, number).await;
        let running = lookup::turn(storage, second.turn_id).await;
        let running = running.expect("the turn exists");
        assert_eq!(running.status, TurnStatus::InProgress);
        let messages = lookup::messages(storage, conversation(number).id).await;
        let stored = messages.iter().map(|it| (it.turn_id, it.content.as_str()));
        let replied = format!("Reply {number}");
        let mut expected = vec![(Some(first.turn_id), first.input.as_str())];
        if number % 3 == 0 {
            expected.push((Some(first.turn_id), &replied));
        }
        expected.push((Some(second.turn_id), &second.input));
        assert_eq!(stored.collect::<Vec<_>>(), expected);
        let stored = lookup::conversation(storage, conversation(number).id).await;
        let stored = stored.expect("the conversation exists");
        assert_eq!(stored.excerpt, Some(excerpt(&second.input, &second.files)));
        assert_eq!(stored.message_count, if number % 3 == 0 { 3 } else { 2 });
    }
}

/// Failed turns are repeated with their keys: each answers the message of its own conversation.
pub async fn retries_of_a_group_answer_their_own_messages(storage: &Store) {
    conversations(storage).await;
    at_once(storage, |storage, number| async move {
        let failed = begin(number, number, 0);
        setup::start_turn(&storage, &failed).await;
        setup::fail_turn(&storage, &failed).await;
    })
    .await;
    let retry = |number| BeginTurn {
        turn_id: fixture::turn_id(number + 100),
        ..begin(number, number, 1)
    };
    at_once(storage, |storage, number| async move {
        setup::start_turn(&storage, &retry(number)).await;
    })
    .await;
    for number in 1..=ROWS {
        let found = lookup::turn(storage, retry(number).turn_id).await;
        let retry_of = found.and_then(|found| found.retry_of);
        assert_eq!(retry_of, Some(fixture::turn_id(number)));
        let messages = lookup::messages(storage, conversation(number).id).await;
        let stored = messages.iter().map(|it| (it.turn_id, it.content.clone()));
        let expected = (Some(retry(number).turn_id), format!("Question {number}"));
        assert_eq!(stored.collect::<Vec<_>>(), [expected]);
    }
}

/// The number of turns of conversation `number`: two or three.
fn turn_count(number: u32) -> i64 {
    i64::from(2 + number % 3 / 2)
}

/// The position of the message before the last turn of conversation `number`.
fn last_kept(number: u32) -> i64 {
    2 * (turn_count(number) - 1)
}

/// Messages are superseded from different positions on, or copied to a new conversation up to
/// different positions.
pub async fn messages_of_a_group_are_superseded_or_copied_in_their_own_conversation(
    storage: &Store,
) {
    conversations(storage).await;
    for number in 1..=ROWS {
        let agent = fixture::agent(number);
        for (turn, before) in (10 * number..).zip(0..turn_count(number)) {
            let target = fixture::existing(&conversation(number), before);
            setup::record_turn(storage, fixture::completed_turn(turn, &agent, target)).await;
        }
    }
    at_once(storage, |storage, number| async move {
        let original = conversation(number);
        if number % 2 == 0 {
            let messages = lookup::messages(&storage, original.id).await;
            let kept = usize::try_from(last_kept(number)).expect("few messages");
            let turn_count = turn_count(number);
            let (_, forked) = fork(
                &storage,
                number + 100,
                &original,
                &messages[..kept],
                turn_count,
            )
            .await;
            forked.success();
        } else {
            let edit = begin(1_000 + number, number, turn_count(number));
            let edit = fixture::superseding(edit, last_kept(number) + 1, last_kept(number));
            setup::start_turn(&storage, &edit).await;
        }
    })
    .await;
    for number in 1..=ROWS {
        if number % 2 == 0 {
            assert_copied(storage, number).await;
        } else {
            assert_superseded(storage, number).await;
        }
    }
}

/// Asserts that conversation `number` is unchanged, and that its fork has the kept messages.
async fn assert_copied(storage: &Store, number: u32) {
    let messages = lookup::all_messages(storage, conversation(number).id).await;
    assert!(messages.iter().all(|it| it.superseded_at.is_none()));
    let copies = lookup::messages(storage, fixture::conversation_id(number + 100)).await;
    assert_eq!(i64::try_from(copies.len()).ok(), Some(last_kept(number)));
    for (copy, message) in copies.iter().zip(&messages) {
        assert_eq!((copy.id, &copy.content), (message.id, &message.content));
    }
}

/// Asserts that the messages of the last turn were superseded at the time of the edit.
async fn assert_superseded(storage: &Store, number: u32) {
    let messages = lookup::all_messages(storage, conversation(number).id).await;
    let superseded = messages.iter().filter(|it| it.superseded_at.is_some());
    let superseded: Vec<_> = superseded.map(|it| (it.seq, it.superseded_at)).collect();
    let (last, at) = (last_kept(number), fixture::at(i64::from(1_000 + number)));
    assert_eq!(superseded, [(last + 1, Some(at)), (last + 2, Some(at))]);
}
