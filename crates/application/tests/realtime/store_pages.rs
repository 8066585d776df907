//! Fair shares of the store for concurrent readers.

use std::{pin::pin, sync::Arc, time::Duration};

use application::{EventService, events::EventListing, realtime::LogUpdate};
use domain::{Principal, PrincipalId, Scopes, Seq};
use futures::{future::join_all, poll};
use tokio::{task::JoinSet, time::timeout};

use crate::fixture::{Fixture, events, everything, logged, tenant};

/// A principal with all scopes.
fn reader() -> Principal {
    Principal {
        tenant: tenant(),
        id: PrincipalId::new("reader"),
        scopes: Scopes::all(),
        user_id: None,
        agents: domain::AgentReach::ALL,
        names_user: false,
    }
}

/// Follows the log from its beginning to its current head.
async fn replay(fixture: Arc<Fixture>) -> Vec<Seq> {
    let tenant = tenant();
    let follower = fixture.reader.follow(&tenant, everything(), Some(Seq(0)));
    let mut follower = follower.await.expect("the log answers");
    let mut received = Vec::new();
    while received.last() != Some(&fixture.log.head()) {
        match follower.next().await.expect("the log answers") {
            LogUpdate::Events(events) => received.extend(events.iter().map(|event| event.seq())),
            other => panic!("{other:?}"),
        }
    }
    received
}

/// Starts replays of a slow log with 50 events.
fn slow_replays(count: usize) -> (Arc<Fixture>, JoinSet<Vec<Seq>>) {
    let fixture = Arc::new(Fixture::new());
    fixture.log.grow(50);
    fixture.log.slow_down(3);
    let replays = (0..count).map(|_| replay(Arc::clone(&fixture))).collect();
    (fixture, replays)
}

#[tokio::test]
async fn any_number_of_replays_reads_two_pages_at_once() {
    let (fixture, replays) = slow_replays(64);
    let all: Vec<_> = (1..=50).map(Seq).collect();
    assert_eq!(replays.join_all().await, vec![all; 64]);
    assert_eq!(fixture.log.most_reading(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_is_not_polled_does_not_block_other_readers() {
    let fixture = Fixture::new();
    fixture.log.grow(5);
    fixture.log.slow_down(3);
    let tail = fixture.tail().await;
    let filter = everything();
    let reads = || fixture.reader.read(&tail, &filter, Seq(0), events(100));
    let mut neglected: Vec<_> = (0..10).map(|_| Box::pin(reads())).collect();
    for read in &mut neglected {
        assert!(poll!(read).is_pending());
    }
    let other = timeout(Duration::from_secs(1), reads()).await;
    let other = other
        .expect("a read is permitted")
        .expect("the log answers");
    assert_eq!(logged(&other).len(), 5);
    // The pages that were read for the neglected readers wait for them.
    for read in join_all(neglected).await {
        assert_eq!(read.expect("the log answers"), other);
    }
}

#[tokio::test]
async fn no_page_is_read_for_dropped_readers() {
    let fixture = Fixture::new();
    fixture.log.grow(5);
    let tail = fixture.tail().await;
    let filter = everything();
    for _ in 0..10 {
        let mut read = pin!(fixture.reader.read(&tail, &filter, Seq(0), events(100)));
        assert!(poll!(&mut read).is_pending());
    }
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(fixture.log.pages(), 0);
}

#[tokio::test]
async fn requested_pages_share_the_limit_with_replays() {
    let (fixture, replays) = slow_replays(8);
    let service = Arc::new(EventService::new(Arc::clone(&fixture.reader)));
    let mut pages = JoinSet::new();
    for _ in 0..64 {
        let service = Arc::clone(&service);
        pages.spawn(async move {
            let listing = EventListing {
                since: Some(Seq(43)),
                ..EventListing::default()
            };
            let page = service.page(&reader(), listing, 100).await;
            page.expect("the log answers").events.len()
        });
    }
    assert_eq!(pages.join_all().await, vec![7; 64]);
    replays.join_all().await;
    assert_eq!(fixture.log.most_reading(), 2);
}

#[tokio::test]
async fn the_process_does_not_end_while_a_page_is_read() {
    let fixture = Fixture::new();
    fixture.log.grow(5);
    let service = EventService::new(Arc::clone(&fixture.reader));
    let listing = EventListing {
        since: Some(Seq(0)),
        ..EventListing::default()
    };
    let reader = reader();
    let mut page = pin!(service.page(&reader, listing, 100));
    assert!(poll!(&mut page).is_pending());
    assert_eq!(fixture.tasks.len(), 1);
    assert_eq!(page.await.expect("the log answers").events.len(), 5);
    assert_eq!(fixture.tasks.len(), 0);
}
