use domain::EventType;

use super::{
    super::*,
    log::{Sample, Told, World, agent, conversation, everything, turn, turn_event, update_of},
};
use crate::socket::frames::ResyncReason;

const TENANT: Channel = Channel::Tenant;

#[tokio::test]
async fn who_comes_without_a_cursor_is_told_what_happens_from_then_on() {
    let mut world = World::after([update_of(0)]).await;
    world.open(TENANT, None);
    world.settle().await;
    assert_eq!(world.heard(), []);
    world.append([update_of(0), update_of(1)]).await;
    world.settle().await;
    let expected = [2, 3].map(|seq| Told::Event(vec![TENANT], seq));
    assert_eq!(world.heard(), expected);
}

#[tokio::test]
async fn channels_of_one_event_are_told_together() {
    let mut world = World::after([]).await;
    let [first, second] = [0, 1].map(|number| Channel::Agent(agent(number)));
    for channel in [TENANT, first, second] {
        world.open(channel, None);
    }
    world.append([update_of(0), update_of(1)]).await;
    world.settle().await;
    let expected = [
        Told::Event(vec![TENANT, first], 1),
        Told::Event(vec![TENANT, second], 2),
    ];
    assert_eq!(world.heard(), expected);
}

#[tokio::test]
async fn a_replay_is_told_page_by_page_and_then_that_it_is_over() {
    let mut world = World::after((0..130).map(|number| update_of(number % 2))).await;
    let channel = Channel::Agent(agent(1));
    world.open(channel, Some(10));
    world.settle().await;
    let mut told = world.heard();
    assert_eq!(told.pop(), Some(Told::CaughtUp(channel, 130)));
    let expected: Vec<i64> = (11..=130).filter(|seq| seq % 2 == 0).collect();
    assert_eq!(World::told_to(&told, channel), expected);
    world.append([update_of(1)]).await;
    world.settle().await;
    assert_eq!(world.heard(), [Told::Event(vec![channel], 131)]);
}

#[tokio::test]
async fn a_replay_stops_where_there_is_no_room() {
    let mut world = World::after((0..20).map(|_| update_of(0))).await;
    world.open(TENANT, Some(0));
    let wanted = world.subscriptions.next_wanted().unwrap();
    assert_eq!(
        world.subscriptions.next_wanted(),
        None,
        "one page at a time"
    );
    let page = world.page(&wanted).await;
    world.take_in(wanted, page);
    for already in [0, 5, 10, 15] {
        world.tell_past(5);
        let expected: Vec<i64> = (already + 1..=already + 5).collect();
        assert_eq!(World::told_to(&world.heard(), TENANT), expected);
    }
    world.tell_past(5);
    assert_eq!(world.heard(), [Told::CaughtUp(TENANT, 20)]);
}

#[tokio::test]
async fn a_cursor_that_is_not_in_the_log_goes_on_from_the_present() {
    let mut world = World::after((0..20).map(|_| update_of(0))).await;
    world.trim(10);
    let channel = Channel::Agent(agent(0));
    for cursor in [5, 21] {
        world.open(channel, Some(cursor));
        world.settle().await;
        let resync = Told::Resync(channel, 11, 20, ResyncReason::Retention);
        assert_eq!(world.heard(), [resync], "{cursor}");
    }
    world.append([update_of(0)]).await;
    world.settle().await;
    assert_eq!(world.heard(), [Told::Event(vec![channel], 21)]);
    // The oldest that is still there can be told.
    world.open(channel, Some(10));
    world.settle().await;
    let told = World::told_to(&world.heard(), channel);
    assert_eq!(told, (11..=21).collect::<Vec<_>>());
}

#[tokio::test]
async fn more_than_ten_thousand_events_are_too_many_to_tell() {
    let count = i64::try_from(MOST_REPLAYED).unwrap();
    for (more, is_told) in [(0, true), (1, false)] {
        let agents = (0..count + more).map(|_| 0).chain([1; 30]);
        let mut world = World::after(agents.map(update_of)).await;
        let channel = Channel::Agent(agent(0));
        world.open(channel, Some(0));
        world.settle().await;
        let told = world.heard();
        let head = count + more + 30;
        let last = if is_told {
            Told::CaughtUp(channel, head)
        } else {
            Told::Resync(channel, 1, head, ResyncReason::Limit)
        };
        assert_eq!(told.last(), Some(&last));
        let events = World::told_to(&told, channel);
        assert_eq!(events, (1..=count).collect::<Vec<_>>());
        world.append([update_of(0)]).await;
        world.settle().await;
        assert_eq!(world.heard(), [Told::Event(vec![channel], head + 1)]);
    }
}

