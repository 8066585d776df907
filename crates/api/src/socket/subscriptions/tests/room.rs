//! What is sent while the client has room for it, and to whom it may be sent by then.

use actix_web::body::{BoxBody, MessageBody as _};
use bytestring::ByteString;
use futures::{FutureExt as _, future::poll_fn};
use std::pin::{Pin, pin};

use super::{super::*, log::update_of, world::World};
use crate::socket::outgoing;

const TENANT: Channel = Channel::Tenant;

#[tokio::test]
async fn the_present_stops_where_there_is_no_room_and_goes_on_there() {
    let mut world = World::after([]).await;
    world.open(TENANT, None);
    world.append((0..20).map(update_of)).await;
    for already in [0, 7, 14] {
        world.send_live(7);
        let last = 20.min(already + 7);
        let expected: Vec<i64> = (already + 1..=last).collect();
        assert_eq!(world.received_by(TENANT), expected);
        world.send_live(0);
        assert_eq!(world.received(), []);
    }
}

#[tokio::test]
async fn channels_that_are_not_equally_far_stay_so_where_there_is_no_room() {
    let mut world = World::after([]).await;
    let channel = Channel::Agent(super::log::agent(0));
    world.open(TENANT, None);
    world.append((0..10).map(|_| update_of(0))).await;
    world.send_live(3);
    world.open(channel, None);
    world.append([update_of(0)]).await;
    world.send_live(3);
    world.settle().await;
    let sent = world.received();
    let positions = |channel| super::world::positions_of(&sent, channel);
    assert_eq!(positions(TENANT), (1..=11).collect::<Vec<_>>());
    assert_eq!(positions(channel), [11]);
}

#[tokio::test]
async fn who_falls_behind_for_want_of_room_is_replayed() {
    let mut world = World::after([]).await;
    world.open(TENANT, None);
    world.append((0..10).map(update_of)).await;
    world.send_live(5);
    world.append((0..3_000).map(|_| update_of(0))).await;
    world.send_live(1);
    assert!(world.subscriptions.is_behind());
    world.settle().await;
    let expected: Vec<i64> = (1..=3_010).collect();
    assert_eq!(world.received_by(TENANT), expected);
}

#[actix_web::test]
async fn a_burst_does_not_overfill_a_client_that_reads() {
    let mut world = World::after([]).await;
    world.open(TENANT, None);
    world.append((0..100).map(update_of)).await;
    let (outgoing, mut body) = outgoing(BoxBody::new(()));
    let frame = ByteString::from("x".repeat(32 * 1024));
    let (mut sent, mut taken) = (0, 0);
    let has_room = || outgoing.has_room_or_notifies();
    while sent < 100 {
        let (tail, visibility) = (&world.tail, &world.visibility);
        let subscriptions = &mut world.subscriptions;
        let news = subscriptions.send_live(tail, visibility, has_room, &mut |_| {
            sent += 1;
            outgoing.push(frame.clone())
        });
        news.unwrap();
        // The client takes what waits, and the task is told that there is room.
        while outgoing.moved().now_or_never().is_none() {
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
async fn who_may_see_less_is_not_sent_what_was_read_before() {
    let mut world = World::after((0..20).map(update_of)).await;
    world.open(TENANT, Some(0));
    let request = world.subscriptions.next_request().unwrap();
    let page = world.page(&request).await;
    world.take_in(request, page.clone());
    world.send_replayed(5);
    assert_eq!(world.received_by(TENANT), [1, 2, 3, 4, 5]);
    world.visibility.agents = false;
    world.subscriptions.drop_pages();
    world.send_replayed(5);
    // Nor what comes late.
    world.take_in(request, page);
    world.settle().await;
    assert_eq!(world.received(), [super::world::Sent::CaughtUp(TENANT, 20)]);
}

#[tokio::test]
async fn who_may_see_more_misses_nothing_of_what_was_read_before() {
    let mut world = World::after((0..20).map(update_of)).await;
    world.visibility.agents = false;
    world.open(TENANT, Some(0));
    let request = world.subscriptions.next_request().unwrap();
    let page = world.page(&request).await;
    world.take_in(request, page);
    world.visibility.agents = true;
    world.subscriptions.drop_pages();
    world.settle().await;
    let expected: Vec<i64> = (1..=20).collect();
    assert_eq!(world.received_by(TENANT), expected);
}
