//! The status of a key while a socket or stream is open.

use std::{
    pin::pin,
    sync::Arc,
    task::Poll,
    time::{Duration, Instant},
};

use access::{
    AccessError, Authenticator, CredentialEnd, CredentialWatch, IssuedCredential,
    PresentedCredential, operator,
};
use domain::{CredentialDraft, CredentialKind, CredentialSecret, Scope, Timestamp};
use futures::poll;
use tokio::time::{advance, pause, timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    credential_fixture::{CredentialFixture, draft, tenant},
    fixture::START,
};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);
const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

/// Authenticates a credential and returns a watch on it.
pub(crate) async fn start_watch(authenticator: &Arc<Authenticator>, text: &str) -> CredentialWatch {
    let presented = PresentedCredential::new(text);
    let auth_context = authenticator.authenticate(&presented).await;
    authenticator.watch_credential(auth_context.expect("a valid credential"))
}

/// Reads the status of a credential from the store. Returns the reason if it is not valid.
pub(crate) async fn current_end(
    authenticator: &Authenticator,
    watch: &mut CredentialWatch,
) -> Option<CredentialEnd> {
    // The result applies to every watch on the credential.
    let auth_context = Arc::clone(watch.auth_context());
    authenticator
        .check_status(&auth_context)
        .await
        .expect("a store");
    match poll!(pin!(watch.ended())) {
        Poll::Ready(end) => Some(end),
        Poll::Pending => None,
    }
}

/// Waits until a credential is no longer valid and returns the reason.
pub(crate) async fn wait_for_end(watch: &mut CredentialWatch) -> CredentialEnd {
    let end = timeout(TIMEOUT, watch.ended()).await;
    end.expect("the watch has ended")
}

fn secret(key: &IssuedCredential) -> &CredentialSecret {
    key.secret.as_ref().expect("a secret")
}

pub(crate) async fn key(fixture: &CredentialFixture) -> IssuedCredential {
    fixture.key(&[Scope::EventsRead]).await
}

pub(crate) async fn start_local_watch(
    fixture: &CredentialFixture,
    key: &IssuedCredential,
) -> CredentialWatch {
    start_watch(&fixture.local, secret(key).reveal()).await
}

pub(crate) async fn revoke(fixture: &CredentialFixture, key: &IssuedCredential) {
    let (operator, id) = (operator(tenant()), &key.credential.id);
    let revoked = fixture.service.revoke(&operator, CredentialKind::Key, id);
    revoked.await.expect("the operator may do everything");
}

/// Advances all clocks.
async fn advance_clocks(fixture: &CredentialFixture, time: Duration) {
    fixture.base.clock.forward(time);
    // The runtime rounds its timers up to the next millisecond.
    advance(time + MILLISECOND).await;
}

