//! `TicketRepository`.

use std::time::Duration;

use domain::{CallerClaims, CredentialSource, LimitOverrides, Principal, PrincipalId, Scope};
use ports::RepositoryError;
use tokio::task::JoinSet;

use crate::{Store, fixture, results::ResultExt as _};

/// A duration longer than a test.
const LONG: Duration = Duration::from_hours(1);

/// Stores a numbered ticket that expires after `life`.
async fn insert(storage: &Store, number: u8, ticket: &CallerClaims, life: Duration) {
    let digest = fixture::digest(number);
    let result = storage.tickets.insert(&digest, ticket, life).await;
    result.success();
}

/// Redeems a numbered ticket.
async fn redeem(storage: &Store, number: u8) -> Option<CallerClaims> {
    let digest = fixture::digest(number);
    storage.tickets.redeem(&digest).await.success()
}

/// Finds a numbered ticket.
async fn find(storage: &Store, number: u8) -> Option<CallerClaims> {
    let digest = fixture::digest(number);
    storage.tickets.find(&digest).await.success()
}

/// `find` MUST return what `redeem` would return, and not change it.
pub async fn finding_a_ticket_does_not_redeem_it(storage: &Store) {
    insert(storage, 1, &fixture::ticket(1), LONG).await;
    insert(storage, 2, &fixture::ticket(2), Duration::ZERO).await;
    for _ in 0..2 {
        assert_eq!(find(storage, 1).await, Some(fixture::ticket(1)));
        assert_eq!(find(storage, 2).await, None);
        assert_eq!(find(storage, 3).await, None);
    }
    assert_eq!(redeem(storage, 1).await, Some(fixture::ticket(1)));
    assert_eq!(find(storage, 1).await, None);
}

/// `redeem` returns what `insert` stored.
pub async fn redeemed_tickets_are_returned_unchanged(storage: &Store) {
    let full = fixture::ticket(1);
    let bare = CallerClaims {
        principal: Principal {
            tenant: fixture::tenant(),
            id: PrincipalId::new("main~ada \u{1f980} 'quoted' \\\\"),
            scopes: [Scope::EventsRead].into_iter().collect(),
            user_id: Some("main~ada".to_owned()),
            agents: domain::AgentReach::ALL,
            names_user: false,
        },
        credential: None,
        allowed_origins: Vec::new(),
        limits: LimitOverrides::default(),
        source: CredentialSource::ExternalToken,
        credential_ends_at: None,
        origin: None,
    };
    let of_token = CallerClaims {
        source: CredentialSource::OwnToken {
            id: fixture::token(1),
            client: fixture::client_id(1),
            signing_key: "signing key 1".to_owned(),
        },
        ..full.clone()
    };
    let tickets = [full, bare, of_token];
    for (number, ticket) in (1..).zip(&tickets) {
        insert(storage, number, ticket, LONG).await;
    }
    for (number, ticket) in (1..).zip(tickets) {
        assert_eq!(redeem(storage, number).await, Some(ticket));
    }
}

/// `redeem` MUST return a ticket once, and affect no other.
pub async fn a_ticket_can_be_redeemed_once(storage: &Store) {
    for number in 1..=2 {
        insert(storage, number, &fixture::ticket(number.into()), LONG).await;
    }
    assert_eq!(redeem(storage, 1).await, Some(fixture::ticket(1)));
    assert_eq!(redeem(storage, 1).await, None);
    assert_eq!(redeem(storage, 2).await, Some(fixture::ticket(2)));
}

/// Of several concurrent redemptions, one succeeds.
pub async fn one_of_eight_concurrent_redemptions_succeeds(storage: &Store) {
    for number in 1..=4 {
        insert(storage, number, &fixture::ticket(1), LONG).await;
        let mut racers = JoinSet::new();
        for _ in 0..8 {
            let storage = storage.clone();
            racers.spawn(async move { redeem(&storage, number).await.is_some() });
        }
        let counted = racers.join_all().await;
        assert_eq!(counted.into_iter().filter(|it| *it).count(), 1);
    }
}

/// `redeem` MUST return `None` once the ticket has expired by the store's clock.
pub async fn an_expired_ticket_cannot_be_redeemed(storage: &Store) {
    insert(storage, 1, &fixture::ticket(1), Duration::ZERO).await;
    assert_eq!(redeem(storage, 1).await, None);
    let life = Duration::from_millis(300);
    insert(storage, 2, &fixture::ticket(2), life).await;
    let began = storage.maintenance.now().await.success();
    while find(storage, 2).await.is_some() {
        let now = storage.maintenance.now().await.success();
        assert!(now.since(began) < life * 20, "it does not end");
    }
    let now = storage.maintenance.now().await.success();
    assert!(
        now.since(began) + Duration::from_millis(100) > life,
        "it ended early"
    );
    assert_eq!(redeem(storage, 2).await, None);
}

/// `redeem` returns `None` for an unknown ticket.
pub async fn an_unknown_ticket_cannot_be_redeemed(storage: &Store) {
    assert_eq!(redeem(storage, 1).await, None);
    insert(storage, 1, &fixture::ticket(1), LONG).await;
    assert_eq!(redeem(storage, 2).await, None);
    assert!(redeem(storage, 1).await.is_some());
}

/// `insert` MUST return `Conflict` if the digest exists.
pub async fn a_duplicate_ticket_is_a_conflict(storage: &Store) {
    insert(storage, 1, &fixture::ticket(1), LONG).await;
    let digest = fixture::digest(1);
    let other = fixture::ticket(2);
    let result = storage.tickets.insert(&digest, &other, LONG).await;
    assert!(
        matches!(result, Err(RepositoryError::Conflict { .. })),
        "{result:?}"
    );
    assert_eq!(redeem(storage, 1).await, Some(fixture::ticket(1)));
}
