use domain::EventType;

use super::{
    super::*,
    log::{agent, conversation, turn, turn_event},
    world::{Sent, World},
};
use crate::socket::frames::ResyncReason;

#[tokio::test]
async fn a_conversation_is_followed_until_all_awaited_turns_have_ended() {
    use EventType::{TurnCompleted, TurnFailed, TurnStarted};
    let mut world = World::after([]).await;
    let channel = Channel::Conversation(conversation(0));
    for number in [1, 2] {
        let since = world.tail.position();
        world
            .subscriptions
            .await_turn(turn(number), channel, agent(0), since);
    }
    assert_eq!(world.subscriptions.named(), 0);
    let events = [
        turn_event(TurnStarted, 0, 1),
        turn_event(TurnCompleted, 1, 1),
        turn_event(TurnCompleted, 0, 1),
        turn_event(TurnStarted, 0, 2),
        turn_event(TurnFailed, 0, 2),
        turn_event(TurnStarted, 0, 3),
    ];
    world.append(events).await;
    world.settle().await;
    // The one of another conversation, though of the same turn, cannot be.
    assert_eq!(world.received_by(channel), [1, 3, 4, 5]);
    assert_eq!(world.subscriptions.channels().count(), 0);
}

#[tokio::test]
async fn what_was_asked_for_by_name_does_not_end_with_a_turn() {
    let mut world = World::after([]).await;
    let channel = Channel::Conversation(conversation(0));
    let since = world.tail.position();
    world
        .subscriptions
        .await_turn(turn(1), channel, agent(0), since);
    world.open(channel, None);
    world
        .subscriptions
        .await_turn(turn(2), channel, agent(0), since);
    let ends = [1, 2, 3].map(|number| turn_event(EventType::TurnCompleted, 0, number));
    world.append(ends).await;
    world.settle().await;
    assert_eq!(world.received_by(channel), [1, 2, 3]);
    assert_eq!(world.subscriptions.named(), 1);
}

#[tokio::test]
async fn a_gap_ends_what_was_never_named_without_a_word() {
    let mut world = World::after([]).await;
    let (chat, named) = (
        Channel::Conversation(conversation(0)),
        Channel::Conversation(conversation(1)),
    );
    world
        .subscriptions
        .await_turn(turn(1), chat, agent(0), Seq(0));
    world.open(named, None);
    // More than is kept in memory.
    world
        .append((0..3_000).map(|_| turn_event(EventType::TurnStarted, 2, 2)))
        .await;
    world.trim(10);
    world.settle().await;
    let sent = world.received();
    assert_eq!(
        sent,
        [Sent::Resync(named, 11, 3_000, ResyncReason::Retention)]
    );
    let left: Vec<_> = world.subscriptions.channels().collect();
    assert_eq!(left, [named]);
}

#[tokio::test]
async fn what_is_followed_for_chats_does_not_pile_up() {
    let mut world = World::after([]).await;
    let named = Channel::Conversation(conversation(0));
    world.open(named, None);
    for number in 1..=u8::MAX {
        let channel = Channel::Conversation(conversation(number));
        world
            .subscriptions
            .await_turn(turn(number), channel, agent(0), Seq(0));
    }
    let left: Vec<_> = world.subscriptions.channels().collect();
    assert_eq!(left.len(), 1 + MOST_IMPLICIT);
    assert!(left.contains(&named));
    let latest = (u8::MAX - 127..=u8::MAX).map(|it| Channel::Conversation(conversation(it)));
    assert!(latest.eq(left[1..].iter().copied()));
}

#[tokio::test]
async fn a_turn_whose_end_was_sent_while_its_chat_was_repeated_is_not_awaited() {
    use EventType::{TurnCompleted, TurnStarted};
    let mut world = World::after([]).await;
    let channel = Channel::Conversation(conversation(0));
    let since = world.tail.position();
    let awaits = |world: &mut World, number| {
        let subscriptions = &mut world.subscriptions;
        subscriptions.await_turn(turn(number), channel, agent(0), since);
    };
    awaits(&mut world, 1);
    awaits(&mut world, 2);
    world
        .append([
            turn_event(TurnStarted, 0, 1),
            turn_event(TurnCompleted, 0, 1),
        ])
        .await;
    world.settle().await;
    // The other turn goes on.
    awaits(&mut world, 1);
    world.append([turn_event(TurnCompleted, 0, 2)]).await;
    world.settle().await;
    assert_eq!(world.subscriptions.channels().count(), 0);
    // Nothing does.
    awaits(&mut world, 2);
    assert_eq!(world.subscriptions.channels().count(), 0);
    // What follows is sent from where the channel was sent to.
    awaits(&mut world, 3);
    world.append([turn_event(TurnCompleted, 0, 3)]).await;
    world.settle().await;
    assert_eq!(world.received_by(channel), [1, 2, 3, 4]);
}
