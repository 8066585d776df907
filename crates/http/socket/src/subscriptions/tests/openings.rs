//! Subscribing to a channel that is followed already, or was a moment ago.

use domain::EventType;

use super::{
    super::*,
    fixture::{Fixture, Sent},
    log::{agent, conversation, turn, turn_event, update_of},
};

const TENANT: Channel = Channel::Tenant;

#[tokio::test]
async fn events_sent_during_a_repeated_subscribe_are_not_repeated() {
    let mut fixture = Fixture::after([]).await;
    fixture.open(TENANT, None);
    let head = fixture.head();
    fixture.append([update_of(0), update_of(1)]).await;
    fixture.send_all().await;
    let opening = fixture.open_at(TENANT, None, head);
    let expected = SubscriptionStart {
        head: Seq(2),
        is_live: true,
    };
    assert_eq!(opening, expected);
    fixture.append([update_of(2)]).await;
    fixture.send_all().await;
    assert_eq!(fixture.received_by(TENANT), [1, 2, 3]);
    assert_eq!(fixture.subscriptions.named(), 1);
}

#[tokio::test]
async fn events_not_yet_sent_at_a_repeated_subscribe_follow() {
    let mut fixture = Fixture::after([]).await;
    fixture.open(TENANT, None);
    fixture.append((0..5).map(update_of)).await;
    fixture.send_live(2);
    assert_eq!(fixture.open(TENANT, None).head, Seq(5));
    fixture.send_all().await;
    assert_eq!(fixture.received_by(TENANT), [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn a_replay_continues_after_a_repeated_subscribe() {
    let mut fixture = Fixture::after((0..5).map(update_of)).await;
    fixture.open(TENANT, Some(1));
    let request = fixture.subscriptions.next_request().unwrap();
    let opening = fixture.open(TENANT, None);
    assert!(!opening.is_live);
    let page = fixture.page(&request).await;
    fixture.accept_page(request, page);
    fixture.send_all().await;
    let mut sent = fixture.received();
    assert_eq!(sent.pop(), Some(Sent::CaughtUp(TENANT, 5)));
    let expected: Vec<_> = (2..=5).map(|seq| Sent::Event(vec![TENANT], seq)).collect();
    assert_eq!(sent, expected);
}

#[tokio::test]
async fn a_cursor_restarts_a_channel() {
    let mut fixture = Fixture::after((0..3).map(update_of)).await;
    let channel = Channel::Agent(agent(0));
    fixture.open(channel, None);
    fixture.append([update_of(0)]).await;
    fixture.send_all().await;
    assert_eq!(fixture.received_by(channel), [4]);
    fixture.open(channel, Some(0));
    fixture.send_all().await;
    assert_eq!(fixture.received_by(channel), [1, 4]);
}

#[tokio::test]
async fn events_of_a_chat_are_not_repeated_after_a_subscribe_to_its_conversation() {
    use EventType::{TurnCompleted, TurnStarted};
    let channel = Channel::Conversation(conversation(0));
    // While the turn is followed, and when it has just ended.
    for events in [&[TurnStarted][..], &[TurnStarted, TurnCompleted]] {
        let mut fixture = Fixture::after([]).await;
        let head = fixture.head();
        fixture
            .subscriptions
            .await_turn(turn(1), channel, agent(0), head);
        fixture
            .append(events.iter().map(|kind| turn_event(*kind, 0, 1)))
            .await;
        fixture.send_all().await;
        let last = fixture.head();
        assert_eq!(fixture.open_at(channel, None, head).head, last);
        fixture.append([turn_event(TurnStarted, 0, 2)]).await;
        fixture.send_all().await;
        let expected: Vec<_> = (1..=last.0 + 1).collect();
        assert_eq!(fixture.received_by(channel), expected);
    }
}

#[tokio::test]
async fn events_sent_before_an_unsubscribe_are_not_repeated() {
    let mut fixture = Fixture::after([]).await;
    fixture.open(TENANT, None);
    let head = fixture.head();
    fixture.append([update_of(0)]).await;
    fixture.send_all().await;
    fixture.subscriptions.close(TENANT);
    fixture.append([update_of(1)]).await;
    assert_eq!(fixture.open_at(TENANT, None, head).head, Seq(1));
    fixture.send_all().await;
    assert_eq!(fixture.received_by(TENANT), [1, 2]);
}

#[tokio::test]
async fn a_subscribe_during_a_deletion_receives_the_deletion() {
    let mut fixture = Fixture::after([]).await;
    let channel = Channel::Conversation(conversation(0));
    fixture.open(channel, None);
    let head = fixture.head();
    let deletion = turn_event(EventType::ConversationDeleted, 0, 0);
    fixture.append([deletion]).await;
    for _ in 0..2 {
        fixture.send_all().await;
        let expected = [Sent::Event(vec![channel], 1), Sent::Deleted(channel)];
        assert_eq!(fixture.received(), expected);
        fixture.open_at(channel, None, head);
    }
}
