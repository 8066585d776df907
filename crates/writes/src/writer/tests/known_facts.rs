//! Tests of commits with known facts.

use super::{
    any_command::AnyCommand,
    changes::{cancel, delete_conversation, fail_queued, revoke_key},
    writing::Writing,
    *,
};
use crate::{BeginOutcome, CancelOutcome, commands::CreateCredential};

#[tokio::test]
async fn facts_are_read_for_the_first_write_alone() {
    let mut writing = Writing::start();
    for conversation in 1..=3 {
        let begin = writing.started(conversation).await;
        writing.finished(&begin).await;
    }
    let begin = writing.started(1).await;
    writing.finished(&begin).await;
    assert_eq!(writing.counts(), (1, 7, 0));
}

#[tokio::test]
async fn heads_and_agents_that_are_read_ahead_are_known_facts() {
    let mut writing = Writing::start();
    writing.model.0.lock().reads_ahead = true;
    let update = writing.update_agent();
    assert!(writing.write(update).await.unwrap().is_some());
    assert_eq!(writing.counts(), (0, 1, 0));
    writing.started(1).await;
    assert_eq!(writing.counts(), (0, 2, 0));
}

/// The next connection may lead to a server that lacks the last commits.
#[tokio::test]
async fn facts_are_forgotten_if_the_connection_is_lost_while_reading_ahead() {
    let mut writing = Writing::start();
    let begin = writing.started(1).await;
    {
        let mut tables = writing.model.0.lock();
        tables.reads_ahead = true;
        tables.failures.push(WriteError::Failed(unavailable("cut")));
    }
    let mut create = writing.create_conversation();
    create.conversation.agent_id = fixture::agent_id(404);
    let created = writing.write(create).await;
    assert!(created.unwrap_err().is_retryable());
    writing.model.0.lock().reads_ahead = false;
    writing.finished(&begin).await;
    assert_eq!(writing.counts(), (2, 0, 0));
}

#[tokio::test]
async fn facts_are_read_again_after_another_process_has_written() {
    let mut writing = Writing::start();
    let begin = writing.started(1).await;
    writing.raise_head();
    writing.finished(&begin).await;
    assert_eq!(writing.counts(), (2, 0, 1));
    writing.started(2).await;
    assert_eq!(writing.counts(), (2, 1, 1));
}

#[tokio::test]
async fn known_facts_are_rarely_tried_while_another_process_writes() {
    let mut writing = Writing::start();
    for conversation in 1..=100 {
        writing.started(conversation).await;
        writing.raise_head();
    }
    let (read, known, outdated) = writing.counts();
    assert_eq!((read, known), (100, 0));
    assert!(outdated <= 7, "{outdated}");
}

#[tokio::test(start_paused = true)]
async fn an_unconfirmed_commit_is_retried_with_read_facts() {
    let mut writing = Writing::start();
    let begin = writing.started(1).await;
    let heads = writing.model.0.lock().heads.clone();
    let source = unavailable("cut");
    let failure = WriteError::Unknown { heads, source };
    writing.model.0.lock().failures.push(failure);
    writing.finished(&begin).await;
    assert_eq!(writing.counts(), (2, 0, 0));
}

#[tokio::test]
async fn rejected_data_is_reported_by_the_write_with_read_facts() {
    let mut writing = Writing::start();
    let begin = writing.started(1).await;
    writing.model.0.lock().failures.push(corrupt().into());
    writing.finished(&begin).await;
    assert_eq!(writing.counts(), (2, 0, 0));
}

