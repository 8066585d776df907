//! `Maintenance`.

use std::time::Duration;

use domain::{EventData, IdempotencyClaim, TurnStatus};
use ports::{BeginTurn, Outdated, Storage};

use crate::{
    answers::{Answer as _, OnceAnswer as _},
    found, given, log, samples,
    upkeep::{self, deleted_before, ended_before, purge_all},
};

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
    let touched = purge_all(storage, 10, deleted_before(samples::at(10_000))).await;
    assert_eq!(touched, 0);
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
        assert!(purge_all(storage, limit, deleted_before(samples::at(10_000))).await > 0);
        for turn in [open.turn_id, samples::turn_id(100 * number)] {
            assert_eq!(
                found::turn(storage, turn).await,
                None,
                "in chunks of {limit}"
            );
        }
        assert_eq!(
            purge_all(storage, limit, deleted_before(samples::at(10_000))).await,
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
    assert!(purge_all(storage, 2, deleted_before(samples::at(10_000))).await > 0);
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
    purge_all(storage, 5, deleted_before(samples::at(999))).await;
    let turn = found::turn(storage, open.turn_id).await;
    assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::Cancelled));
    purge_all(storage, 5, deleted_before(samples::at(1_001))).await;
    assert_eq!(found::turn(storage, open.turn_id).await, None);
}

/// Agents that were deleted later are touched once, when their conversations are marked.
pub async fn touches_what_was_deleted_later_only_once(storage: &Storage) {
    given::node(storage, 1).await;
    talk_with_turns(storage, 1).await;
    given::agent(storage, 2).await;
    for number in [1, 2] {
        given::agent_deleted(storage, &samples::agent(number)).await;
    }
    let none = deleted_before(samples::at(0));
    // Two agents and a conversation.
    assert_eq!(purge_all(storage, 1, none).await, 3);
    assert_eq!(purge_all(storage, 1, none).await, 0);
    assert_ne!(
        purge_all(storage, 1, deleted_before(samples::at(10_000))).await,
        0
    );
    assert_eq!(found::turn(storage, samples::turn_id(100)).await, None);
}

