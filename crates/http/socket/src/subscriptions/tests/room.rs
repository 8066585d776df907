//! Sending while the client has room, and visibility at the time of sending.

use std::pin::{Pin, pin};

use actix_web::body::{BoxBody, MessageBody as _};
use bytestring::ByteString;
use futures::{FutureExt as _, future::poll_fn};

use super::{super::*, fixture::Fixture, log::update_of};
use crate::send_queue;

const TENANT: Channel = Channel::Tenant;

#[tokio::test]
async fn sending_pauses_without_room_and_continues_there() {
    let mut fixture = Fixture::after([]).await;
    fixture.open(TENANT, None);
    fixture.append((0..20).map(update_of)).await;
    for already in [0, 7, 14] {
        fixture.send_live(7);
        let last = 20.min(already + 7);
        let expected: Vec<i64> = (already + 1..=last).collect();
        assert_eq!(fixture.received_by(TENANT), expected);
        fixture.send_live(0);
        assert_eq!(fixture.received(), []);
    }
}

#[tokio::test]
async fn channels_keep_their_own_positions_without_room() {
    let mut fixture = Fixture::after([]).await;
    let channel = Channel::Agent(super::log::agent(0));
    fixture.open(TENANT, None);
    fixture.append((0..10).map(|_| update_of(0))).await;
    fixture.send_live(3);
    fixture.open(channel, None);
    fixture.append([update_of(0)]).await;
    fixture.send_live(3);
    fixture.send_all().await;
    let sent = fixture.received();
    let positions = |channel| super::fixture::positions_of(&sent, channel);
    assert_eq!(positions(TENANT), (1..=11).collect::<Vec<_>>());
    assert_eq!(positions(channel), [11]);
}

#[tokio::test]
async fn a_subscription_that_falls_behind_is_replayed() {
    let mut fixture = Fixture::after([]).await;
    fixture.open(TENANT, None);
    fixture.append((0..10).map(update_of)).await;
    fixture.send_live(5);
    fixture.append((0..3_000).map(|_| update_of(0))).await;
    fixture.send_live(1);
    assert!(fixture.subscriptions.is_behind());
    fixture.send_all().await;
    let expected: Vec<i64> = (1..=3_010).collect();
    assert_eq!(fixture.received_by(TENANT), expected);
}

#[actix_web::test]
async fn a_burst_does_not_overflow_the_queue_of_a_reading_client() {
    let mut fixture = Fixture::after([]).await;
    fixture.open(TENANT, None);
    fixture.append((0..100).map(update_of)).await;
    let (send_queue, mut body) = send_queue(BoxBody::new(()));
    let frame = ByteString::from("x".repeat(32 * 1024));
    let (mut sent, mut taken) = (0, 0);
    let has_room = || send_queue.request_room();
    while sent < 100 {
        let (tail, visibility) = (&fixture.tail, &fixture.visibility);
        let subscriptions = &mut fixture.subscriptions;
        let news = subscriptions.send_live(tail, visibility, has_room, &mut |_| {
            sent += 1;
            send_queue.push(frame.clone())
        });
        news.unwrap();
        // The client reads the queue, and the task is notified that there is room.
        while send_queue.changed().now_or_never().is_none() {
            let next = poll_fn(|context| Pin::new(&mut body).poll_next(context));
            let Some(chunk) = pin!(next).now_or_never() else {
                break;
            };
            taken += chunk.unwrap().unwrap().len();
        }
    }
    assert!(taken > 1024 * 1024, "{taken}");
}

#[tokio::test]
async fn pages_from_before_a_loss_of_rights_are_not_sent() {
    let mut fixture = Fixture::after((0..20).map(update_of)).await;
    fixture.open(TENANT, Some(0));
    let request = fixture.subscriptions.next_request().unwrap();
    let page = fixture.page(&request).await;
    fixture.accept_page(request, page.clone());
    fixture.send_replayed(5);
    assert_eq!(fixture.received_by(TENANT), [1, 2, 3, 4, 5]);
    fixture.visibility.agents = false;
    fixture.subscriptions.drop_pages();
    fixture.send_replayed(5);
    // A page that arrives late is not sent either.
    fixture.accept_page(request, page);
    fixture.send_all().await;
    assert_eq!(
        fixture.received(),
        [super::fixture::Sent::CaughtUp(TENANT, 20)]
    );
}

#[tokio::test]
async fn pages_from_before_a_gain_of_rights_are_read_again() {
    let mut fixture = Fixture::after((0..20).map(update_of)).await;
    fixture.visibility.agents = false;
    fixture.open(TENANT, Some(0));
    let request = fixture.subscriptions.next_request().unwrap();
    let page = fixture.page(&request).await;
    fixture.accept_page(request, page);
    fixture.visibility.agents = true;
    fixture.subscriptions.drop_pages();
    fixture.send_all().await;
    let expected: Vec<i64> = (1..=20).collect();
    assert_eq!(fixture.received_by(TENANT), expected);
}
