//! `TicketRepository`.

use domain::{LimitOverrides, Principal, PrincipalId, Scope, Standing, Ticket};
use ports::{RepositoryError, Storage};
use tokio::task::JoinSet;

use crate::{answers::Answer as _, samples};

/// Stores a numbered ticket that ends at a moment.
async fn given(storage: &Storage, number: u8, ticket: &Ticket, ends_at: i64) {
    let (digest, ends_at) = (samples::digest(number), samples::at(ends_at));
    let answer = storage.tickets.insert(&digest, ticket, ends_at).await;
    answer.answered();
}

/// What a numbered ticket is worth at a moment.
async fn redeemed(storage: &Storage, number: u8, now: i64) -> Option<Ticket> {
    let (digest, now) = (samples::digest(number), samples::at(now));
    storage.tickets.redeem(&digest, now).await.answered()
}

/// What is known of a numbered ticket at a moment.
async fn found(storage: &Storage, number: u8, now: i64) -> Option<Ticket> {
    let (digest, now) = (samples::digest(number), samples::at(now));
    storage.tickets.find(&digest, now).await.answered()
}

/// `find` MUST answer what `redeem` would, and leave it as it is.
pub async fn finds_tickets_and_leaves_them(storage: &Storage) {
    given(storage, 1, &samples::ticket(1), 30_000).await;
    for _ in 0..2 {
        assert_eq!(found(storage, 1, 29_999).await, Some(samples::ticket(1)));
        assert_eq!(found(storage, 1, 30_000).await, None);
        assert_eq!(found(storage, 2, 0).await, None);
    }
    assert_eq!(redeemed(storage, 1, 0).await, Some(samples::ticket(1)));
    assert_eq!(found(storage, 1, 0).await, None);
}

/// `redeem` answers what `insert` was given.
pub async fn redeems_tickets_as_they_were_given(storage: &Storage) {
    let full = samples::ticket(1);
    let bare = Ticket {
        principal: Principal {
            tenant: samples::tenant(),
            id: PrincipalId::new("main~ada \u{1f980} 'quoted' \\\\"),
            scopes: [Scope::EventsRead].into_iter().collect(),
            user_id: Some("main~ada".to_owned()),
        },
        credential: None,
        allowed_origins: Vec::new(),
        limits: LimitOverrides::default(),
        standing: Standing::ForeignToken,
        credential_ends_at: None,
        origin: None,
    };
    let of_token = Ticket {
        standing: Standing::OwnToken {
            id: samples::token(1),
            client: samples::client_id(1),
            signing_key: "signing key 1".to_owned(),
        },
        ..full.clone()
    };
    let tickets = [full, bare, of_token];
    for (number, ticket) in (1..).zip(&tickets) {
        given(storage, number, ticket, 30_000).await;
    }
    for (number, ticket) in (1..).zip(tickets) {
        assert_eq!(redeemed(storage, number, 0).await, Some(ticket));
    }
}

/// `redeem` MUST answer a ticket once, and no other with it.
pub async fn redeems_a_ticket_once(storage: &Storage) {
    for number in 1..=2 {
        given(storage, number, &samples::ticket(number.into()), 30_000).await;
    }
    assert_eq!(redeemed(storage, 1, 0).await, Some(samples::ticket(1)));
    assert_eq!(redeemed(storage, 1, 0).await, None);
    assert_eq!(redeemed(storage, 2, 0).await, Some(samples::ticket(2)));
}

/// `redeem` holds also when several ask at the same time.
pub async fn one_of_eight_racing_redemptions_counts(storage: &Storage) {
    for number in 1..=4 {
        given(storage, number, &samples::ticket(1), 30_000).await;
        let mut racers = JoinSet::new();
        for now in 0..8 {
            let storage = storage.clone();
            racers.spawn(async move { redeemed(&storage, number, now).await.is_some() });
        }
        let counted = racers.join_all().await;
        assert_eq!(counted.into_iter().filter(|it| *it).count(), 1);
    }
}

/// `redeem` MUST answer a ticket to nobody from its end on.
pub async fn redeems_no_ticket_from_its_end_on(storage: &Storage) {
    for (number, now) in [(1, 29_999), (2, 30_000), (3, 30_001)] {
        given(storage, number, &samples::ticket(1), 30_000).await;
        let is_good = redeemed(storage, number, now).await.is_some();
        assert_eq!(is_good, now < 30_000, "at {now}");
    }
}

/// `redeem` answers nothing about what was never handed out.
pub async fn redeems_no_ticket_that_was_never_made(storage: &Storage) {
    assert_eq!(redeemed(storage, 1, 0).await, None);
    given(storage, 1, &samples::ticket(1), 30_000).await;
    assert_eq!(redeemed(storage, 2, 0).await, None);
    assert!(redeemed(storage, 1, 0).await.is_some());
}

/// `insert` MUST answer `Conflict` when there is one of this digest.
pub async fn refuses_a_duplicate_ticket(storage: &Storage) {
    given(storage, 1, &samples::ticket(1), 30_000).await;
    let (digest, ends_at) = (samples::digest(1), samples::at(60_000));
    let other = samples::ticket(2);
    let answer = storage.tickets.insert(&digest, &other, ends_at).await;
    assert!(
        matches!(answer, Err(RepositoryError::Conflict { .. })),
        "{answer:?}"
    );
    assert_eq!(redeemed(storage, 1, 0).await, Some(samples::ticket(1)));
}