/// Upkeep emits no events, and those of what is purged stay hidden.
pub async fn upkeep_emits_no_events(storage: &Storage) {
    given::node(storage, 1).await;
    talk_with_turns(storage, 1).await;
    given::agent_deleted(storage, &samples::agent(1)).await;
    let before = log::events(storage).await;
    let all = Outdated {
        claims_before: samples::at(10_000),
        ..deleted_before(samples::at(10_000))
    };
    purge_all(storage, 4, all).await;
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
    let outdated = Outdated {
        claims_before: samples::at(150),
        ..upkeep::nothing()
    };
    assert_eq!(purge_all(storage, 1, outdated).await, 2);
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

/// Revoked tokens that ended before the given moment are removed, and no others.
pub async fn removes_revoked_tokens_that_ended(storage: &Storage) {
    let ends = [149, 150, 151, 100].map(samples::at);
    for (number, ends_at) in (1..).zip(ends) {
        let answer = storage.tokens.revoke(samples::token(number), ends_at).await;
        answer.answered();
    }
    let version = found::access_version(storage).await;
    let removed = purge_all(storage, 1, ended_before(samples::at(150))).await;
    assert_eq!(removed, 2);
    let mut refused = Vec::new();
    for number in 1..=4 {
        let answer = storage.tokens.is_revoked(samples::token(number)).await;
        refused.push(answer.answered());
    }
    assert_eq!(refused, [false, true, true, false]);
    assert_eq!(found::access_version(storage).await, version);
}

/// Used assertions that ended before the given moment are removed, and no others.
pub async fn removes_used_assertions_that_ended(storage: &Storage) {
    let used_up = async || {
        let mut used_up = Vec::new();
        for (number, ends_at) in (1..).zip([149, 150, 151, 100]) {
            let (assertion, ends_at) = (samples::digest(number), samples::at(ends_at));
            let answer = storage.tokens.use_assertion(&assertion, ends_at).await;
            used_up.push(answer.answered());
        }
        used_up
    };
    assert_eq!(used_up().await, [true; 4]);
    let removed = purge_all(storage, 1, ended_before(samples::at(150))).await;
    assert_eq!(removed, 2);
    assert_eq!(used_up().await, [true, false, false, true]);
}

/// Tickets that ended before the given moment are removed, and no others.
pub async fn removes_tickets_that_ended(storage: &Storage) {
    let (ticket, hour) = (samples::ticket(1), Duration::from_hours(1));
    for (number, life) in (1..).zip([Duration::ZERO, hour, Duration::ZERO, hour]) {
        let digest = samples::digest(number);
        let answer = storage.tickets.insert(&digest, &ticket, life).await;
        answer.answered();
    }
    let now = storage.maintenance.now().await.answered();
    for (moment, removed) in [(now + hour / 2, 2), (now + hour * 2, 2)] {
        let outdated = ended_before(moment);
        assert_eq!(purge_all(storage, 1, outdated).await, removed);
    }
}

/// `now` MUST be the time of day, and go on.
pub async fn reads_the_clock_of_the_store(storage: &Storage) {
    let first = storage.maintenance.now().await.answered();
    let hours = first.since(samples::at(-365 * 24 * 3_600_000)).as_secs() / 3_600;
    assert!((1..=100 * 365 * 24).contains(&hours), "{first}");
    let mut later = first;
    for _ in 0..10_000 {
        later = storage.maintenance.now().await.answered();
        if later > first {
            break;
        }
    }
    assert!(later > first);
}

/// Signing keys that ended before the given moment are removed, and no others: never the newest,
/// however old.
pub async fn removes_signing_keys_that_ended(storage: &Storage) {
    let mut newest = None;
    for (number, previous_until) in [(1, 0), (2, 100), (3, 149), (4, 150), (5, 151)] {
        let (key, until) = (samples::signing_key(number), samples::at(previous_until));
        newest = Some(given::signing_key(storage, key, newest.as_ref(), until).await);
    }
    let before = found::signing_keys(storage).await;
    let removed = purge_all(storage, 1, ended_before(samples::at(150))).await;
    assert_eq!(removed, 2);
    assert_eq!(found::signing_keys(storage).await, before[..3]);
    let removed = purge_all(storage, 1, ended_before(samples::at(1_000_000))).await;
    assert_eq!(removed, 2);
    assert_eq!(found::signing_keys(storage).await, before[..1]);
}

/// Chunks of any size remove all of it, of each sort by its own moment.
pub async fn removes_everything_outdated_in_chunks_of_any_size(storage: &Storage) {
    given::node(storage, 1).await;
    for (round, limit) in [(1, 1), (2, 3), (3, 1_000)] {
        talk_with_turns(storage, round).await;
        given::agent_deleted(storage, &samples::agent(round)).await;
        let (key, claim) = (samples::key(round), samples::claim(&format!("{round}")));
        let answer = storage.credentials.insert(&key, Some(&claim)).await;
        answer.done();
        let (digest, ends_at) = (samples::digest(7), samples::at(20));
        for number in 0..4 {
            let answer = storage.tokens.revoke(samples::token(number), ends_at);
            answer.await.answered();
        }
        let used = storage.tokens.use_assertion(&digest, ends_at).await;
        assert!(used.answered(), "in round {round}");
        let ticket = samples::ticket(1);
        let stored = storage
            .tickets
            .insert(&digest, &ticket, Duration::ZERO)
            .await;
        stored.answered();
        let now = storage.maintenance.now().await.answered();
        let outdated = Outdated {
            deleted_before: samples::at(10_000),
            claims_before: samples::at(10),
            ended_before: samples::at(30).max(now + Duration::from_secs(1)),
        };
        // A conversation that is marked, and its agent; 3 answered turns and 1 that was not; 7 messages; the
        // conversation; the agent; the claim; 4 tokens, the assertion and the ticket.
        let touched = purge_all(storage, limit, outdated).await;
        assert_eq!(touched, 2 + 4 + 7 + 1 + 1 + 1 + 6, "in chunks of {limit}");
        assert_eq!(found::claim(storage, &claim).await, None);
        let revoked = storage.tokens.is_revoked(samples::token(0)).await;
        assert!(!revoked.answered(), "in chunks of {limit}");
        assert_eq!(found::credential(storage, &key).await, Some(key));
    }
}
