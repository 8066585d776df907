//! `Maintenance`.

use domain::{EventData, IdempotencyClaim, Timestamp, TurnStatus};
use ports::{BeginTurn, Storage};

use crate::{
    answers::{Answer as _, OnceAnswer as _},
    found, given, log,
    pages::TOO_MANY_PAGES,
    samples,
};

/// Longer ago than any deletion and any claim of the samples.
fn never() -> Timestamp {
    samples::at(-1_000_000)
}

/// Purges in chunks until nothing is left to do; answers how many calls touched something.
async fn purge_all(
    storage: &Storage,
    limit: usize,
    deleted_before: Timestamp,
    claims_before: Timestamp,
) -> usize {
    for calls in 0..TOO_MANY_PAGES {
        let maintenance = &storage.maintenance;
        let touched = maintenance
            .purge(limit, deleted_before, claims_before)
            .await;
        match touched.answered() {
            0 => return calls,
            touched => assert!(touched <= limit as u64, "{touched} rows by {limit}"),
        }
    }
    panic!("upkeep does not end");
}

async fn talk_with_turns(storage: &Storage, number: u32) -> BeginTurn {
    let agent = given::agent(storage, number).await;
    let talk = given::conversation(storage, number, &agent).await;
    for turn in 0..3 {
        let target = samples::existing(&talk, i64::from(turn));
        let exchange = samples::exchange(100 * number + turn, &agent, target);
        given::recorded(storage, exchange).await;
    }
    let open = samples::question(100 * number + 3, &agent, samples::existing(&talk, 3));
    given::started(storage, &open).await;
    open
}

/// A store that lives says so.
pub async fn answers_a_sign_of_life(storage: &Storage) {
    storage.maintenance.ping().await.answered();
}

/// Where nothing was deleted and no key is old, nothing is touched.
pub async fn touches_nothing_that_lives(storage: &Storage) {
    given::node(storage, 1).await;
    let open = talk_with_turns(storage, 1).await;
    let calls = purge_all(storage, 10, samples::at(10_000), never()).await;
    assert_eq!(calls, 0);
    let turn = found::turn(storage, open.turn_id).await;
    assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::InProgress));
    assert_eq!(found::messages(storage, open.target.id()).await.len(), 7);
}

/// What was deleted before the given moment is removed, turns included, in chunks of any size.
pub async fn removes_what_was_deleted_before(storage: &Storage) {
    given::node(storage, 1).await;
    for (number, limit) in [(1, 1), (2, 3), (3, 1_000)] {
        let open = talk_with_turns(storage, number).await;
        given::agent_deleted(storage, &samples::agent(number)).await;
        assert!(purge_all(storage, limit, samples::at(10_000), never()).await > 0);
        for turn in [open.turn_id, samples::turn_id(100 * number)] {
            assert_eq!(
                found::turn(storage, turn).await,
                None,
                "in chunks of {limit}"
            );
        }
        assert_eq!(
            purge_all(storage, limit, samples::at(10_000), never()).await,
            0
        );
    }
}

/// A conversation that was deleted alone is removed alone.
pub async fn removes_a_deleted_conversation_and_keeps_its_agent(storage: &Storage) {
    given::node(storage, 1).await;
    let open = talk_with_turns(storage, 1).await;
    let agent = samples::agent(1);
    let kept = given::conversation(storage, 2, &agent).await;
    let exchange = samples::exchange(50, &agent, samples::existing(&kept, 0));
    given::recorded(storage, exchange).await;
    let doomed = samples::conversation(1, agent.id);
    given::conversation_deleted(storage, &doomed).await;
    assert!(purge_all(storage, 2, samples::at(10_000), never()).await > 0);
    assert_eq!(found::turn(storage, open.turn_id).await, None);
    assert_eq!(found::agent(storage, agent.id).await, Some(agent));
    assert_eq!(found::messages(storage, kept.id).await.len(), 2);
    assert!(found::turn(storage, samples::turn_id(50)).await.is_some());
}

/// What was deleted later stays, so that its turns can be read for their time.
pub async fn keeps_what_was_deleted_later(storage: &Storage) {
    given::node(storage, 1).await;
    let open = talk_with_turns(storage, 1).await;
    let agent = samples::agent(1);
    // At moment 1,000: see `given`.
    given::agent_deleted(storage, &agent).await;
    purge_all(storage, 5, samples::at(999), never()).await;
    let turn = found::turn(storage, open.turn_id).await;
    assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::Cancelled));
    let completed = found::turn(storage, samples::turn_id(100)).await;
    assert!(completed.is_some_and(|turn| turn.reply.is_some()));
    purge_all(storage, 5, samples::at(1_001), never()).await;
    assert_eq!(found::turn(storage, open.turn_id).await, None);
}

/// Upkeep emits no events, and those of what is purged stay hidden.
pub async fn upkeep_emits_no_events(storage: &Storage) {
    given::node(storage, 1).await;
    talk_with_turns(storage, 1).await;
    given::agent_deleted(storage, &samples::agent(1)).await;
    let before = log::events(storage).await;
    purge_all(storage, 4, samples::at(10_000), samples::at(10_000)).await;
    let after = log::events(storage).await;
    assert_eq!(after, before);
    let hidden = after
        .iter()
        .filter(|event| event.data == EventData::DELETED);
    assert_eq!(hidden.count(), after.len() - 1);
}

/// Idempotency records made before the given moment are removed, and no others.
pub async fn removes_old_idempotency_records(storage: &Storage) {
    let (tenant, stamp) = (samples::tenant(), samples::stamp(0));
    let claims = [(1, "old"), (2, "older"), (3, "young")].map(|(number, key)| IdempotencyClaim {
        created_at: samples::at(if key == "young" {
            200
        } else {
            100 - i64::from(number)
        }),
        ..samples::claim(key)
    });
    for (number, claim) in (1..).zip(&claims) {
        let agent = samples::agent(number);
        let answer = storage.agents.insert(&tenant, &agent, &stamp, Some(claim));
        answer.await.done();
    }
    assert!(purge_all(storage, 1, never(), samples::at(150)).await > 0);
    let mut remembered = Vec::new();
    for claim in &claims {
        remembered.push(found::claim(storage, claim).await.is_some());
    }
    assert_eq!(remembered, [false, false, true]);
    assert_eq!(
        found::agent(storage, samples::agent_id(1)).await,
        Some(samples::agent(1))
    );
}
