//! `Maintenance`.

use std::time::Duration;

use domain::{EventData, TurnStatus};
use ports::{RepositoryError, RetentionCutoffs};
use tokio::time;
use writes::BeginTurn;

use crate::{
    Store, fixture, log, lookup,
    purging::{deleted_before, purge_all},
    results::{IdempotentExt as _, ResultExt as _},
    setup,
};

async fn conversation_with_turns(storage: &Store, number: u32) -> BeginTurn {
    let agent = setup::agent(storage, number).await;
    let conversation = setup::conversation(storage, number, &agent).await;
    for turn in 0..3 {
        let target = fixture::existing(&conversation, i64::from(turn));
        let turn = fixture::completed_turn(100 * number + turn, &agent, target);
        setup::record_turn(storage, turn).await;
    }
    let open = fixture::begin_turn(
        100 * number + 3,
        &agent,
        fixture::existing(&conversation, 3),
    );
    setup::start_turn(storage, &open).await;
    open
}

/// `ping` succeeds on a working store.
pub async fn ping_succeeds_on_a_working_store(storage: &Store) {
    storage.maintenance.ping().await.success();
}

/// `purge` changes nothing if nothing is deleted or expired.
pub async fn a_purge_keeps_live_data(storage: &Store) {
    setup::node(storage, 1).await;
    let open = conversation_with_turns(storage, 1).await;
    let touched = purge_all(storage, 10, deleted_before(fixture::at(10_000))).await;
    assert_eq!(touched, 0);
    let turn = lookup::turn(storage, open.turn_id).await;
    assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::InProgress));
    assert_eq!(lookup::messages(storage, open.target.id()).await.len(), 7);
}

/// Compacts the store. It may be busy for a moment with what was read or written just before.
async fn compact(storage: &Store) {
    let compacted = async {
        while let Err(RepositoryError::Unavailable(_)) = storage.maintenance.compact().await {
            time::sleep(Duration::from_millis(20)).await;
        }
    };
    let in_time = time::timeout(Duration::from_secs(10), compacted).await;
    in_time.expect("the store stays busy");
}

/// `compact` keeps what is stored.
pub async fn a_compaction_keeps_live_data(storage: &Store) {
    setup::node(storage, 1).await;
    let open = conversation_with_turns(storage, 1).await;
    let before = lookup::all_messages(storage, open.target.id()).await;
    for _ in 0..2 {
        compact(storage).await;
    }
    let after = lookup::all_messages(storage, open.target.id()).await;
    assert_eq!((after.len(), &after), (7, &before));
    setup::complete_turn(storage, &open, 103).await;
}

/// Data deleted before the given time is removed, including turns, in chunks of any size.
pub async fn a_purge_removes_data_deleted_earlier(storage: &Store) {
    setup::node(storage, 1).await;
    for (number, limit) in [(1, 1), (2, 3), (3, 1_000)] {
        let open = conversation_with_turns(storage, number).await;
        setup::delete_agent(storage, &fixture::agent(number)).await;
        assert!(purge_all(storage, limit, deleted_before(fixture::at(10_000))).await > 0);
        for turn in [open.turn_id, fixture::turn_id(100 * number)] {
            assert_eq!(
                lookup::turn(storage, turn).await,
                None,
                "in chunks of {limit}"
            );
        }
        assert_eq!(
            purge_all(storage, limit, deleted_before(fixture::at(10_000))).await,
            0
        );
    }
}

/// A deleted conversation is removed without its agent.
pub async fn a_purge_removes_a_deleted_conversation_and_keeps_its_agent(storage: &Store) {
    setup::node(storage, 1).await;
    let open = conversation_with_turns(storage, 1).await;
    let agent = fixture::agent(1);
    let kept = setup::conversation(storage, 2, &agent).await;
    let turn = fixture::completed_turn(50, &agent, fixture::existing(&kept, 0));
    setup::record_turn(storage, turn).await;
    let doomed = fixture::conversation(1, agent.id);
    setup::delete_conversation(storage, &doomed).await;
    assert!(purge_all(storage, 2, deleted_before(fixture::at(10_000))).await > 0);
    assert_eq!(lookup::turn(storage, open.turn_id).await, None);
    assert_eq!(lookup::agent(storage, agent.id).await, Some(agent));
    assert_eq!(lookup::messages(storage, kept.id).await.len(), 2);
    assert!(lookup::turn(storage, fixture::turn_id(50)).await.is_some());
}

