//! `IdempotencyRepository`: the records of used keys.

use domain::{IdempotencyEntry, PrincipalId, idempotency::RETENTION};
use ports::FirstMessages;
use writes::BeginTurn;

use crate::{Store, fixture, lookup, results::IdempotentExt as _, setup};

async fn is_stored(storage: &Store, entry: &IdempotencyEntry) -> bool {
    lookup::record(storage, entry).await.is_some()
}

/// A key belongs to one principal and one operation.
pub async fn keys_belong_to_one_principal_and_operation(storage: &Store) {
    let (tenant, stamp, used) = (fixture::tenant(), fixture::stamp(0), fixture::entry("k"));
    let agent = fixture::agent(1);
    let result = storage.agents.insert(&tenant, &agent, &stamp, Some(&used));
    result.await.applied();
    let others = [
        IdempotencyEntry {
            principal: PrincipalId::new("main~bob"),
            ..used.clone()
        },
        IdempotencyEntry {
            operation: "POST /api/others",
            ..used.clone()
        },
        fixture::entry("K"),
    ];
    assert!(is_stored(storage, &used).await);
    for (number, other) in (2..).zip(others) {
        assert!(!is_stored(storage, &other).await, "{other:?}");
        let agent = fixture::agent(number);
        let result = storage.agents.insert(&tenant, &agent, &stamp, Some(&other));
        result.await.applied();
        assert!(is_stored(storage, &other).await, "{other:?}");
    }
}

/// A key is found whatever the command is; the caller compares the fingerprints.
pub async fn a_key_is_found_whatever_its_command(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = BeginTurn {
        idempotency: Some(fixture::entry("k")),
        ..fixture::begin_turn(7, &agent, fixture::existing(&conversation, 0))
    };
    setup::start_turn(storage, &begin).await;
    let other = IdempotencyEntry {
        fingerprint: domain::Fingerprint::of(&"another command"),
        ..fixture::entry("k")
    };
    let record = lookup::record(storage, &other).await;
    let record = record.expect("the key is is_stored");
    assert_eq!(record.fingerprint, fixture::entry("k").fingerprint);
    assert_eq!(record.turn_id, Some(begin.turn_id));
}

/// A key is kept for its retention time, and no longer.
pub async fn keys_expire_after_the_retention_time(storage: &Store) {
    let (tenant, stamp, used) = (fixture::tenant(), fixture::stamp(0), fixture::entry("k"));
    let agent = fixture::agent(1);
    let result = storage.agents.insert(&tenant, &agent, &stamp, Some(&used));
    result.await.applied();
    let millisecond = std::time::Duration::from_millis(1);
    for (time, expected) in [
        (RETENTION.saturating_sub(millisecond), true),
        (RETENTION + millisecond, false),
    ] {
        let repeated = IdempotencyEntry {
            created_at: used.created_at + time,
            ..used.clone()
        };
        assert_eq!(
            is_stored(storage, &repeated).await,
            expected,
            "after {time:?}"
        );
    }
}

/// Any operation can entry an expired key; the new record replaces the old one.
pub async fn expired_keys_can_be_used_by_any_operation(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(0));
    let mut entry = fixture::entry("k");
    let mut replaced = Vec::new();
    for number in 2..=5 {
        match number {
            2 | 3 => {
                let agent = fixture::agent(number);
                let result = storage.agents.insert(&tenant, &agent, &stamp, Some(&entry));
                result.await.applied();
            }
            4 => {
                let (conversation, conversations) =
                    (fixture::conversation(4, agent.id), &storage.conversations);
                let result = conversations.insert(
                    &tenant,
                    &conversation,
                    &FirstMessages::None,
                    &stamp,
                    Some(&entry),
                );
                assert!(result.await.applied().is_some());
            }
            _ => {
                let mut begin = fixture::begin_turn(5, &agent, fixture::existing(&conversation, 0));
                begin.idempotency = Some(entry.clone());
                setup::start_turn(storage, &begin).await;
            }
        }
        let record = lookup::record(storage, &entry).await;
        let record = record.expect("the entry is is_stored");
        replaced.push((record.created_at == entry.created_at, record.turn_id));
        entry.created_at = entry.created_at + RETENTION + std::time::Duration::from_millis(1);
    }
    let named = Some(fixture::turn_id(5));
    assert_eq!(
        replaced,
        [(true, None), (true, None), (true, None), (true, named)]
    );
}
