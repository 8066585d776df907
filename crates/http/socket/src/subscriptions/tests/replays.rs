use application::realtime::PageSize;

use super::{
    super::*,
    fixture::{Fixture, Sent, positions_of},
    log::{agent, update_of},
};
use crate::frames::ResyncReason;

const TENANT: Channel = Channel::Tenant;

#[tokio::test]
async fn a_replay_sends_all_pages_and_then_caught_up() {
    let mut fixture = Fixture::after((0..130).map(|number| update_of(number % 2))).await;
    let channel = Channel::Agent(agent(1));
    fixture.open(channel, Some(10));
    fixture.send_all().await;
    let mut sent = fixture.received();
    assert_eq!(sent.pop(), Some(Sent::CaughtUp(channel, 130)));
    let expected: Vec<i64> = (11..=130).filter(|seq| seq % 2 == 0).collect();
    assert_eq!(positions_of(&sent, channel), expected);
    fixture.append([update_of(1)]).await;
    fixture.send_all().await;
    assert_eq!(fixture.received(), [Sent::Event(vec![channel], 131)]);
}

#[tokio::test]
async fn a_replay_pauses_without_room() {
    let mut fixture = Fixture::after((0..20).map(|_| update_of(0))).await;
    fixture.open(TENANT, Some(0));
    let request = fixture.subscriptions.next_request().unwrap();
    assert_eq!(
        fixture.subscriptions.next_request(),
        None,
        "one page at a time"
    );
    let page = fixture.page(&request).await;
    fixture.accept_page(request, page);
    for sent_before in [0, 5, 10, 15] {
        fixture.send_replayed(5);
        let expected: Vec<i64> = (sent_before + 1..=sent_before + 5).collect();
        assert_eq!(fixture.received_by(TENANT), expected);
    }
    fixture.send_replayed(5);
    assert_eq!(fixture.received(), [Sent::CaughtUp(TENANT, 20)]);
}

#[tokio::test]
async fn a_page_of_a_replay_holds_a_bounded_number_of_events() {
    let mut fixture = Fixture::after((0..200).map(|_| update_of(0))).await;
    fixture.open(TENANT, Some(0));
    let request = fixture.subscriptions.next_request().unwrap();
    let Page::Events { events, .. } = fixture.page(&request).await else {
        panic!("the log is there");
    };
    assert_eq!(events.len(), PageSize::FOLLOWED.events);
}

#[tokio::test]
async fn a_cursor_outside_the_log_resyncs_to_the_present() {
    let mut fixture = Fixture::after((0..20).map(|_| update_of(0))).await;
    fixture.trim(10);
    let channel = Channel::Agent(agent(0));
    for cursor in [5, 21] {
        fixture.open(channel, Some(cursor));
        fixture.send_all().await;
        let resync = Sent::Resync(channel, 11, 20, ResyncReason::Retention);
        assert_eq!(fixture.received(), [resync], "{cursor}");
    }
    fixture.append([update_of(0)]).await;
    fixture.send_all().await;
    assert_eq!(fixture.received(), [Sent::Event(vec![channel], 21)]);
    // The oldest remaining event can be replayed.
    fixture.open(channel, Some(10));
    fixture.send_all().await;
    let sent = fixture.received_by(channel);
    assert_eq!(sent, (11..=21).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_replay_that_is_too_long_is_a_resync_without_events() {
    let mut fixture = Fixture::after((0..20).map(|_| update_of(0))).await;
    let channel = Channel::Agent(agent(0));
    let requested = ReplayRequest {
        since: Seq(5),
        availability: ReplayAvailability::TooLong,
    };
    let head = fixture.head();
    fixture
        .subscriptions
        .open(channel, None, Some(requested), head);
    fixture.send_all().await;
    let resync = Sent::Resync(channel, 1, 20, ResyncReason::Limit);
    assert_eq!(fixture.received(), [resync]);
    fixture.append([update_of(0)]).await;
    fixture.send_all().await;
    assert_eq!(fixture.received(), [Sent::Event(vec![channel], 21)]);
}

#[tokio::test]
async fn a_started_replay_ends_at_any_length() {
    let count = i64::try_from(MAX_REPLAYED_EVENTS).unwrap() + 1;
    let mut fixture = Fixture::after((0..count).map(|_| update_of(0))).await;
    let channel = Channel::Agent(agent(0));
    fixture.open(channel, Some(0));
    fixture.send_all().await;
    let mut sent = fixture.received();
    assert_eq!(sent.pop(), Some(Sent::CaughtUp(channel, count)));
    assert_eq!(
        positions_of(&sent, channel),
        (1..=count).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn a_subscription_behind_the_memory_catches_up_silently() {
    let mut fixture = Fixture::after([]).await;
    fixture.open(TENANT, None);
    fixture.append((0..3_000).map(|_| update_of(0))).await;
    fixture.send_all().await;
    let sent = fixture.received();
    assert_eq!(positions_of(&sent, TENANT), (1..=3_000).collect::<Vec<_>>());
    assert_eq!(sent.len(), 3_000, "nothing but events");
}

#[tokio::test]
async fn pages_of_an_ended_subscription_are_not_sent() {
    let mut fixture = Fixture::after((0..3).map(|_| update_of(0))).await;
    fixture.open(TENANT, Some(0));
    let request = fixture.subscriptions.next_request().unwrap();
    let page = fixture.page(&request).await;
    fixture.subscriptions.close(TENANT);
    fixture.accept_page(request, page.clone());
    fixture.send_all().await;
    assert_eq!(fixture.received(), []);
    // A page for an earlier subscription of the channel is not sent either.
    fixture.open(TENANT, Some(0));
    let request = fixture.subscriptions.next_request().unwrap();
    fixture.open(TENANT, Some(2));
    fixture.accept_page(request, page);
    fixture.send_all().await;
    let expected = [Sent::Event(vec![TENANT], 3), Sent::CaughtUp(TENANT, 3)];
    assert_eq!(fixture.received(), expected);
}

#[tokio::test]
async fn a_failed_page_is_read_again() {
    let mut fixture = Fixture::after([update_of(0)]).await;
    fixture.open(TENANT, Some(0));
    let request = fixture.subscriptions.next_request().unwrap();
    fixture.accept_page(request, Page::Failed);
    fixture.send_all().await;
    let expected = [Sent::Event(vec![TENANT], 1), Sent::CaughtUp(TENANT, 1)];
    assert_eq!(fixture.received(), expected);
}

#[tokio::test]
async fn a_replay_from_a_later_position_waits_until_the_log_has_reached_it() {
    let mut fixture = Fixture::after((0..2).map(|_| update_of(0))).await;
    let requested = ReplayRequest {
        since: Seq(3),
        availability: ReplayAvailability::Awaited,
    };
    let head = fixture.head();
    fixture
        .subscriptions
        .open(TENANT, None, Some(requested), head);
    fixture.append([update_of(0)]).await;
    let position = fixture.head();
    fixture.subscriptions.start_awaited(Seq(2));
    assert_eq!(fixture.subscriptions.next_request(), None);
    fixture.subscriptions.start_awaited(position);
    fixture.append([update_of(0)]).await;
    fixture.send_all().await;
    let event = Sent::Event(vec![TENANT], 4);
    assert_eq!(fixture.received(), [event, Sent::CaughtUp(TENANT, 4)]);
}