#[tokio::test]
async fn a_key_revoked_in_this_process_ends_here_at_once() {
    let fixture = CredentialFixture::new().await;
    let (key, other) = (key(&fixture).await, key(&fixture).await);
    let mut watch = start_local_watch(&fixture, &key).await;
    let mut other_watch = start_local_watch(&fixture, &other).await;
    assert_eq!(current_end(&fixture.local, &mut watch).await, None);
    revoke(&fixture, &key).await;
    assert_eq!(wait_for_end(&mut watch).await, CredentialEnd::Revoked);
    assert_eq!(current_end(&fixture.local, &mut other_watch).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_ends_in_other_processes_within_a_second() {
    let fixture = CredentialFixture::new().await;
    let stop = CancellationToken::new();
    let running = Arc::clone(&fixture.remote).run(stop.clone());
    let running = TaskTracker::new().spawn(running);
    let mut quickest = Duration::MAX;
    // A machine may stall for a second, but hardly in every round.
    for _ in 0..5 {
        let key = key(&fixture).await;
        let mut watch = start_watch(&fixture.remote, secret(&key).reveal()).await;
        assert_eq!(current_end(&fixture.remote, &mut watch).await, None);
        revoke(&fixture, &key).await;
        let began = Instant::now();
        assert_eq!(wait_for_end(&mut watch).await, CredentialEnd::Revoked);
        quickest = quickest.min(began.elapsed());
        if quickest < SECOND {
            break;
        }
    }
    assert!(quickest < SECOND, "it took {quickest:?}");
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn a_watch_on_a_credential_that_is_already_revoked_ends() {
    let fixture = CredentialFixture::new().await;
    let key = key(&fixture).await;
    let presented = PresentedCredential::new(secret(&key).reveal());
    let auth_context = fixture.local.authenticate(&presented).await.unwrap();
    revoke(&fixture, &key).await;
    let mut watch = fixture.local.watch_credential(auth_context);
    assert_eq!(wait_for_end(&mut watch).await, CredentialEnd::Revoked);
}

#[tokio::test]
async fn a_replaced_secret_ends_at_once_or_with_the_overlap() {
    let fixture = CredentialFixture::new().await;
    let key = key(&fixture).await;
    let mut first = start_local_watch(&fixture, &key).await;
    let second = fixture.rotate(&key, Some(60)).await.unwrap();
    let mut second = start_watch(&fixture.local, second.reveal()).await;
    assert_eq!(current_end(&fixture.local, &mut first).await, None);
    fixture.rotate(&key, None).await.unwrap();
    // At most two secrets are valid, and only one after a rotation without an overlap.
    assert_eq!(wait_for_end(&mut first).await, CredentialEnd::Expired);
    assert_eq!(wait_for_end(&mut second).await, CredentialEnd::Expired);
}

#[tokio::test]
async fn a_previous_secret_ends_when_the_overlap_ends() {
    let fixture = CredentialFixture::new().await;
    let key = key(&fixture).await;
    let mut watch = start_local_watch(&fixture, &key).await;
    fixture.rotate(&key, Some(60)).await.unwrap();
    assert_eq!(current_end(&fixture.local, &mut watch).await, None);
    pause();
    let mut ended = pin!(watch.ended());
    assert_eq!(poll!(&mut ended), Poll::Pending);
    advance_clocks(&fixture, Duration::from_millis(59_999)).await;
    assert_eq!(poll!(&mut ended), Poll::Pending);
    advance_clocks(&fixture, MILLISECOND).await;
    assert_eq!(poll!(&mut ended), Poll::Ready(CredentialEnd::Expired));
}

/// Creates a key that expires at this time and returns a watch on it.
async fn watch_expiring_key(fixture: &CredentialFixture, at: Timestamp) -> CredentialWatch {
    let draft = CredentialDraft {
        expires_at: Some(at),
        ..draft(&[Scope::EventsRead])
    };
    let key = fixture.create(CredentialKind::Key, draft).await;
    let mut watch = start_local_watch(fixture, &key).await;
    assert_eq!(current_end(&fixture.local, &mut watch).await, None);
    watch
}

#[tokio::test]
async fn a_key_ends_when_it_expires_even_a_year_later() {
    let fixture = CredentialFixture::new().await;
    let year = Duration::from_hours(24 * 365);
    let mut watch = watch_expiring_key(&fixture, START + year).await;
    pause();
    let mut ended = pin!(watch.ended());
    assert_eq!(poll!(&mut ended), Poll::Pending);
    advance_clocks(&fixture, year.saturating_sub(MILLISECOND)).await;
    assert_eq!(poll!(&mut ended), Poll::Pending);
    advance_clocks(&fixture, MILLISECOND).await;
    assert_eq!(poll!(&mut ended), Poll::Ready(CredentialEnd::Expired));
}

#[tokio::test]
async fn a_changed_time_of_day_is_noticed_within_a_minute() {
    let fixture = CredentialFixture::new().await;
    let mut watch = watch_expiring_key(&fixture, START + Duration::from_hours(1)).await;
    pause();
    let mut ended = pin!(watch.ended());
    assert_eq!(poll!(&mut ended), Poll::Pending);
    fixture.base.clock.forward(Duration::from_hours(1));
    advance(60 * SECOND + MILLISECOND).await;
    assert_eq!(poll!(&mut ended), Poll::Ready(CredentialEnd::Expired));
}

#[tokio::test]
async fn a_watch_accepts_another_secret_of_its_key_but_no_other_key() {
    let fixture = CredentialFixture::new().await;
    let (key, other) = (key(&fixture).await, key(&fixture).await);
    let mut watch = start_local_watch(&fixture, &key).await;
    let second = fixture.rotate(&key, Some(60)).await.unwrap();
    let authenticate = async |secret: &CredentialSecret| {
        let presented = PresentedCredential::new(secret.reveal());
        fixture.local.authenticate(&presented).await.unwrap()
    };
    let rejected = watch.replace(authenticate(secret(&other)).await);
    assert!(
        matches!(rejected, Err(AccessError::Invalid)),
        "{rejected:?}"
    );
    assert_eq!(
        watch.auth_context().credential,
        Some(key.credential.id.clone())
    );
    watch.replace(authenticate(&second).await).unwrap();
    fixture.base.clock.forward(60 * SECOND);
    assert_eq!(
        current_end(&fixture.local, &mut watch).await,
        None,
        "the overlap is past"
    );
    revoke(&fixture, &other).await;
    assert_eq!(current_end(&fixture.local, &mut watch).await, None);
    revoke(&fixture, &key).await;
    assert_eq!(wait_for_end(&mut watch).await, CredentialEnd::Revoked);
}

#[test]
fn a_watch_is_small() {
    assert!(
        size_of::<CredentialWatch>() <= 96,
        "{}",
        size_of::<CredentialWatch>()
    );
}
