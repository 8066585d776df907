//! Concurrent creations, updates and deletions of the same resources.

use domain::Seq;
use ports::FirstMessages;
use tokio::task::JoinSet;
use writes::{ConversationTarget, RecordTurnOutcome};

use super::concurrency::MANY;
use crate::{
    Store, fixture, log,
    results::{IdempotentExt as _, ResultExt as _},
    setup,
};

/// Of several updates of the same version, one is applied; the others are `Stale`.
pub async fn one_of_many_updates_of_one_version_is_applied(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let mut writers = JoinSet::new();
    for writer in 0..16 {
        let storage = storage.clone();
        let next = fixture::renamed(&agent, &format!("Name {writer}"));
        writers.spawn(async move {
            let (tenant, stamp) = (fixture::tenant(), fixture::stamp(9));
            let result = storage.agents.update(&tenant, &next, &stamp).await;
            match result {
                Ok(updated) => updated.map(|_| next),
                Err(ports::RepositoryError::Stale { .. }) => None,
                Err(error) => panic!("neither applied nor stale: {error:?}"),
            }
        });
    }
    let winners: Vec<_> = writers.join_all().await.into_iter().flatten().collect();
    assert_eq!(winners.len(), 1);
    let present = crate::lookup::agent(storage, agent.id).await;
    assert_eq!(present.as_ref(), winners.first());
    assert_eq!(log::head(storage, &fixture::tenant()).await, Seq(2));
}

/// Of several creations with the same key, one is applied; the others are replayed.
pub async fn one_of_many_creations_with_one_key_is_applied(storage: &Store) {
    let mut writers = JoinSet::new();
    for number in 1..=20 {
        let storage = storage.clone();
        writers.spawn(async move {
            let (tenant, stamp, entry) =
                (fixture::tenant(), fixture::stamp(0), fixture::entry("k"));
            let agent = fixture::agent(number);
            let result = storage.agents.insert(&tenant, &agent, &stamp, Some(&entry));
            matches!(result.await.success(), ports::Idempotent::Applied(_))
        });
    }
    let done = writers.join_all().await.into_iter().filter(|done| *done);
    assert_eq!(done.count(), 1);
    assert_eq!(log::head(storage, &fixture::tenant()).await, Seq(1));
}

/// Of several new conversations with the same key, one is created; the others are replayed.
pub async fn one_of_many_conversations_with_one_key_is_created(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let mut writers = JoinSet::new();
    for number in 1..=20 {
        let (storage, conversation) = (storage.clone(), fixture::conversation(number, agent.id));
        writers.spawn(async move {
            let (tenant, stamp, entry) =
                (fixture::tenant(), fixture::stamp(0), fixture::entry("k"));
            let conversations = &storage.conversations;
            let result = conversations.insert(
                &tenant,
                &conversation,
                &FirstMessages::None,
                &stamp,
                Some(&entry),
            );
            matches!(result.await.success(), ports::Idempotent::Applied(Some(_)))
        });
    }
    let done = writers.join_all().await.into_iter().filter(|done| *done);
    assert_eq!(done.count(), 1);
    assert_eq!(log::head(storage, &fixture::tenant()).await, Seq(2));
}

/// During a concurrent deletion, turns are recorded before the deletion in the log, and none after
/// it.
pub async fn no_turn_is_recorded_after_a_deletion(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let mut writers = JoinSet::new();
    for number in 1..=32 {
        let (storage, agent) = (storage.clone(), agent.clone());
        writers.spawn(async move {
            let target = ConversationTarget::New(fixture::conversation(number, agent.id));
            let turn = fixture::completed_turn(number, &agent, target);
            storage.turns.record_completed_turn(turn).await.success()
        });
    }
    let deletion = setup::delete_agent(storage, &agent).await;
    for outcome in writers.join_all().await {
        match outcome {
            RecordTurnOutcome::Recorded { committed, .. } => {
                assert!(committed.last < deletion.first);
            }
            other => assert_eq!(other, RecordTurnOutcome::AgentNotFound),
        }
    }
    assert_eq!(log::head(storage, &fixture::tenant()).await, deletion.last);
}

/// Conversations and agents can be created at the same time without blocking each other.
pub async fn many_conversations_can_be_created_at_once(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let mut writers = JoinSet::new();
    for number in 1..=MANY {
        let (storage, conversation) = (storage.clone(), fixture::conversation(number, agent.id));
        writers.spawn(async move {
            let (tenant, stamp) = (fixture::tenant(), fixture::stamp(0));
            let conversations = &storage.conversations;
            let result =
                conversations.insert(&tenant, &conversation, &FirstMessages::None, &stamp, None);
            result.await.applied().expect("the agent exists").first
        });
    }
    let mut positions = writers.join_all().await;
    positions.sort();
    let expected: Vec<_> = (2..).map(Seq).take(MANY as usize).collect();
    assert_eq!(positions, expected);
}
