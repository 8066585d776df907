//! `ClaimRepository`: what keys were used for.

use domain::{IdempotencyClaim, PrincipalId, idempotency::RETENTION};
use ports::{BeginTurn, Storage};

use crate::{answers::OnceAnswer as _, found, given, samples};

async fn remembered(storage: &Storage, claim: &IdempotencyClaim) -> bool {
    found::claim(storage, claim).await.is_some()
}

/// A key is one principal's, for one operation.
pub async fn tells_keys_apart_by_principal_and_operation(storage: &Storage) {
    let (tenant, stamp, used) = (samples::tenant(), samples::stamp(0), samples::claim("k"));
    let agent = samples::agent(1);
    let answer = storage.agents.insert(&tenant, &agent, &stamp, Some(&used));
    answer.await.done();
    let others = [
        IdempotencyClaim {
            principal: PrincipalId::new("main~bob"),
            ..used.clone()
        },
        IdempotencyClaim {
            operation: "POST /api/others",
            ..used.clone()
        },
        samples::claim("K"),
    ];
    assert!(remembered(storage, &used).await);
    for (number, other) in (2..).zip(others) {
        assert!(!remembered(storage, &other).await, "{other:?}");
        let agent = samples::agent(number);
        let answer = storage.agents.insert(&tenant, &agent, &stamp, Some(&other));
        answer.await.done();
        assert!(remembered(storage, &other).await, "{other:?}");
    }
}

/// A key is found by another command too: whether it repeats is the caller's to judge.
pub async fn finds_a_key_whatever_its_command(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = BeginTurn {
        claim: Some(samples::claim("k")),
        ..samples::question(7, &agent, samples::existing(&talk, 0))
    };
    given::started(storage, &question).await;
    let other = IdempotencyClaim {
        fingerprint: domain::Fingerprint::of(&"another command"),
        ..samples::claim("k")
    };
    let record = found::claim(storage, &other).await;
    let record = record.expect("the key is remembered");
    assert_eq!(record.fingerprint, samples::claim("k").fingerprint);
    assert_eq!(record.turn_id, Some(question.turn_id));
}

/// A key is remembered for its time, and no longer.
pub async fn forgets_keys_after_their_time(storage: &Storage) {
    let (tenant, stamp, used) = (samples::tenant(), samples::stamp(0), samples::claim("k"));
    let agent = samples::agent(1);
    let answer = storage.agents.insert(&tenant, &agent, &stamp, Some(&used));
    answer.await.done();
    let millisecond = std::time::Duration::from_millis(1);
    for (time, expected) in [
        (RETENTION.saturating_sub(millisecond), true),
        (RETENTION + millisecond, false),
    ] {
        let asked = IdempotencyClaim {
            created_at: used.created_at + time,
            ..used.clone()
        };
        assert_eq!(
            remembered(storage, &asked).await,
            expected,
            "after {time:?}"
        );
    }
}

/// Whatever claims a key may claim one that is forgotten, and takes its place.
pub async fn forgotten_keys_may_be_claimed_by_anything(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let (tenant, stamp) = (samples::tenant(), samples::stamp(0));
    let mut claim = samples::claim("k");
    let mut places_taken = Vec::new();
    for number in 2..=5 {
        match number {
            2 | 3 => {
                let agent = samples::agent(number);
                let answer = storage.agents.insert(&tenant, &agent, &stamp, Some(&claim));
                answer.await.done();
            }
            4 => {
                let (talk, talks) = (samples::conversation(4, agent.id), &storage.conversations);
                let answer = talks.insert(&tenant, &talk, None, &stamp, Some(&claim));
                assert!(answer.await.done().is_some());
            }
            _ => {
                let mut question = samples::question(5, &agent, samples::existing(&talk, 0));
                question.claim = Some(claim.clone());
                given::started(storage, &question).await;
            }
        }
        let record = found::claim(storage, &claim).await;
        let record = record.expect("the claim is remembered");
        places_taken.push((record.created_at == claim.created_at, record.turn_id));
        claim.created_at = claim.created_at + RETENTION + std::time::Duration::from_millis(1);
    }
    let named = Some(samples::turn_id(5));
    assert_eq!(
        places_taken,
        [(true, None), (true, None), (true, None), (true, named)]
    );
}
