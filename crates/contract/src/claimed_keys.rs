//! Idempotency keys that are claimed by turns of which nothing else is stored.

use domain::{
    Fingerprint, IdempotencyEntry, IdempotencyRecord, NodeId, TurnId, idempotency::RETENTION,
};
use serde_json::json;
use tokio::task::JoinSet;
use writes::{BeginOutcome, BeginTurn, ClaimKey, ClaimOutcome};

use crate::{
    Store,
    dead_nodes::{mark_dead_nodes, sweeper, two_nodes},
    fixture, log, lookup,
    results::ResultExt as _,
    setup,
};

fn key() -> IdempotencyEntry {
    fixture::entry("k")
}

fn of_another_command() -> IdempotencyEntry {
    IdempotencyEntry {
        fingerprint: Fingerprint::of(&"another command"),
        ..key()
    }
}

fn answered(answer: &str) -> IdempotencyEntry {
    IdempotencyEntry {
        result: Some(json!({"answer": answer})),
        ..key()
    }
}

async fn claim(storage: &Store, entry: IdempotencyEntry, turn: u32, node: NodeId) -> ClaimOutcome {
    let claim = ClaimKey {
        tenant: fixture::tenant(),
        idempotency: entry,
        turn_id: fixture::turn_id(turn),
        node,
    };
    storage.writes.write(claim).await.success()
}

async fn settle(storage: &Store, entry: &IdempotencyEntry, turn: u32, is_released: bool) -> bool {
    let released_into = is_released.then(|| fixture::conversation_id(turn));
    let (tenant, turn) = (fixture::tenant(), fixture::turn_id(turn));
    let records = &storage.idempotency;
    let settled = records.settle(&tenant, entry, turn, released_into);
    settled.await.success()
}

async fn record(storage: &Store) -> Option<IdempotencyRecord> {
    lookup::record(storage, &key()).await
}

fn record_of(turn: TurnId) -> IdempotencyRecord {
    IdempotencyRecord {
        fingerprint: key().fingerprint,
        turn_id: Some(turn),
        released_into: None,
        released_by: None,
        result: None,
        created_at: key().created_at,
    }
}

/// A claim writes the record of its key, which names the turn, and no event. Every later use of the key gets
/// the record: other claims, whatever their command, and turns that are stored.
pub async fn a_claimed_key_is_used(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let node = setup::node(storage, 2).await;
    let head = log::head(storage, &fixture::tenant()).await;
    assert_eq!(claim(storage, key(), 1, node).await, ClaimOutcome::Claimed);
    let expected = record_of(fixture::turn_id(1));
    assert_eq!(record(storage).await.as_ref(), Some(&expected));
    for entry in [key(), of_another_command()] {
        let again = claim(storage, entry, 2, node).await;
        assert_eq!(again, ClaimOutcome::Replayed(expected.clone()));
    }
    let begin = BeginTurn {
        idempotency: Some(key()),
        ..fixture::begin_turn(7, &agent, fixture::existing(&conversation, 0))
    };
    let outcome = storage.turns.begin_turn(begin).await.success();
    assert_eq!(outcome, BeginOutcome::Replayed(expected));
    assert_eq!(log::head(storage, &fixture::tenant()).await, head);
}

/// Of many claims at the same time, one is applied; the others get its record.
pub async fn one_of_many_claims_of_one_key_is_applied(storage: &Store) {
    let node = setup::node(storage, 1).await;
    let mut claims = JoinSet::new();
    for turn in 1..=32 {
        let storage = storage.clone();
        claims.spawn(async move { (turn, claim(&storage, key(), turn, node).await) });
    }
    let outcomes = claims.join_all().await;
    let is_claimed = |(_, outcome): &&(u32, _)| *outcome == ClaimOutcome::Claimed;
    let claimed: Vec<_> = outcomes.iter().filter(is_claimed).collect();
    assert_eq!(claimed.len(), 1, "{outcomes:?}");
    let expected = record_of(fixture::turn_id(claimed[0].0));
    for (turn, outcome) in &outcomes {
        if *turn != claimed[0].0 {
            assert_eq!(*outcome, ClaimOutcome::Replayed(expected.clone()));
        }
    }
}

