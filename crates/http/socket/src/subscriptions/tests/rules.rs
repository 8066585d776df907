use domain::EventType;

use super::{
    super::*,
    fixture::{Fixture, Sent},
    log::{NewEvent, agent, conversation, everything, move_to, turn_event, update_of},
};

const TENANT: Channel = Channel::Tenant;

#[tokio::test]
async fn without_a_cursor_only_new_events_are_sent() {
    let mut fixture = Fixture::after([update_of(0)]).await;
    fixture.open(TENANT, None);
    fixture.send_all().await;
    assert_eq!(fixture.received(), []);
    fixture.append([update_of(0), update_of(1)]).await;
    fixture.send_all().await;
    let expected = [2, 3].map(|seq| Sent::Event(vec![TENANT], seq));
    assert_eq!(fixture.received(), expected);
}

#[tokio::test]
async fn an_event_names_all_its_channels() {
    let mut fixture = Fixture::after([]).await;
    let [first, second] = [0, 1].map(|number| Channel::Agent(agent(number)));
    for channel in [TENANT, first, second] {
        fixture.open(channel, None);
    }
    fixture.append([update_of(0), update_of(1)]).await;
    fixture.send_all().await;
    let expected = [
        Sent::Event(vec![TENANT, first], 1),
        Sent::Event(vec![TENANT, second], 2),
    ];
    assert_eq!(fixture.received(), expected);
}

#[tokio::test]
async fn a_deletion_ends_a_channel_even_if_the_event_is_not_visible() {
    let deletion = NewEvent {
        kind: EventType::AgentDeleted,
        ..update_of(0)
    };
    for shows_agents in [true, false] {
        let mut fixture = Fixture::after([]).await;
        fixture.visibility.agents = shows_agents;
        let head = fixture.tail.position();
        let [first, second] = [0, 1].map(|number| Channel::Agent(agent(number)));
        let in_conversation = Channel::Conversation(conversation(0));
        for channel in [TENANT, first, second] {
            fixture.open(channel, None);
        }
        fixture
            .subscriptions
            .open(in_conversation, Some(agent(0)), None, head);
        fixture.append([deletion, update_of(0)]).await;
        fixture.send_all().await;
        let mut expected = vec![Sent::Deleted(first), Sent::Deleted(in_conversation)];
        if shows_agents {
            expected.insert(0, Sent::Event(vec![TENANT, first], 1));
            expected.push(Sent::Event(vec![TENANT], 2));
        }
        assert_eq!(fixture.received(), expected);
        let left: Vec<_> = fixture.subscriptions.channels().collect();
        assert_eq!(left, [TENANT, second]);
    }
}

#[tokio::test]
async fn a_replayed_deletion_ends_a_channel() {
    let deletion = NewEvent {
        kind: EventType::ConversationDeleted,
        ..turn_event(EventType::ConversationDeleted, 0, 0)
    };
    let mut fixture = Fixture::after([turn_event(EventType::TurnStarted, 0, 1), deletion]).await;
    let channel = Channel::Conversation(conversation(0));
    fixture.open(channel, Some(0));
    fixture.send_all().await;
    let expected = [
        Sent::Event(vec![channel], 1),
        Sent::Event(vec![channel], 2),
        Sent::Deleted(channel),
    ];
    assert_eq!(fixture.received(), expected);
    assert_eq!(fixture.subscriptions.channels().count(), 0);
}

/// A socket of a user, or of staff, that follows the tenant and a conversation of Ada.
async fn socket_of(user: Option<&str>) -> Fixture {
    let mut fixture = Fixture::after([]).await;
    fixture.visibility.user_id = user.map(ToOwned::to_owned);
    let channel = Channel::Conversation(conversation(0));
    fixture.open(TENANT, None);
    let subscriptions = &mut fixture.subscriptions;
    subscriptions.open(channel, Some(agent(0)), None, Seq(0));
    fixture
}

