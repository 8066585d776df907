//! Tests of commits with known facts.

use ports::TurnEnding;

use super::{
    writing::{Writing, delete_conversation, revoke_key},
    *,
};
use crate::{CreateCredential, InTenant};

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
    let op = writing.update_agent();
    assert!(writing.group.submit(op).await.unwrap().is_applied());
    assert_eq!(writing.counts(), (0, 1, 0));
    writing.started(1).await;
    assert_eq!(writing.counts(), (0, 2, 0));
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
    let failure = BatchError::Unknown { heads, source };
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
    type Change = fn(&mut Writing, u32) -> WriteOp;
    let changes: [Change; 7] = [
        |writing, _| writing.create_agent(),
        |writing, _| writing.update_agent(),
        |writing, _| writing.create_conversation(),
        |writing, _| writing.update_conversation(2).unwrap(),
        |_, round| delete_conversation(round),
        |writing, _| writing.create_key(),
        |_, round| revoke_key(round),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut writing = Writing::start();
        for conversation in 1..=2 {
            let begin = writing.started(conversation).await;
            writing.finished(&begin).await;
        }
        for key in 1..=2 {
            let op = WriteOp::CreateCredential(Box::new(CreateCredential {
                credential: fixture::key(key),
                idempotency: None,
            }));
            writing.group.submit(op).await.unwrap();
        }
        assert_eq!(writing.counts(), (1, 5, 0), "{number}");
        writing.raise_head();
        let op = change(&mut writing, 1);
        assert!(writing.group.submit(op).await.unwrap().is_applied());
        assert_eq!(writing.counts(), (2, 5, 1), "{number}");
        // The facts of conversation 2 were outdated, too.
        writing.started(2).await;
        writing.finished(&writing.running(2).unwrap()).await;
        let (read, known, _) = writing.counts();
        let op = change(&mut writing, 2);
        assert!(writing.group.submit(op).await.unwrap().is_applied());
        assert_eq!(writing.counts(), (read, known + 1, 1), "{number}");
    }
}

#[tokio::test]
async fn a_revoked_key_is_read_before_it_is_revoked_again() {
    let mut writing = Writing::start();
    let begin = writing.started(1).await;
    writing.finished(&begin).await;
    let create = WriteOp::CreateCredential(Box::new(CreateCredential {
        credential: fixture::key(1),
        idempotency: None,
    }));
    writing.group.submit(create).await.unwrap();
    for _ in 0..2 {
        let outcome = writing.group.submit(revoke_key(1)).await.unwrap();
        assert_eq!(outcome, WriteOutcome::RevokeCredential(true));
    }
    let outcome = writing.group.submit(revoke_key(404)).await.unwrap();
    assert_eq!(outcome, WriteOutcome::RevokeCredential(false));
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
    let ops = [
        |writing: &mut Writing| WriteOp::Begin(Box::new(writing.begin(2))),
        |writing: &mut Writing| writing.fork(1, 1),
        |writing: &mut Writing| writing.superseding(1, 0),
    ];
    for (number, op) in (2..).zip(ops) {
        let op = op(&mut writing);
        assert!(writing.group.submit(op).await.unwrap().is_applied());
        assert_eq!(writing.counts(), (1, number, 0));
    }
    // The newest message that is not superseded must be read.
    let op = writing.superseding(1, 0);
    assert!(writing.group.submit(op).await.unwrap().is_applied());
    assert_eq!(writing.counts(), (2, 4, 0));
}

/// The model compares known facts with its own at every commit.
#[tokio::test]
async fn known_facts_are_those_of_the_store_after_any_sequence_of_writes() {
    for seed in 0..40_u64 {
        let mut writing = Writing::start();
        writing.model.0.lock().reads_ahead = seed % 2 == 0;
        let mut state = seed * 7_919 + 1;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let conversation = [1, 2, 3, 1_001][usize::try_from(random(4)).unwrap()];
            let choice = usize::try_from(random(12)).unwrap();
            let op = match (random(18), writing.running(conversation)) {
                (0, _) => {
                    writing.raise_head();
                    continue;
                }
                (1, _) => {
                    writing.raise_head();
                    writing.agent.version += 1;
                    let key: InTenant<_> = (fixture::tenant(), writing.agent.id);
                    let version = writing.agent.version;
                    writing.model.0.lock().agents.insert(key, version);
                    continue;
                }
                (2..=4, Some(running)) => {
                    writing.last_number += 1;
                    let ending = match random(3) {
                        0 => TurnEnding::Failed {
                            problem: fixture::retryable_problem(),
                            tool_calls: Vec::new(),
                        },
                        _ => TurnEnding::Completed(fixture::reply(writing.last_number)),
                    };
                    WriteOp::Finish(Box::new(fixture::finish(&running, ending)))
                }
                (5, _) => {
                    let begin = writing.begin(conversation);
                    writing.completed(begin)
                }
                (14..=16, _) => writing.superseding(conversation, choice),
                (17, _) => writing.fork(conversation, choice),
                (8..=13, _) => writing.change(random(6), conversation, random(40)),
                _ => WriteOp::Begin(Box::new(writing.begin(conversation))),
            };
            let is_stale = writing.uses_used_name(&op);
            match writing.group.submit(op).await {
                Err(RepositoryError::Stale { .. }) if is_stale => {}
                outcome => drop(outcome.unwrap()),
            }
        }
        let (read, known, _) = writing.counts();
        assert!(known > 0 && read > 0, "{read} {known}");
    }
}
