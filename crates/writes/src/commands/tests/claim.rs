//! Tests of claims of idempotency keys.

use super::*;
use crate::{ClaimKey, ClaimOutcome};

fn claim(turn: u32, node: u32) -> ClaimKey {
    ClaimKey {
        tenant: fixture::tenant(),
        idempotency: fixture::entry("k"),
        turn_id: fixture::turn_id(turn),
        node: fixture::node_id(node),
    }
}

/// Facts with the record of the key, as `change` makes it.
fn facts_with(change: impl FnOnce(&mut IdempotencyRecord)) -> Facts {
    let mut facts = facts();
    let (key, mut record) = record_of(&fixture::entry("k"));
    change(&mut record);
    facts.idempotency.insert(key, record);
    facts
}

#[test]
fn a_claim_writes_its_record_only() {
    let (mut rows, outcome) = carried_out(&claim(1, 1), &facts());
    assert_eq!(outcome, ClaimOutcome::Claimed);
    let written = rows.idempotency.remove(0);
    assert_eq!(written.turn_id, Some(fixture::turn_id(1)));
    assert_eq!(written.claimed_by, Some(fixture::node_id(1)));
    assert_eq!(rows, Rows::default());
}

#[test]
fn the_key_is_checked_before_the_node() {
    let facts = facts_with(|record| record.turn_id = Some(fixture::turn_id(2)));
    let record = facts.idempotency.values().next().unwrap().clone();
    let outcome = rejected(&claim(1, 404), &facts).unwrap();
    assert_eq!(outcome, ClaimOutcome::Replayed(record));
    let released = facts_with(|record| {
        record.released_into = Some(fixture::conversation_id(1));
    });
    let outcome = rejected(&claim(1, 404), &released).unwrap();
    assert_eq!(outcome, ClaimOutcome::NodeDead);
    let (rows, outcome) = carried_out(&claim(1, 1), &released);
    assert_eq!(
        (rows.idempotency.len(), outcome),
        (1, ClaimOutcome::Claimed)
    );
}

#[test]
fn a_claim_in_doubt_is_found_by_its_turn() {
    let own = facts_with(|record| record.turn_id = Some(fixture::turn_id(1)));
    assert_eq!(stored(&claim(1, 1), &own), ClaimOutcome::Claimed);
    let other = facts_with(|record| record.turn_id = Some(fixture::turn_id(2)));
    let (rows, outcome) = not_stored(&claim(1, 1), &other);
    assert_eq!(rows, Rows::default());
    assert!(matches!(outcome, Ok(ClaimOutcome::Replayed(_))));
}
