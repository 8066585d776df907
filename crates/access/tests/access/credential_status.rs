//! The status of a key while a socket or stream is open.

use std::{
    pin::pin,
    sync::{Arc, atomic::Ordering},
    task::Poll,
    time::{Duration, Instant},
};

use access::{
    AccessError, Authenticator, CredentialWatch, MintedCredential, Over, PresentedCredential,
    operator,
};
use domain::{CredentialDraft, CredentialKind, CredentialSecret, Scope, Timestamp};
use futures::poll;
use tokio::time::{advance, pause, timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    desk::{Desk, draft, tenant},
    probed_credentials::ProbedCredentials,
    world::{BEGINNING, World},
};

const PATIENCE: Duration = Duration::from_secs(30);
const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

/// Authenticates a credential and returns a watch on it.
pub(crate) async fn watched(authenticator: &Arc<Authenticator>, text: &str) -> CredentialWatch {
    let presented = PresentedCredential::new(text);
    let entrant = authenticator.authenticate(&presented).await;
    authenticator.watch_over(entrant.expect("a good credential"))
}

/// Reads the status of a credential from the store. Returns the reason if it is not valid.
pub(crate) async fn told(
    authenticator: &Authenticator,
    watch: &mut CredentialWatch,
) -> Option<Over> {
    // The result applies to every watch on the credential.
    let entrant = Arc::clone(watch.entrant());
    authenticator.look_again(&entrant).await.expect("a store");
    match poll!(pin!(watch.over())) {
        Poll::Ready(over) => Some(over),
        Poll::Pending => None,
    }
}

/// Waits until a credential is no longer valid and returns the reason.
pub(crate) async fn over(watch: &mut CredentialWatch) -> Over {
    let over = timeout(PATIENCE, watch.over()).await;
    over.expect("it is over")
}

fn secret(key: &MintedCredential) -> &CredentialSecret {
    key.secret.as_ref().expect("a secret")
}

async fn key(desk: &Desk) -> MintedCredential {
    desk.key(&[Scope::EventsRead]).await
}

async fn watched_here(desk: &Desk, key: &MintedCredential) -> CredentialWatch {
    watched(&desk.here, secret(key).reveal()).await
}

async fn revoke(desk: &Desk, key: &MintedCredential) {
    let (operator, id) = (operator(tenant()), &key.credential.id);
    let revoked = desk.service.revoke(&operator, CredentialKind::Key, id);
    revoked.await.expect("the operator may");
}

/// Advances all clocks.
async fn pass(desk: &Desk, time: Duration) {
    desk.world.clock.forward(time);
    // The runtime rounds its timers up to the next millisecond.
    advance(time + MILLISECOND).await;
}

