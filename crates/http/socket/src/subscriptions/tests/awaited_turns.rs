use domain::EventType;

use super::{
    super::*,
    fixture::{Fixture, Sent},
    log::{agent, conversation, turn, turn_event},
};
use crate::frames::ResyncReason;

#[tokio::test]
async fn a_conversation_is_followed_until_all_awaited_turns_have_ended() {
    use EventType::{TurnCompleted, TurnFailed, TurnStarted};
    let mut fixture = Fixture::after([]).await;
    let channel = Channel::Conversation(conversation(0));
    for number in [1, 2] {
        let since = fixture.tail.position();
        fixture
            .subscriptions
            .await_turn(turn(number), channel, agent(0), since);
    }
    assert_eq!(fixture.subscriptions.named(), 0);
    let events = [
        turn_event(TurnStarted, 0, 1),
        turn_event(TurnCompleted, 1, 1),
        turn_event(TurnCompleted, 0, 1),
        turn_event(TurnStarted, 0, 2),
        turn_event(TurnFailed, 0, 2),
        turn_event(TurnStarted, 0, 3),
    ];
    fixture.append(events).await;
    fixture.send_all().await;
    // Event 2 belongs to another conversation, with the same turn id.
    assert_eq!(fixture.received_by(channel), [1, 3, 4, 5]);
    assert_eq!(fixture.subscriptions.channels().count(), 0);
}

#[tokio::test]
async fn an_explicit_subscription_does_not_end_with_a_turn() {
    let mut fixture = Fixture::after([]).await;
    let channel = Channel::Conversation(conversation(0));
    let since = fixture.tail.position();
    fixture
        .subscriptions
        .await_turn(turn(1), channel, agent(0), since);
    fixture.open(channel, None);
    fixture
        .subscriptions
        .await_turn(turn(2), channel, agent(0), since);
    let ends = [1, 2, 3].map(|number| turn_event(EventType::TurnCompleted, 0, number));
    fixture.append(ends).await;
    fixture.send_all().await;
    assert_eq!(fixture.received_by(channel), [1, 2, 3]);
    assert_eq!(fixture.subscriptions.named(), 1);
}

#[tokio::test]
async fn a_gap_ends_an_implicit_subscription_silently() {
    let mut fixture = Fixture::after([]).await;
    let (chat, named) = (
        Channel::Conversation(conversation(0)),
        Channel::Conversation(conversation(1)),
    );
    fixture
        .subscriptions
        .await_turn(turn(1), chat, agent(0), Seq(0));
    fixture.open(named, None);
    // More events than memory holds.
    fixture
        .append((0..3_000).map(|_| turn_event(EventType::TurnStarted, 2, 2)))
        .await;
    fixture.trim(10);
    fixture.send_all().await;
    let sent = fixture.received();
    assert_eq!(
        sent,
        [Sent::Resync(named, 11, 3_000, ResyncReason::Retention)]
    );
    let left: Vec<_> = fixture.subscriptions.channels().collect();
    assert_eq!(left, [named]);
}

#[tokio::test]
async fn implicit_subscriptions_are_bounded() {
    let mut fixture = Fixture::after([]).await;
    let named = Channel::Conversation(conversation(0));
    fixture.open(named, None);
    for number in 1..=u8::MAX {
        let channel = Channel::Conversation(conversation(number));
        fixture
            .subscriptions
            .await_turn(turn(number), channel, agent(0), Seq(0));
    }
    let left: Vec<_> = fixture.subscriptions.channels().collect();
    assert_eq!(left.len(), 1 + MAX_IMPLICIT_SUBSCRIPTIONS);
    assert!(left.contains(&named));
    let latest = (u8::MAX - 127..=u8::MAX).map(|it| Channel::Conversation(conversation(it)));
    assert!(latest.eq(left[1..].iter().copied()));
}

#[tokio::test]
async fn a_turn_whose_end_was_sent_while_its_chat_was_repeated_is_not_awaited() {
    use EventType::{TurnCompleted, TurnStarted};
    let mut fixture = Fixture::after([]).await;
    let channel = Channel::Conversation(conversation(0));
    let since = fixture.tail.position();
    let awaits = |fixture: &mut Fixture, number| {
        let subscriptions = &mut fixture.subscriptions;
        subscriptions.await_turn(turn(number), channel, agent(0), since);
    };
    awaits(&mut fixture, 1);
    awaits(&mut fixture, 2);
    fixture
        .append([
            turn_event(TurnStarted, 0, 1),
            turn_event(TurnCompleted, 0, 1),
        ])
        .await;
    fixture.send_all().await;
    // The other turn is still running.
    awaits(&mut fixture, 1);
    fixture.append([turn_event(TurnCompleted, 0, 2)]).await;
    fixture.send_all().await;
    assert_eq!(fixture.subscriptions.channels().count(), 0);
    // No turn is running.
    awaits(&mut fixture, 2);
    assert_eq!(fixture.subscriptions.channels().count(), 0);
    // New events are sent from the position that the channel had reached.
    awaits(&mut fixture, 3);
    fixture.append([turn_event(TurnCompleted, 0, 3)]).await;
    fixture.send_all().await;
    assert_eq!(fixture.received_by(channel), [1, 2, 3, 4]);
}
