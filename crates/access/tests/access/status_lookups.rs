//! Lookups of the status of credentials in the store, while sockets or streams are open.

use std::{pin::pin, sync::atomic::Ordering, task::Poll, time::Duration};

use access::{CredentialEnd, CredentialWatch};
use futures::poll;
use tokio::time::timeout;

use crate::{
    credential_fixture::CredentialFixture,
    credential_status::{TIMEOUT, current_end, key, revoke, start_local_watch, wait_for_end},
    fixture::Fixture,
    instrumented_credentials::InstrumentedCredentials,
};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn no_watch_ends_while_the_store_is_unavailable_and_the_next_read_decides() {
    let mut fixture = Fixture::new().await;
    let credentials = InstrumentedCredentials::wrap(&mut fixture);
    let fixture = CredentialFixture::over(fixture).await;
    let key = key(&fixture).await;
    let mut watch = start_local_watch(&fixture, &key).await;
    assert_eq!(current_end(&fixture.local, &mut watch).await, None);
    credentials
        .fail_access_version
        .store(true, Ordering::SeqCst);
    revoke(&fixture, &key).await;
    fixture.base.clock.forward(6 * SECOND);
    fixture.local.refresh().await.unwrap_err();
    assert_eq!(poll!(pin!(watch.ended())), Poll::Pending);
    // The access version can be read again, but the credentials cannot.
    credentials
        .fail_access_version
        .store(false, Ordering::SeqCst);
    credentials.fail_find.store(true, Ordering::SeqCst);
    credentials.finds();
    fixture.local.refresh().await.unwrap();
    let failed = async {
        while credentials.finds.load(Ordering::SeqCst) < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        end = watch.ended() => panic!("{end:?}"),
        outcome = timeout(TIMEOUT, failed) => outcome.expect("the check is repeated"),
    }
    credentials.fail_find.store(false, Ordering::SeqCst);
    assert_eq!(wait_for_end(&mut watch).await, CredentialEnd::Revoked);
}

#[tokio::test]
async fn a_change_costs_one_lookup_for_all_watches_on_a_credential() {
    let mut fixture = Fixture::new().await;
    let credentials = InstrumentedCredentials::wrap(&mut fixture);
    let fixture = CredentialFixture::over(fixture).await;
    let (key, other) = (key(&fixture).await, key(&fixture).await);
    let mut watches = Vec::new();
    for _ in 0..100 {
        watches.push(start_local_watch(&fixture, &key).await);
    }
    credentials.finds();
    let all_ended = futures::future::join_all(watches.iter_mut().map(CredentialWatch::ended));
    assert!(poll!(pin!(all_ended)).is_pending());
    assert_eq!(
        credentials.finds(),
        0,
        "a verified credential needs no check"
    );
    revoke(&fixture, &other).await;
    credentials.finds();
    for watch in &mut watches {
        assert_eq!(current_end(&fixture.local, watch).await, None);
    }
    assert_eq!(credentials.finds(), 1);
    revoke(&fixture, &key).await;
    credentials.finds();
    let ends = watches.iter_mut().map(wait_for_end);
    let ends = futures::future::join_all(ends).await;
    assert!(ends.iter().all(|end| *end == CredentialEnd::Revoked));
    assert_eq!(credentials.finds(), 1);
}

#[tokio::test]
async fn a_change_does_not_flood_the_store() {
    let mut fixture = Fixture::new().await;
    let credentials = InstrumentedCredentials::wrap(&mut fixture);
    let fixture = CredentialFixture::over(fixture).await;
    let revoked = key(&fixture).await;
    let mut watches = Vec::new();
    for _ in 0..40 {
        watches.push(start_local_watch(&fixture, &key(&fixture).await).await);
    }
    revoke(&fixture, &revoked).await;
    credentials.finds();
    let lock = credentials.gate.write().await;
    let mut pending: Vec<_> = watches.iter_mut().map(|it| Box::pin(it.ended())).collect();
    for watch_end in &mut pending {
        assert!(poll!(watch_end).is_pending());
    }
    assert_eq!(credentials.in_progress(), 8);
    drop(lock);
    let all_checked = async {
        while credentials.finds.load(Ordering::SeqCst) < 40 || credentials.in_progress() > 0 {
            for watch_end in &mut pending {
                assert!(poll!(watch_end).is_pending());
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(TIMEOUT, all_checked)
        .await
        .expect("all are checked");
    assert_eq!(credentials.finds(), 40);
    assert_eq!(credentials.max_concurrent(), 8);
}

#[tokio::test]
async fn a_lookup_continues_when_its_waiters_are_dropped() {
    let mut fixture = Fixture::new().await;
    let credentials = InstrumentedCredentials::wrap(&mut fixture);
    let fixture = CredentialFixture::over(fixture).await;
    let key = key(&fixture).await;
    let mut watch = start_local_watch(&fixture, &key).await;
    assert_eq!(current_end(&fixture.local, &mut watch).await, None);
    revoke(&fixture, &key).await;
    credentials.finds();
    let lock = credentials.gate.write().await;
    for _ in 0..10 {
        assert_eq!(poll!(pin!(watch.ended())), Poll::Pending);
    }
    drop(lock);
    assert_eq!(wait_for_end(&mut watch).await, CredentialEnd::Revoked);
    assert_eq!(credentials.finds(), 1);
}
