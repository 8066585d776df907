//! Idempotency keys of completed turns.

use std::time::Duration;

use domain::idempotency::RETENTION;
use writes::{ConversationTarget, RecordTurnOutcome};

use super::record_completed_turn::{outcome, with_key};
use crate::{Store, fixture, lookup, setup, snapshot::Snapshot};

/// The entry is written with the turn and names it.
pub async fn the_idempotency_entry_is_stored_with_the_completed_turn(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let target = fixture::existing(&conversation, 0);
    let turn = with_key(fixture::completed_turn(7, &agent, target), "k");
    setup::record_turn(storage, turn.clone()).await;
    let entry = turn.begin.idempotency.expect("set above");
    let record = lookup::record(storage, &entry).await;
    let record = record.expect("the entry is stored");
    assert_eq!(record.turn_id, Some(fixture::turn_id(7)));
    assert_eq!(record.fingerprint, entry.fingerprint);
    assert_eq!((record.result, record.created_at), (None, entry.created_at));
}

/// The key MUST be checked before everything else: agent, conversation, staleness, occupancy.
pub async fn the_key_of_a_completed_turn_is_checked_first(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let first = with_key(
        fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0)),
        "k",
    );
    setup::record_turn(storage, first).await;
    let running = fixture::begin_turn(2, &agent, fixture::existing(&conversation, 1));
    setup::start_turn(storage, &running).await;
    let no_talk = fixture::conversation(404, agent.id);
    let mut old_agent = agent.clone();
    old_agent.version = 7;
    let new = ConversationTarget::New(fixture::conversation(2, agent.id));
    for turn in [
        fixture::completed_turn(7, &agent, new),
        fixture::completed_turn(7, &agent, fixture::existing(&conversation, 2)),
        fixture::completed_turn(7, &agent, fixture::existing(&conversation, 5)),
        fixture::completed_turn(7, &agent, fixture::existing(&no_talk, 0)),
        fixture::completed_turn(7, &old_agent, fixture::existing(&conversation, 2)),
        fixture::completed_turn(7, &fixture::agent(404), fixture::existing(&conversation, 2)),
    ] {
        let turn = with_key(turn, "k");
        let before = Snapshot::take(storage, &turn.begin).await;
        match outcome(storage, &turn).await {
            RecordTurnOutcome::Replayed(record) => {
                assert_eq!(record.turn_id, Some(fixture::turn_id(1)));
            }
            other => panic!("the key was not checked first: {other:?}"),
        }
        before.assert_unchanged_by(storage, &turn.begin).await;
    }
}

/// A key older than the retention time counts as unused.
pub async fn an_expired_key_can_be_used_again(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let first = with_key(
        fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0)),
        "k",
    );
    setup::record_turn(storage, first.clone()).await;
    let after = |time: Duration| {
        let mut turn = fixture::completed_turn(2, &agent, fixture::existing(&conversation, 1));
        let mut entry = fixture::entry("k");
        entry.created_at = entry.created_at + time;
        turn.begin.idempotency = Some(entry);
        turn
    };
    let millisecond = Duration::from_millis(1);
    let early = outcome(storage, &after(RETENTION.saturating_sub(millisecond))).await;
    assert!(matches!(early, RecordTurnOutcome::Replayed(_)), "{early:?}");
    let late = after(RETENTION + millisecond);
    setup::record_turn(storage, late.clone()).await;
    let entry = late.begin.idempotency.expect("set above");
    let record = lookup::record(storage, &entry).await;
    let record = record.expect("the entry is stored");
    assert_eq!(record.turn_id, Some(late.begin.turn_id));
    assert_eq!(record.created_at, entry.created_at);
}