#[tokio::test]
async fn who_has_fallen_behind_what_is_in_memory_catches_up_without_a_word() {
    let mut world = World::after([]).await;
    world.open(TENANT, None);
    world.append((0..3_000).map(|_| update_of(0))).await;
    world.settle().await;
    let told = world.heard();
    assert_eq!(
        World::told_to(&told, TENANT),
        (1..=3_000).collect::<Vec<_>>()
    );
    assert_eq!(told.len(), 3_000, "nothing but events");
}

#[tokio::test]
async fn what_was_read_for_a_subscription_that_has_ended_is_not_told() {
    let mut world = World::after((0..3).map(|_| update_of(0))).await;
    world.open(TENANT, Some(0));
    let wanted = world.subscriptions.next_wanted().unwrap();
    let page = world.page(&wanted).await;
    world.subscriptions.close(TENANT);
    world.take_in(wanted, page.clone());
    world.settle().await;
    assert_eq!(world.heard(), []);
    // Nor for one that has begun anew meanwhile.
    world.open(TENANT, Some(0));
    let wanted = world.subscriptions.next_wanted().unwrap();
    world.open(TENANT, Some(2));
    world.take_in(wanted, page);
    world.settle().await;
    let expected = [Told::Event(vec![TENANT], 3), Told::CaughtUp(TENANT, 3)];
    assert_eq!(world.heard(), expected);
}

#[tokio::test]
async fn a_page_that_could_not_be_read_is_read_again() {
    let mut world = World::after([update_of(0)]).await;
    world.open(TENANT, Some(0));
    let wanted = world.subscriptions.next_wanted().unwrap();
    world.take_in(wanted, Page::Failed);
    world.settle().await;
    let expected = [Told::Event(vec![TENANT], 1), Told::CaughtUp(TENANT, 1)];
    assert_eq!(world.heard(), expected);
}

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
    assert_eq!(World::told_to(&world.heard(), channel), [1, 3, 4, 5]);
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
    assert_eq!(World::told_to(&world.heard(), channel), [1, 2, 3]);
    assert_eq!(world.subscriptions.named(), 1);
}

#[tokio::test]
async fn a_channel_ends_with_what_it_follows_also_when_that_is_not_shown() {
    let deletion = Sample {
        kind: EventType::AgentDeleted,
        ..update_of(0)
    };
    for shows_agents in [true, false] {
        let mut world = World::after([]).await;
        world.visibility.agents = shows_agents;
        let head = world.tail.position();
        let [first, second] = [0, 1].map(|number| Channel::Agent(agent(number)));
        let there = Channel::Conversation(conversation(0));
        for channel in [TENANT, first, second] {
            world.open(channel, None);
        }
        world.subscriptions.open(there, Some(agent(0)), None, head);
        world.append([deletion, update_of(0)]).await;
        world.settle().await;
        let mut expected = vec![Told::Deleted(first), Told::Deleted(there)];
        if shows_agents {
            expected.insert(0, Told::Event(vec![TENANT, first], 1));
            expected.push(Told::Event(vec![TENANT], 2));
        }
        assert_eq!(world.heard(), expected);
        let left: Vec<_> = world.subscriptions.channels().collect();
        assert_eq!(left, [TENANT, second]);
    }
}

#[tokio::test]
async fn a_deletion_in_the_past_ends_a_channel_too() {
    let deletion = Sample {
        kind: EventType::ConversationDeleted,
        ..turn_event(EventType::ConversationDeleted, 0, 0)
    };
    let mut world = World::after([turn_event(EventType::TurnStarted, 0, 1), deletion]).await;
    let channel = Channel::Conversation(conversation(0));
    world.open(channel, Some(0));
    world.settle().await;
    let expected = [
        Told::Event(vec![channel], 1),
        Told::Event(vec![channel], 2),
        Told::Deleted(channel),
    ];
    assert_eq!(world.heard(), expected);
    assert_eq!(world.subscriptions.channels().count(), 0);
}

#[tokio::test]
async fn whoever_reads_too_slowly_is_told_no_more() {
    let mut world = World::after([]).await;
    world.open(TENANT, None);
    world.append([update_of(0), update_of(0)]).await;
    let (subscriptions, tail) = (&mut world.subscriptions, &world.tail);
    let refused = subscriptions.tell_news(tail, &everything(), &mut |_| Err(Overfull));
    assert_eq!(refused, Err(Overfull));
}