/// Data deleted later stays, so that its turns can be read until the retention time.
pub async fn a_purge_keeps_data_deleted_later(storage: &Store) {
    setup::node(storage, 1).await;
    let open = conversation_with_turns(storage, 1).await;
    let agent = fixture::agent(1);
    // Deleted at 1,000 ms; see `setup`.
    setup::delete_agent(storage, &agent).await;
    purge_all(storage, 5, deleted_before(fixture::at(999))).await;
    let turn = lookup::turn(storage, open.turn_id).await;
    assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::Cancelled));
    purge_all(storage, 5, deleted_before(fixture::at(1_001))).await;
    assert_eq!(lookup::turn(storage, open.turn_id).await, None);
}

/// Agents that were deleted later are changed once, when their conversations are marked.
pub async fn a_purge_marks_data_deleted_later_only_once(storage: &Store) {
    setup::node(storage, 1).await;
    conversation_with_turns(storage, 1).await;
    setup::agent(storage, 2).await;
    for number in [1, 2] {
        setup::delete_agent(storage, &fixture::agent(number)).await;
    }
    let none = deleted_before(fixture::at(0));
    // Two agents and a conversation.
    assert_eq!(purge_all(storage, 1, none).await, 3);
    assert_eq!(purge_all(storage, 1, none).await, 0);
    assert_ne!(
        purge_all(storage, 1, deleted_before(fixture::at(10_000))).await,
        0
    );
    assert_eq!(lookup::turn(storage, fixture::turn_id(100)).await, None);
}

/// `purge` writes no events, and events of purged data stay hidden.
pub async fn a_purge_writes_no_events(storage: &Store) {
    setup::node(storage, 1).await;
    conversation_with_turns(storage, 1).await;
    setup::delete_agent(storage, &fixture::agent(1)).await;
    let before = log::events(storage).await;
    let all = RetentionCutoffs {
        records_before: fixture::at(10_000),
        ..deleted_before(fixture::at(10_000))
    };
    purge_all(storage, 4, all).await;
    let after = log::events(storage).await;
    assert_eq!(after, before);
    let hidden = after
        .iter()
        .filter(|event| event.data == EventData::DELETED);
    assert_eq!(hidden.count(), after.len() - 1);
}

/// `now` MUST be the current time, and advance.
pub async fn now_is_the_time_of_the_store(storage: &Store) {
    let first = storage.maintenance.now().await.success();
    let hours = first.since(fixture::at(-365 * 24 * 3_600_000)).as_secs() / 3_600;
    assert!((1..=100 * 365 * 24).contains(&hours), "{first}");
    let mut later = first;
    for _ in 0..10_000 {
        later = storage.maintenance.now().await.success();
        if later > first {
            break;
        }
    }
    assert!(later > first);
}

/// Chunks of any size remove all outdated rows, each kind by its own time.
pub async fn a_purge_removes_all_outdated_data_in_chunks_of_any_size(storage: &Store) {
    setup::node(storage, 1).await;
    for (round, limit) in [(1, 1), (2, 3), (3, 1_000)] {
        conversation_with_turns(storage, round).await;
        setup::delete_agent(storage, &fixture::agent(round)).await;
        let (key, entry) = (fixture::key(round), fixture::entry(&format!("{round}")));
        let result = storage.credentials.insert(&key, Some(&entry)).await;
        result.applied();
        let (digest, ends_at) = (fixture::digest(7), fixture::at(20));
        for number in 0..4 {
            let result = storage.tokens.revoke(fixture::token(number), ends_at);
            result.await.success();
        }
        let used = storage.tokens.use_assertion(&digest, ends_at).await;
        assert!(used.success(), "in round {round}");
        let ticket = fixture::ticket(1);
        let stored = storage
            .tickets
            .insert(&digest, &ticket, Duration::ZERO)
            .await;
        stored.success();
        let now = storage.maintenance.now().await.success();
        let outdated = RetentionCutoffs {
            deleted_before: fixture::at(10_000),
            records_before: fixture::at(10),
            ended_before: fixture::at(30).max(now + Duration::from_secs(1)),
        };
        // A conversation that is marked, and its agent; 3 completed turns and 1 other; 7 messages;
        // the conversation; the agent and its version; the entry; 4 tokens, the assertion and the ticket.
        let touched = purge_all(storage, limit, outdated).await;
        assert_eq!(touched, 2 + 4 + 7 + 1 + 2 + 1 + 6, "in chunks of {limit}");
        assert_eq!(lookup::record(storage, &entry).await, None);
        let revoked = storage.tokens.is_revoked(fixture::token(0)).await;
        assert!(!revoked.success(), "in chunks of {limit}");
        assert_eq!(lookup::credential(storage, &key).await, Some(key));
    }
}
