use domain::EventType;

use super::{
    super::*,
    log::{Sample, agent, conversation, everything, turn_event, update_of},
    world::{Sent, World},
};

const TENANT: Channel = Channel::Tenant;

#[tokio::test]
async fn who_comes_without_a_cursor_is_told_what_happens_from_then_on() {
    let mut world = World::after([update_of(0)]).await;
    world.open(TENANT, None);
    world.settle().await;
    assert_eq!(world.received(), []);
    world.append([update_of(0), update_of(1)]).await;
    world.settle().await;
    let expected = [2, 3].map(|seq| Sent::Event(vec![TENANT], seq));
    assert_eq!(world.received(), expected);
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
        Sent::Event(vec![TENANT, first], 1),
        Sent::Event(vec![TENANT, second], 2),
    ];
    assert_eq!(world.received(), expected);
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
        let mut expected = vec![Sent::Deleted(first), Sent::Deleted(there)];
        if shows_agents {
            expected.insert(0, Sent::Event(vec![TENANT, first], 1));
            expected.push(Sent::Event(vec![TENANT], 2));
        }
        assert_eq!(world.received(), expected);
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
        Sent::Event(vec![channel], 1),
        Sent::Event(vec![channel], 2),
        Sent::Deleted(channel),
    ];
    assert_eq!(world.received(), expected);
    assert_eq!(world.subscriptions.channels().count(), 0);
}

/// What is sent of a deletion to who may read no conversations; `agent` is who answers in it, if
/// that was looked up.
async fn sent_of_a_deletion(agent_of_it: Option<AgentId>) -> Vec<Sent> {
    let mut world = World::after([]).await;
    world.visibility.conversations = false;
    let channel = Channel::Conversation(conversation(0));
    world.open(channel, None);
    // The second time it may be known more of it.
    world.subscriptions.open(channel, agent_of_it, None, Seq(0));
    let deletion = turn_event(EventType::ConversationDeleted, 0, 0);
    world.append([deletion]).await;
    world.settle().await;
    assert_eq!(world.subscriptions.channels().count(), 0);
    world.received()
}

#[tokio::test]
async fn nobody_is_told_of_the_end_of_what_it_may_not_know() {
    assert_eq!(sent_of_a_deletion(None).await, []);
    let channel = Channel::Conversation(conversation(0));
    let sent = sent_of_a_deletion(Some(agent(0))).await;
    assert_eq!(sent, [Sent::Deleted(channel)]);
}

#[tokio::test]
async fn whoever_reads_too_slowly_is_told_no_more() {
    let mut world = World::after([]).await;
    world.open(TENANT, None);
    world.append([update_of(0), update_of(0)]).await;
    let (subscriptions, tail) = (&mut world.subscriptions, &world.tail);
    let refused = subscriptions.send_live(tail, &everything(), || true, &mut |_| Err(Overfull));
    assert_eq!(refused, Err(Overfull));
}
