//! Following a channel that is followed already, or was a moment ago.

use domain::EventType;

use super::{
    super::*,
    log::{agent, conversation, turn, turn_event, update_of},
    world::{Sent, World},
};

const TENANT: Channel = Channel::Tenant;

#[tokio::test]
async fn what_was_sent_while_a_channel_was_opened_again_is_not_sent_again() {
    let mut world = World::after([]).await;
    world.open(TENANT, None);
    let head = world.head();
    world.append([update_of(0), update_of(1)]).await;
    world.settle().await;
    let opening = world.open_at(TENANT, None, head);
    let expected = Opening {
        head: Seq(2),
        is_live: true,
    };
    assert_eq!(opening, expected);
    world.append([update_of(2)]).await;
    world.settle().await;
    assert_eq!(world.received_by(TENANT), [1, 2, 3]);
    assert_eq!(world.subscriptions.named(), 1);
}

#[tokio::test]
async fn what_was_not_yet_sent_when_a_channel_is_opened_again_is_not_left_out() {
    let mut world = World::after([]).await;
    world.open(TENANT, None);
    world.append((0..5).map(update_of)).await;
    world.send_live(2);
    assert_eq!(world.open(TENANT, None).head, Seq(5));
    world.settle().await;
    assert_eq!(world.received_by(TENANT), [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn a_replay_goes_on_when_its_channel_is_opened_again() {
    let mut world = World::after((0..5).map(update_of)).await;
    world.open(TENANT, Some(1));
    let request = world.subscriptions.next_request().unwrap();
    let opening = world.open(TENANT, None);
    assert!(!opening.is_live);
    let page = world.page(&request).await;
    world.take_in(request, page);
    world.settle().await;
    let mut sent = world.received();
    assert_eq!(sent.pop(), Some(Sent::CaughtUp(TENANT, 5)));
    let expected: Vec<_> = (2..=5).map(|seq| Sent::Event(vec![TENANT], seq)).collect();
    assert_eq!(sent, expected);
}

#[tokio::test]
async fn a_cursor_begins_a_channel_anew() {
    let mut world = World::after((0..3).map(update_of)).await;
    let channel = Channel::Agent(agent(0));
    world.open(channel, None);
    world.append([update_of(0)]).await;
    world.settle().await;
    assert_eq!(world.received_by(channel), [4]);
    world.open(channel, Some(0));
    world.settle().await;
    assert_eq!(world.received_by(channel), [1, 4]);
}

#[tokio::test]
async fn what_a_chat_was_followed_by_is_not_sent_again_to_who_names_its_conversation() {
    use EventType::{TurnCompleted, TurnStarted};
    let channel = Channel::Conversation(conversation(0));
    // While the turn is followed, and when it has just ended.
    for events in [&[TurnStarted][..], &[TurnStarted, TurnCompleted]] {
        let mut world = World::after([]).await;
        let head = world.head();
        world
            .subscriptions
            .await_turn(turn(1), channel, agent(0), head);
        world
            .append(events.iter().map(|kind| turn_event(*kind, 0, 1)))
            .await;
        world.settle().await;
        let last = world.head();
        assert_eq!(world.open_at(channel, None, head).head, last);
        world.append([turn_event(TurnStarted, 0, 2)]).await;
        world.settle().await;
        let expected: Vec<_> = (1..=last.0 + 1).collect();
        assert_eq!(world.received_by(channel), expected);
    }
}

#[tokio::test]
async fn what_was_sent_before_a_channel_was_closed_is_not_sent_again() {
    let mut world = World::after([]).await;
    world.open(TENANT, None);
    let head = world.head();
    world.append([update_of(0)]).await;
    world.settle().await;
    world.subscriptions.close(TENANT);
    world.append([update_of(1)]).await;
    assert_eq!(world.open_at(TENANT, None, head).head, Seq(1));
    world.settle().await;
    assert_eq!(world.received_by(TENANT), [1, 2]);
}

#[tokio::test]
async fn whoever_opens_what_is_being_deleted_is_told_that_it_is() {
    let mut world = World::after([]).await;
    let channel = Channel::Conversation(conversation(0));
    world.open(channel, None);
    let head = world.head();
    let deletion = turn_event(EventType::ConversationDeleted, 0, 0);
    world.append([deletion]).await;
    for _ in 0..2 {
        world.settle().await;
        let expected = [Sent::Event(vec![channel], 1), Sent::Deleted(channel)];
        assert_eq!(world.received(), expected);
        world.open_at(channel, None, head);
    }
}
