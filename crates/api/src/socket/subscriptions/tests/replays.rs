use application::realtime::PageSize;

use super::{
    super::*,
    log::{agent, update_of},
    world::{Sent, World, positions_of},
};
use crate::socket::frames::ResyncReason;

const TENANT: Channel = Channel::Tenant;

#[tokio::test]
async fn a_replay_is_told_page_by_page_and_then_that_it_is_over() {
    let mut world = World::after((0..130).map(|number| update_of(number % 2))).await;
    let channel = Channel::Agent(agent(1));
    world.open(channel, Some(10));
    world.settle().await;
    let mut sent = world.received();
    assert_eq!(sent.pop(), Some(Sent::CaughtUp(channel, 130)));
    let expected: Vec<i64> = (11..=130).filter(|seq| seq % 2 == 0).collect();
    assert_eq!(positions_of(&sent, channel), expected);
    world.append([update_of(1)]).await;
    world.settle().await;
    assert_eq!(world.received(), [Sent::Event(vec![channel], 131)]);
}

#[tokio::test]
async fn a_replay_stops_where_there_is_no_room() {
    let mut world = World::after((0..20).map(|_| update_of(0))).await;
    world.open(TENANT, Some(0));
    let request = world.subscriptions.next_request().unwrap();
    assert_eq!(
        world.subscriptions.next_request(),
        None,
        "one page at a time"
    );
    let page = world.page(&request).await;
    world.take_in(request, page);
    for already in [0, 5, 10, 15] {
        world.send_replayed(5);
        let expected: Vec<i64> = (already + 1..=already + 5).collect();
        assert_eq!(world.received_by(TENANT), expected);
    }
    world.send_replayed(5);
    assert_eq!(world.received(), [Sent::CaughtUp(TENANT, 20)]);
}

#[tokio::test]
async fn a_page_of_a_replay_holds_a_bounded_number_of_events() {
    let mut world = World::after((0..200).map(|_| update_of(0))).await;
    world.open(TENANT, Some(0));
    let request = world.subscriptions.next_request().unwrap();
    let Page::Events { events, .. } = world.page(&request).await else {
        panic!("the log is there");
    };
    assert_eq!(events.len(), PageSize::FOLLOWED.events);
}

#[tokio::test]
async fn a_cursor_that_is_not_in_the_log_goes_on_from_the_present() {
    let mut world = World::after((0..20).map(|_| update_of(0))).await;
    world.trim(10);
    let channel = Channel::Agent(agent(0));
    for cursor in [5, 21] {
        world.open(channel, Some(cursor));
        world.settle().await;
        let resync = Sent::Resync(channel, 11, 20, ResyncReason::Retention);
        assert_eq!(world.received(), [resync], "{cursor}");
    }
    world.append([update_of(0)]).await;
    world.settle().await;
    assert_eq!(world.received(), [Sent::Event(vec![channel], 21)]);
    // The oldest that is still there can be told.
    world.open(channel, Some(10));
    world.settle().await;
    let sent = world.received_by(channel);
    assert_eq!(sent, (11..=21).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_replay_that_is_too_long_is_a_resync_without_events() {
    let mut world = World::after((0..20).map(|_| update_of(0))).await;
    let channel = Channel::Agent(agent(0));
    let past = Past {
        since: Seq(5),
        coverage: Coverage::TooLong,
    };
    let head = world.head();
    world.subscriptions.open(channel, None, Some(past), head);
    world.settle().await;
    let resync = Sent::Resync(channel, 1, 20, ResyncReason::Limit);
    assert_eq!(world.received(), [resync]);
    world.append([update_of(0)]).await;
    world.settle().await;
    assert_eq!(world.received(), [Sent::Event(vec![channel], 21)]);
}

#[tokio::test]
async fn a_replay_that_has_begun_ends_whatever_its_length() {
    let count = i64::try_from(MOST_REPLAYED).unwrap() + 1;
    let mut world = World::after((0..count).map(|_| update_of(0))).await;
    let channel = Channel::Agent(agent(0));
    world.open(channel, Some(0));
    world.settle().await;
    let mut sent = world.received();
    assert_eq!(sent.pop(), Some(Sent::CaughtUp(channel, count)));
    assert_eq!(
        positions_of(&sent, channel),
        (1..=count).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn who_has_fallen_behind_what_is_in_memory_catches_up_without_a_word() {
    let mut world = World::after([]).await;
    world.open(TENANT, None);
    world.append((0..3_000).map(|_| update_of(0))).await;
    world.settle().await;
    let sent = world.received();
    assert_eq!(positions_of(&sent, TENANT), (1..=3_000).collect::<Vec<_>>());
    assert_eq!(sent.len(), 3_000, "nothing but events");
}

#[tokio::test]
async fn what_was_read_for_a_subscription_that_has_ended_is_not_told() {
    let mut world = World::after((0..3).map(|_| update_of(0))).await;
    world.open(TENANT, Some(0));
    let request = world.subscriptions.next_request().unwrap();
    let page = world.page(&request).await;
    world.subscriptions.close(TENANT);
    world.take_in(request, page.clone());
    world.settle().await;
    assert_eq!(world.received(), []);
    // Nor for one that has begun anew meanwhile.
    world.open(TENANT, Some(0));
    let request = world.subscriptions.next_request().unwrap();
    world.open(TENANT, Some(2));
    world.take_in(request, page);
    world.settle().await;
    let expected = [Sent::Event(vec![TENANT], 3), Sent::CaughtUp(TENANT, 3)];
    assert_eq!(world.received(), expected);
}

#[tokio::test]
async fn a_page_that_could_not_be_read_is_read_again() {
    let mut world = World::after([update_of(0)]).await;
    world.open(TENANT, Some(0));
    let request = world.subscriptions.next_request().unwrap();
    world.take_in(request, Page::Failed);
    world.settle().await;
    let expected = [Sent::Event(vec![TENANT], 1), Sent::CaughtUp(TENANT, 1)];
    assert_eq!(world.received(), expected);
}