/// Each change, twice: after another process has written, and directly afterwards.
#[tokio::test]
async fn changes_use_known_facts_unless_another_process_has_written() {
    type Change = fn(&mut Writing, u32) -> AnyCommand;
    let changes: [Change; 7] = [
        |writing, _| AnyCommand::new(writing.create_agent()),
        |writing, _| AnyCommand::new(writing.update_agent()),
        |writing, _| AnyCommand::new(writing.create_conversation()),
        |writing, _| AnyCommand::new(writing.update_conversation(2).unwrap()),
        |_, round| AnyCommand::new(delete_conversation(round)),
        |writing, _| AnyCommand::new(writing.create_key()),
        |_, round| AnyCommand::new(revoke_key(round)),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut writing = Writing::start();
        for conversation in 1..=2 {
            let begin = writing.started(conversation).await;
            writing.finished(&begin).await;
        }
        for key in 1..=2 {
            let create = CreateCredential {
                credential: fixture::key(key),
                idempotency: None,
            };
            writing.write(create).await.unwrap();
        }
        assert_eq!(writing.counts(), (1, 5, 0), "{number}");
        writing.raise_head();
        let command = change(&mut writing, 1);
        assert!(writing.write(command).await.unwrap());
        assert_eq!(writing.counts(), (2, 5, 1), "{number}");
        // The facts of conversation 2 were outdated, too.
        writing.started(2).await;
        let running = writing.running(2).unwrap();
        writing.finished(&running).await;
        let (read, known, _) = writing.counts();
        let command = change(&mut writing, 2);
        assert!(writing.write(command).await.unwrap());
        assert_eq!(writing.counts(), (read, known + 1, 1), "{number}");
    }
}

#[tokio::test]
async fn a_revoked_key_is_read_before_it_is_revoked_again() {
    let mut writing = Writing::start();
    let begin = writing.started(1).await;
    writing.finished(&begin).await;
    let create = CreateCredential {
        credential: fixture::key(1),
        idempotency: None,
    };
    writing.write(create).await.unwrap();
    for _ in 0..2 {
        assert!(writing.write(revoke_key(1)).await.unwrap());
    }
    assert!(!writing.write(revoke_key(404)).await.unwrap());
    let (read, known, _) = writing.counts();
    assert_eq!((read, known), (3, 3));
}

/// Each write that needs more than the head, directly after another one.
#[tokio::test]
async fn names_supersessions_and_forks_use_known_facts() {
    let mut writing = Writing::start();
    let begin = writing.started(1).await;
    writing.finished(&begin).await;
    assert_eq!(writing.counts(), (1, 1, 0));
    let commands = [
        |writing: &mut Writing| AnyCommand::new(writing.begin(2)),
        |writing: &mut Writing| AnyCommand::new(writing.fork(1, 1)),
        |writing: &mut Writing| writing.superseding(1, 0),
    ];
    for (number, command) in (2..).zip(commands) {
        let command = command(&mut writing);
        assert!(writing.write(command).await.unwrap());
        assert_eq!(writing.counts(), (1, number, 0));
    }
    // The newest message that is not superseded must be read.
    let command = writing.superseding(1, 0);
    assert!(writing.write(command).await.unwrap());
    assert_eq!(writing.counts(), (2, 4, 0));
}

/// Turns that end from outside are known, too. The next of several queued turns is not, and neither is
/// the journal of a turn that runs.
#[tokio::test]
async fn failures_of_queued_turns_use_known_facts_and_cancellations_read_the_journal() {
    let mut writing = Writing::start();
    let node = Some(fixture::node_id(1));
    let running = writing.started(1).await.turn_id;
    let queued = writing.begin(1);
    assert!(matches!(
        writing.write(queued.clone()).await,
        Ok(BeginOutcome::Queued(_))
    ));
    assert_eq!(writing.counts(), (1, 1, 0));
    for (turn, next) in [(running, Some(queued.turn_id)), (queued.turn_id, None)] {
        let mut cancel = cancel(1, turn, node);
        cancel.partial = Some(fixture::reply(writing.last_number));
        let outcome = writing.write(cancel).await.unwrap();
        let CancelOutcome::Cancelled { promoted, .. } = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(promoted.map(|promoted| promoted.turn.id), next);
    }
    assert_eq!(writing.counts(), (3, 1, 0));
    writing.started(1).await;
    for _ in 0..2 {
        let begin = writing.begin(1);
        writing.write(begin).await.unwrap();
    }
    assert_eq!(writing.counts(), (3, 4, 0));
    for (turn, read) in writing.waiting(1).into_iter().zip([3, 4]) {
        let outcome = writing.write(fail_queued(1, turn)).await.unwrap();
        assert!(outcome.is_some());
        assert_eq!(writing.counts(), (read, 5, 0));
    }
    let running = writing.running(1).unwrap().turn_id;
    writing.write(cancel(1, running, None)).await.unwrap();
    assert_eq!(writing.counts(), (5, 5, 0));
}