#[tokio::test]
async fn a_move_ends_the_channel_of_the_user_before_and_of_nobody_else() {
    let channel = Channel::Conversation(conversation(0));
    for (reader, user) in [
        (Some("ada"), Some("bob")),
        (Some("ada"), None),
        (Some("bob"), Some("bob")),
        (None, Some("bob")),
    ] {
        let mut fixture = socket_of(reader).await;
        let of_user = |user| NewEvent {
            user,
            ..turn_event(EventType::TurnStarted, 0, 1)
        };
        fixture.append([move_to(0, user), of_user(user)]).await;
        fixture.send_all().await;
        let mut expected = vec![Sent::Moved(1), Sent::Event(vec![TENANT, channel], 1)];
        if reader == Some("ada") {
            expected.push(Sent::Deleted(channel));
        } else {
            expected.push(Sent::Event(vec![TENANT, channel], 2));
        }
        assert_eq!(fixture.received(), expected, "{reader:?} {user:?}");
    }
}

#[tokio::test]
async fn a_replayed_move_ends_the_channel_of_the_user_before() {
    let of_bob = NewEvent {
        user: Some("bob"),
        ..turn_event(EventType::TurnStarted, 0, 1)
    };
    let mut fixture = Fixture::after([of_bob, move_to(0, Some("bob")), of_bob]).await;
    fixture.visibility.user_id = Some("ada".to_owned());
    let channel = Channel::Conversation(conversation(0));
    fixture.open(channel, Some(0));
    fixture.send_all().await;
    let expected = [
        Sent::Moved(2),
        Sent::Event(vec![channel], 2),
        Sent::Deleted(channel),
    ];
    assert_eq!(fixture.received(), expected);
    assert_eq!(fixture.subscriptions.channels().count(), 0);
}

/// It follows the replies of turns that it has started, which end with the move.
#[tokio::test]
async fn a_caller_that_may_not_read_conversations_learns_of_moves_without_an_event() {
    let mut fixture = Fixture::after([]).await;
    fixture.visibility.conversations = false;
    fixture.visibility.user_id = Some("ada".to_owned());
    fixture.open(TENANT, None);
    fixture.append([move_to(0, Some("bob"))]).await;
    fixture.send_all().await;
    assert_eq!(fixture.received(), [Sent::Moved(1)]);
}

/// The notices of a deletion for a caller that may not read conversations; `agent_of_it` is the
/// conversation's agent, if it was looked up.
async fn notices_of_a_deletion(agent_of_it: Option<AgentId>) -> Vec<Sent> {
    let mut fixture = Fixture::after([]).await;
    fixture.visibility.conversations = false;
    let channel = Channel::Conversation(conversation(0));
    fixture.open(channel, None);
    // The second call may know more about the conversation.
    fixture
        .subscriptions
        .open(channel, agent_of_it, None, Seq(0));
    let deletion = turn_event(EventType::ConversationDeleted, 0, 0);
    fixture.append([deletion]).await;
    fixture.send_all().await;
    assert_eq!(fixture.subscriptions.channels().count(), 0);
    fixture.received()
}

#[tokio::test]
async fn the_end_of_an_unchecked_channel_is_not_reported() {
    assert_eq!(notices_of_a_deletion(None).await, []);
    let channel = Channel::Conversation(conversation(0));
    let sent = notices_of_a_deletion(Some(agent(0))).await;
    assert_eq!(sent, [Sent::Deleted(channel)]);
}

#[tokio::test]
async fn a_full_send_queue_stops_the_sending() {
    let mut fixture = Fixture::after([]).await;
    fixture.open(TENANT, None);
    fixture.append([update_of(0), update_of(0)]).await;
    let (subscriptions, tail) = (&mut fixture.subscriptions, &fixture.tail);
    let rejected =
        subscriptions.send_live(tail, &everything(), || true, &mut |_| Err(SendQueueFull));
    assert_eq!(rejected, Err(SendQueueFull));
}
