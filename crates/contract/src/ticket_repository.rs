//! `TicketRepository`.

use std::time::Duration;

use domain::{LimitOverrides, Principal, PrincipalId, Scope, Standing, Ticket};
use ports::{RepositoryError, Storage};
use tokio::task::JoinSet;

use crate::{answers::Answer as _, samples};

/// Longer than a test takes.
const LONG: Duration = Duration::from_hours(1);

/// Stores a numbered ticket with this life.
async fn given(storage: &Storage, number: u8, ticket: &Ticket, life: Duration) {
    let digest = samples::digest(number);
    let answer = storage.tickets.insert(&digest, ticket, life).await;
    answer.answered();
}

/// Redeems a numbered ticket.
async fn redeemed(storage: &Storage, number: u8) -> Option<Ticket> {
    let digest = samples::digest(number);
    storage.tickets.redeem(&digest).await.answered()
}

/// Finds a numbered ticket.
async fn found(storage: &Storage, number: u8) -> Option<Ticket> {
    let digest = samples::digest(number);
    storage.tickets.find(&digest).await.answered()
}

/// `find` MUST answer what `redeem` would, and leave it as it is.
pub async fn finds_tickets_and_leaves_them(storage: &Storage) {
    given(storage, 1, &samples::ticket(1), LONG).await;
    given(storage, 2, &samples::ticket(2), Duration::ZERO).await;
    for _ in 0..2 {
        assert_eq!(found(storage, 1).await, Some(samples::ticket(1)));
        assert_eq!(found(storage, 2).await, None);
        assert_eq!(found(storage, 3).await, None);
    }
    assert_eq!(redeemed(storage, 1).await, Some(samples::ticket(1)));
    assert_eq!(found(storage, 1).await, None);
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
        given(storage, number, ticket, LONG).await;
    }
    for (number, ticket) in (1..).zip(tickets) {
        assert_eq!(redeemed(storage, number).await, Some(ticket));
    }
}

/// `redeem` MUST answer a ticket once, and no other with it.
pub async fn redeems_a_ticket_once(storage: &Storage) {
    for number in 1..=2 {
        given(storage, number, &samples::ticket(number.into()), LONG).await;
    }
    assert_eq!(redeemed(storage, 1).await, Some(samples::ticket(1)));
    assert_eq!(redeemed(storage, 1).await, None);
    assert_eq!(redeemed(storage, 2).await, Some(samples::ticket(2)));
}

/// `redeem` holds also when several ask at the same time.
pub async fn one_of_eight_racing_redemptions_counts(storage: &Storage) {
    for number in 1..=4 {
        given(storage, number, &samples::ticket(1), LONG).await;
        let mut racers = JoinSet::new();
        for _ in 0..8 {
            let storage = storage.clone();
            racers.spawn(async move { redeemed(&storage, number).await.is_some() });
        }
        let counted = racers.join_all().await;
        assert_eq!(counted.into_iter().filter(|it| *it).count(), 1);
    }
}

/// `redeem` MUST answer a ticket to nobody from its end on, which the store's clock decides.
pub async fn redeems_no_ticket_from_its_end_on(storage: &Storage) {
    given(storage, 1, &samples::ticket(1), Duration::ZERO).await;
    assert_eq!(redeemed(storage, 1).await, None);
    let life = Duration::from_millis(300);
    given(storage, 2, &samples::ticket(2), life).await;
    let began = storage.maintenance.now().await.answered();
    while found(storage, 2).await.is_some() {
        let now = storage.maintenance.now().await.answered();
        assert!(now.since(began) < life * 20, "it does not end");
    }
    let now = storage.maintenance.now().await.answered();
    assert!(
        now.since(began) + Duration::from_millis(100) > life,
        "it ended early"
    );
    assert_eq!(redeemed(storage, 2).await, None);
}

/// `redeem` answers nothing about what was never handed out.
pub async fn redeems_no_ticket_that_was_never_made(storage: &Storage) {
    assert_eq!(redeemed(storage, 1).await, None);
    given(storage, 1, &samples::ticket(1), LONG).await;
    assert_eq!(redeemed(storage, 2).await, None);
    assert!(redeemed(storage, 1).await.is_some());
}

/// `insert` MUST answer `Conflict` when there is one of this digest.
pub async fn refuses_a_duplicate_ticket(storage: &Storage) {
    given(storage, 1, &samples::ticket(1), LONG).await;
    let digest = samples::digest(1);
    let other = samples::ticket(2);
    let answer = storage.tickets.insert(&digest, &other, LONG).await;
    assert!(
        matches!(answer, Err(RepositoryError::Conflict { .. })),
        "{answer:?}"
    );
    assert_eq!(redeemed(storage, 1).await, Some(samples::ticket(1)));
}
