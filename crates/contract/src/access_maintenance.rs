//! Removal of expired tokens, assertions, tickets and keys.

use std::time::Duration;

use domain::IdempotencyEntry;
use ports::RetentionCutoffs;

use crate::{
    Store, fixture, lookup,
    purging::{self, ended_before, purge_all},
    results::{IdempotentExt as _, ResultExt as _},
    setup,
};

/// Idempotency records created before the given time are removed, and no others.
pub async fn a_purge_removes_expired_idempotency_records(storage: &Store) {
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(0));
    let entries = [(1, "old"), (2, "older"), (3, "young")].map(|(number, key)| IdempotencyEntry {
        created_at: fixture::at(if key == "young" {
            200
        } else {
            100 - i64::from(number)
        }),
        ..fixture::entry(key)
    });
    for (number, entry) in (1..).zip(&entries) {
        let agent = fixture::agent(number);
        let result = storage.agents.insert(&tenant, &agent, &stamp, Some(entry));
        result.await.applied();
    }
    let outdated = RetentionCutoffs {
        records_before: fixture::at(150),
        ..purging::nothing()
    };
    assert_eq!(purge_all(storage, 1, outdated).await, 2);
    let mut are_stored = Vec::new();
    for entry in &entries {
        are_stored.push(lookup::record(storage, entry).await.is_some());
    }
    assert_eq!(are_stored, [false, false, true]);
    assert_eq!(
        lookup::agent(storage, fixture::agent_id(1)).await,
        Some(fixture::agent(1))
    );
}

/// Revoked tokens that expired before the given time are removed, and no others.
pub async fn a_purge_removes_expired_revoked_tokens(storage: &Store) {
    let ends = [149, 150, 151, 100].map(fixture::at);
    for (number, ends_at) in (1..).zip(ends) {
        let result = storage.tokens.revoke(fixture::token(number), ends_at).await;
        result.success();
    }
    let version = lookup::access_version(storage).await;
    let removed = purge_all(storage, 1, ended_before(fixture::at(150))).await;
    assert_eq!(removed, 2);
    let mut rejected = Vec::new();
    for number in 1..=4 {
        let result = storage.tokens.is_revoked(fixture::token(number)).await;
        rejected.push(result.success());
    }
    assert_eq!(rejected, [false, true, true, false]);
    assert_eq!(lookup::access_version(storage).await, version);
}

/// Used assertions that expired before the given time are removed, and no others.
pub async fn a_purge_removes_expired_assertions(storage: &Store) {
    let used_up = async || {
        let mut used_up = Vec::new();
        for (number, ends_at) in (1..).zip([149, 150, 151, 100]) {
            let (assertion, ends_at) = (fixture::digest(number), fixture::at(ends_at));
            let result = storage.tokens.use_assertion(&assertion, ends_at).await;
            used_up.push(result.success());
        }
        used_up
    };
    assert_eq!(used_up().await, [true; 4]);
    let removed = purge_all(storage, 1, ended_before(fixture::at(150))).await;
    assert_eq!(removed, 2);
    assert_eq!(used_up().await, [true, false, false, true]);
}

/// Tickets that expired before the given time are removed, and no others.
pub async fn a_purge_removes_expired_tickets(storage: &Store) {
    let (ticket, hour) = (fixture::ticket(1), Duration::from_hours(1));
    for (number, life) in (1..).zip([Duration::ZERO, hour, Duration::ZERO, hour]) {
        let digest = fixture::digest(number);
        let result = storage.tickets.insert(&digest, &ticket, life).await;
        result.success();
    }
    let now = storage.maintenance.now().await.success();
    for (moment, removed) in [(now + hour / 2, 2), (now + hour * 2, 2)] {
        let outdated = ended_before(moment);
        assert_eq!(purge_all(storage, 1, outdated).await, removed);
    }
}

/// Signing keys that expired before the given time are removed, and no others; never the newest,
/// however old.
pub async fn a_purge_removes_expired_signing_keys(storage: &Store) {
    let mut newest = None;
    for (number, previous_until) in [(1, 0), (2, 100), (3, 149), (4, 150), (5, 151)] {
        let (key, until) = (fixture::signing_key(number), fixture::at(previous_until));
        newest = Some(setup::signing_key(storage, key, newest.as_ref(), until).await);
    }
    let before = lookup::signing_keys(storage).await;
    let removed = purge_all(storage, 1, ended_before(fixture::at(150))).await;
    assert_eq!(removed, 2);
    assert_eq!(lookup::signing_keys(storage).await, before[..3]);
    let removed = purge_all(storage, 1, ended_before(fixture::at(1_000_000))).await;
    assert_eq!(removed, 2);
    assert_eq!(lookup::signing_keys(storage).await, before[..1]);
}