#[tokio::test]
async fn a_key_revoked_in_this_process_ends_here_at_once() {
    let desk = Desk::open().await;
    let (key, other) = (key(&desk).await, key(&desk).await);
    let mut watch = watched_here(&desk, &key).await;
    let mut beside = watched_here(&desk, &other).await;
    assert_eq!(told(&desk.here, &mut watch).await, None);
    revoke(&desk, &key).await;
    assert_eq!(over(&mut watch).await, Over::Revoked);
    assert_eq!(told(&desk.here, &mut beside).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_ends_in_other_processes_within_a_second() {
    let desk = Desk::open().await;
    let stop = CancellationToken::new();
    let running = Arc::clone(&desk.elsewhere).run(stop.clone());
    let running = TaskTracker::new().spawn(running);
    let mut quickest = Duration::MAX;
    // A machine may stall for a second, but hardly in every round.
    for _ in 0..5 {
        let key = key(&desk).await;
        let mut watch = watched(&desk.elsewhere, secret(&key).reveal()).await;
        assert_eq!(told(&desk.elsewhere, &mut watch).await, None);
        revoke(&desk, &key).await;
        let began = Instant::now();
        assert_eq!(over(&mut watch).await, Over::Revoked);
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
    let desk = Desk::open().await;
    let key = key(&desk).await;
    let presented = PresentedCredential::new(secret(&key).reveal());
    let entrant = desk.here.authenticate(&presented).await.unwrap();
    revoke(&desk, &key).await;
    let mut watch = desk.here.watch_over(entrant);
    assert_eq!(over(&mut watch).await, Over::Revoked);
}

#[tokio::test]
async fn a_replaced_secret_ends_at_once_or_with_the_overlap() {
    let desk = Desk::open().await;
    let key = key(&desk).await;
    let mut first = watched_here(&desk, &key).await;
    let second = desk.rotate(&key, Some(60)).await.unwrap();
    let mut second = watched(&desk.here, second.reveal()).await;
    assert_eq!(told(&desk.here, &mut first).await, None);
    desk.rotate(&key, None).await.unwrap();
    // At most two secrets are valid, and only one after a rotation without an overlap.
    assert_eq!(over(&mut first).await, Over::Ended);
    assert_eq!(over(&mut second).await, Over::Ended);
}

#[tokio::test]
async fn a_previous_secret_ends_when_the_overlap_ends() {
    let desk = Desk::open().await;
    let key = key(&desk).await;
    let mut watch = watched_here(&desk, &key).await;
    desk.rotate(&key, Some(60)).await.unwrap();
    assert_eq!(told(&desk.here, &mut watch).await, None);
    pause();
    let mut over = pin!(watch.over());
    assert_eq!(poll!(&mut over), Poll::Pending);
    pass(&desk, Duration::from_millis(59_999)).await;
    assert_eq!(poll!(&mut over), Poll::Pending);
    pass(&desk, MILLISECOND).await;
    assert_eq!(poll!(&mut over), Poll::Ready(Over::Ended));
}

/// Creates a key that expires at this time and returns a watch on it.
async fn ending(desk: &Desk, at: Timestamp) -> CredentialWatch {
    let draft = CredentialDraft {
        expires_at: Some(at),
        ..draft(&[Scope::EventsRead])
    };
    let key = desk.make(CredentialKind::Key, draft).await;
    let mut watch = watched_here(desk, &key).await;
    assert_eq!(told(&desk.here, &mut watch).await, None);
    watch
}

#[tokio::test]
async fn a_key_ends_when_it_expires_even_a_year_later() {
    let desk = Desk::open().await;
    let year = Duration::from_hours(24 * 365);
    let mut watch = ending(&desk, BEGINNING + year).await;
    pause();
    let mut over = pin!(watch.over());
    assert_eq!(poll!(&mut over), Poll::Pending);
    pass(&desk, year.saturating_sub(MILLISECOND)).await;
    assert_eq!(poll!(&mut over), Poll::Pending);
    pass(&desk, MILLISECOND).await;
    assert_eq!(poll!(&mut over), Poll::Ready(Over::Ended));
}

#[tokio::test]
async fn a_changed_time_of_day_is_noticed_within_a_minute() {
    let desk = Desk::open().await;
    let mut watch = ending(&desk, BEGINNING + Duration::from_hours(1)).await;
    pause();
    let mut over = pin!(watch.over());
    assert_eq!(poll!(&mut over), Poll::Pending);
    desk.world.clock.forward(Duration::from_hours(1));
    advance(60 * SECOND + MILLISECOND).await;
    assert_eq!(poll!(&mut over), Poll::Ready(Over::Ended));
}

#[tokio::test]
async fn no_watch_ends_while_the_store_is_unavailable_and_the_next_read_decides() {
    let mut world = World::new().await;
    let credentials = ProbedCredentials::in_front_of(&mut world);
    let desk = Desk::open_in(world).await;
    let key = key(&desk).await;
    let mut watch = watched_here(&desk, &key).await;
    assert_eq!(told(&desk.here, &mut watch).await, None);
    credentials.blind.store(true, Ordering::SeqCst);
    revoke(&desk, &key).await;
    desk.world.clock.forward(6 * SECOND);
    desk.here.watch().await.unwrap_err();
    assert_eq!(poll!(pin!(watch.over())), Poll::Pending);
    // The access version can be read again, but the credentials cannot.
    credentials.blind.store(false, Ordering::SeqCst);
    credentials.lost.store(true, Ordering::SeqCst);
    credentials.finds();
    desk.here.watch().await.unwrap();
    let failed = async {
        while credentials.finds.load(Ordering::SeqCst) < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        over = watch.over() => panic!("{over:?}"),
        outcome = timeout(PATIENCE, failed) => outcome.expect("it is looked again"),
    }
    credentials.lost.store(false, Ordering::SeqCst);
    assert_eq!(over(&mut watch).await, Over::Revoked);
}

#[tokio::test]
async fn a_change_costs_one_lookup_for_all_watches_on_a_credential() {
    let mut world = World::new().await;
    let credentials = ProbedCredentials::in_front_of(&mut world);
    let desk = Desk::open_in(world).await;
    let (key, other) = (key(&desk).await, key(&desk).await);
    let mut watches = Vec::new();
    for _ in 0..100 {
        watches.push(watched_here(&desk, &key).await);
    }
    credentials.finds();
    let all_stay = futures::future::join_all(watches.iter_mut().map(CredentialWatch::over));
    assert!(poll!(pin!(all_stay)).is_pending());
    assert_eq!(
        credentials.finds(),
        0,
        "what was let in need not be looked at"
    );
    revoke(&desk, &other).await;
    credentials.finds();
    for watch in &mut watches {
        assert_eq!(told(&desk.here, watch).await, None);
    }
    assert_eq!(credentials.finds(), 1);
    revoke(&desk, &key).await;
    credentials.finds();
    let all_over = watches.iter_mut().map(over);
    let all_over = futures::future::join_all(all_over).await;
    assert!(all_over.iter().all(|over| *over == Over::Revoked));
    assert_eq!(credentials.finds(), 1);
}

#[tokio::test]
async fn a_change_does_not_flood_the_store() {
    let mut world = World::new().await;
    let credentials = ProbedCredentials::in_front_of(&mut world);
    let desk = Desk::open_in(world).await;
    let revoked = key(&desk).await;
    let mut watches = Vec::new();
    for _ in 0..40 {
        watches.push(watched_here(&desk, &key(&desk).await).await);
    }
    revoke(&desk, &revoked).await;
    credentials.finds();
    let shut = credentials.gate.write().await;
    let mut overs: Vec<_> = watches.iter_mut().map(|it| Box::pin(it.over())).collect();
    for over in &mut overs {
        assert!(poll!(over).is_pending());
    }
    assert_eq!(credentials.under_way(), 8);
    drop(shut);
    let all_looked = async {
        while credentials.finds.load(Ordering::SeqCst) < 40 || credentials.under_way() > 0 {
            for over in &mut overs {
                assert!(poll!(over).is_pending());
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, all_looked)
        .await
        .expect("all are looked at");
    assert_eq!(credentials.finds(), 40);
    assert_eq!(credentials.most_at_once(), 8);
}

#[tokio::test]
async fn a_lookup_continues_when_its_waiters_are_dropped() {
    let mut world = World::new().await;
    let credentials = ProbedCredentials::in_front_of(&mut world);
    let desk = Desk::open_in(world).await;
    let key = key(&desk).await;
    let mut watch = watched_here(&desk, &key).await;
    assert_eq!(told(&desk.here, &mut watch).await, None);
    revoke(&desk, &key).await;
    credentials.finds();
    let shut = credentials.gate.write().await;
    for _ in 0..10 {
        assert_eq!(poll!(pin!(watch.over())), Poll::Pending);
    }
    drop(shut);
    assert_eq!(over(&mut watch).await, Over::Revoked);
    assert_eq!(credentials.finds(), 1);
}

#[tokio::test]
async fn a_watch_accepts_another_secret_of_its_key_but_no_other_key() {
    let desk = Desk::open().await;
    let (key, other) = (key(&desk).await, key(&desk).await);
    let mut watch = watched_here(&desk, &key).await;
    let second = desk.rotate(&key, Some(60)).await.unwrap();
    let enter = async |secret: &CredentialSecret| {
        let presented = PresentedCredential::new(secret.reveal());
        desk.here.authenticate(&presented).await.unwrap()
    };
    let refused = watch.replace(enter(secret(&other)).await);
    assert!(matches!(refused, Err(AccessError::Invalid)), "{refused:?}");
    assert_eq!(watch.entrant().credential, Some(key.credential.id.clone()));
    watch.replace(enter(&second).await).unwrap();
    desk.world.clock.forward(60 * SECOND);
    assert_eq!(
        told(&desk.here, &mut watch).await,
        None,
        "the overlap is past"
    );
    revoke(&desk, &other).await;
    assert_eq!(told(&desk.here, &mut watch).await, None);
    revoke(&desk, &key).await;
    assert_eq!(over(&mut watch).await, Over::Revoked);
}

#[test]
fn a_watch_is_small() {
    assert!(
        size_of::<CredentialWatch>() <= 96,
        "{}",
        size_of::<CredentialWatch>()
    );
}