/// The answer of the turn is replayed until the key expires.
pub async fn the_answer_of_a_claimed_key_is_kept(storage: &Store) {
    let node = setup::node(storage, 1).await;
    claim(storage, key(), 1, node).await;
    assert!(settle(storage, &answered("first"), 1, false).await);
    let expected = IdempotencyRecord {
        result: answered("first").result,
        ..record_of(fixture::turn_id(1))
    };
    assert_eq!(record(storage).await.as_ref(), Some(&expected));
    let again = claim(storage, key(), 2, node).await;
    assert_eq!(again, ClaimOutcome::Replayed(expected));
    let late = IdempotencyEntry {
        created_at: key().created_at + RETENTION + std::time::Duration::from_millis(1),
        ..key()
    };
    assert_eq!(claim(storage, late, 3, node).await, ClaimOutcome::Claimed);
}

/// Only the turn that has claimed a key settles it.
pub async fn a_key_is_settled_only_by_its_turn(storage: &Store) {
    let node = setup::node(storage, 1).await;
    assert!(!settle(storage, &answered("none"), 1, false).await);
    assert_eq!(record(storage).await, None);
    claim(storage, key(), 1, node).await;
    for is_released in [false, true] {
        assert!(!settle(storage, &answered("other"), 2, is_released).await);
    }
    let elsewhere = fixture::tenant_named("other");
    let entry = answered("other");
    let settled = storage
        .idempotency
        .settle(&elsewhere, &entry, fixture::turn_id(1), None);
    assert!(!settled.await.success());
    assert_eq!(record(storage).await, Some(record_of(fixture::turn_id(1))));
}

/// A released key has the answer of the turn that has released it, until another turn claims it, of any
/// command. The first turn does not settle it again.
pub async fn a_released_claim_can_be_claimed_again(storage: &Store) {
    let node = setup::node(storage, 1).await;
    claim(storage, key(), 1, node).await;
    assert!(settle(storage, &answered("failed"), 1, true).await);
    let expected = IdempotencyRecord {
        turn_id: None,
        released_into: Some(fixture::conversation_id(1)),
        released_by: Some(fixture::turn_id(1)),
        result: answered("failed").result,
        ..record_of(fixture::turn_id(1))
    };
    assert_eq!(record(storage).await, Some(expected));
    let other = of_another_command();
    assert_eq!(
        claim(storage, other.clone(), 2, node).await,
        ClaimOutcome::Claimed
    );
    assert!(!settle(storage, &answered("late"), 1, false).await);
    let expected = IdempotencyRecord {
        fingerprint: other.fingerprint,
        ..record_of(fixture::turn_id(2))
    };
    assert_eq!(record(storage).await, Some(expected));
}

/// A process that is marked as dead, or unknown, claims no key; a used one is found nevertheless.
pub async fn a_claim_needs_a_live_node(storage: &Store) {
    two_nodes(storage).await;
    mark_dead_nodes(storage).await;
    for dead in [fixture::node_id(1), fixture::node_id(404)] {
        assert_eq!(claim(storage, key(), 1, dead).await, ClaimOutcome::NodeDead);
    }
    assert_eq!(record(storage).await, None);
    claim(storage, key(), 2, sweeper()).await;
    let found = claim(storage, key(), 1, fixture::node_id(1)).await;
    assert_eq!(
        found,
        ClaimOutcome::Replayed(record_of(fixture::turn_id(2)))
    );
}

/// The claims of processes that are marked as dead, or have been removed, are released. Their answers stay, and
/// so do the claims of other processes.
pub async fn claims_of_dead_nodes_are_released(storage: &Store) {
    two_nodes(storage).await;
    let leaving = setup::node(storage, 2).await;
    let keys = ["dead", "left", "answered", "alive"].map(fixture::entry);
    let nodes = [fixture::node_id(1), leaving, fixture::node_id(1), sweeper()];
    for (number, (entry, node)) in (1..).zip(keys.iter().zip(nodes)) {
        let claimed = claim(storage, entry.clone(), number, node).await;
        assert_eq!(claimed, ClaimOutcome::Claimed);
    }
    assert!(settle(storage, &keys[2], 3, false).await);
    storage.nodes.delete(leaving).await.success();
    mark_dead_nodes(storage).await;
    let mut stored = Vec::new();
    for entry in &keys {
        stored.push(lookup::record(storage, entry).await.is_some());
    }
    assert_eq!(stored, [false, false, true, true]);
    let again = claim(storage, keys[0].clone(), 5, sweeper()).await;
    assert_eq!(again, ClaimOutcome::Claimed);
    assert!(
        !settle(storage, &keys[0], 1, false).await,
        "of the dead node"
    );
}
