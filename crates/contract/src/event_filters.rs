//! `EventLog::page`: filters and visibility.

use domain::{Conversation, EventType, PrincipalId, Seq};
use ports::{EventQuery, EventVisibility};
use writes::{BeginTurn, ConversationTarget};

use crate::{Store, fixture, log, purging, setup};

/// Two agents with one conversation each, of the users `ada` and `bob`, with turns of two
/// principals. The events are:
///
/// - 1 and 2: `agent.created`
/// - 3 `conversation.created` and 4 `turn.started`: conversation of `ada` with agent 1, turn of the
///   fixture's principal
/// - 5 `conversation.created` and 6 `turn.started`: conversation of `bob` with agent 2, turn of
///   `main~bob`
/// - 7 `turn.queued`: conversation of `ada`, turn of `main~bob`
async fn two_conversations(storage: &Store) {
    setup::node(storage, 1).await;
    setup::agent(storage, 1).await;
    setup::agent(storage, 2).await;
    let of_bob = |mut begin: BeginTurn| {
        begin.stamp.actor = PrincipalId::new("main~bob");
        begin
    };
    for (number, user) in [(1, "ada"), (2, "bob")] {
        let agent = fixture::agent(number);
        let conversation = Conversation {
            user_id: Some(user.to_owned()),
            ..fixture::conversation(number, agent.id)
        };
        let begin = fixture::begin_turn(number, &agent, ConversationTarget::New(conversation));
        let begin = if number == 2 { of_bob(begin) } else { begin };
        setup::start_turn(storage, &begin).await;
    }
    let (agent, conversation) = (
        fixture::agent(1),
        fixture::conversation(1, fixture::agent_id(1)),
    );
    let waiting = fixture::begin_turn(3, &agent, fixture::existing(&conversation, 1));
    setup::queue_turn(storage, &of_bob(waiting)).await;
}

async fn shown(storage: &Store, query: EventQuery) -> Vec<i64> {
    let page = log::page(storage, &query).await;
    assert_eq!(
        (page.first, page.head),
        (Seq(1), Seq(7)),
        "filters hide no bounds"
    );
    page.events
        .iter()
        .map(|logged| logged.event.seq.0)
        .collect()
}

fn everything() -> EventQuery {
    log::query(Seq(0))
}

fn visible(agents: bool, conversations: bool, principal: &str, user: Option<&str>) -> EventQuery {
    EventQuery {
        visibility: Some(EventVisibility {
            agents,
            whole_agents: agents,
            users: agents,
            conversations,
            principal: PrincipalId::new(principal),
            user_id: user.map(ToOwned::to_owned),
            reach: domain::AgentReach::ALL,
            audience: domain::Audience::Staff,
        }),
        ..everything()
    }
}

/// The type filter returns only these types; all if it is empty.
pub async fn events_are_filtered_by_type(storage: &Store) {
    two_conversations(storage).await;
    for (types, expected) in [
        (vec![], vec![1, 2, 3, 4, 5, 6, 7]),
        (vec![EventType::TurnQueued], vec![7]),
        (
            vec![EventType::AgentCreated, EventType::TurnStarted],
            vec![1, 2, 4, 6],
        ),
        (vec![EventType::AgentDeleted], vec![]),
    ] {
        let query = EventQuery {
            types: types.clone(),
            ..everything()
        };
        assert_eq!(shown(storage, query).await, expected, "{types:?}");
    }
}

/// The agent filter returns the agent's own events and those of its conversations.
pub async fn events_are_filtered_by_agent(storage: &Store) {
    two_conversations(storage).await;
    for (agent, expected) in [(1, vec![1, 3, 4, 7]), (2, vec![2, 5, 6]), (3, vec![])] {
        let query = EventQuery {
            agent_id: Some(fixture::agent_id(agent)),
            ..everything()
        };
        assert_eq!(shown(storage, query).await, expected, "agent {agent}");
    }
}

/// The events of other agents, and those of their conversations, are hidden from a principal that reaches only
/// some agents.
pub async fn events_of_agents_out_of_reach_are_hidden(storage: &Store) {
    two_conversations(storage).await;
    for (agents, expected) in [
        (vec![1], vec![1, 3, 4, 7]),
        (vec![2, 3], vec![2, 5, 6]),
        (vec![1, 2], vec![1, 2, 3, 4, 5, 6, 7]),
        (vec![3], vec![]),
    ] {
        let mut query = visible(true, true, "key:1", None);
        if let Some(visibility) = &mut query.visibility {
            let ids = agents.iter().copied().map(fixture::agent_id);
            visibility.reach = domain::AgentReach::only(ids);
        }
        assert_eq!(shown(storage, query).await, expected, "agents {agents:?}");
    }
}

/// The conversation filter returns only events of this conversation.
pub async fn events_are_filtered_by_conversation(storage: &Store) {
    two_conversations(storage).await;
    for (conversation, expected) in [(1, vec![3, 4, 7]), (2, vec![5, 6]), (3, vec![])] {
        let query = EventQuery {
            conversation_id: Some(fixture::conversation_id(conversation)),
            ..everything()
        };
        assert_eq!(
            shown(storage, query).await,
            expected,
            "conversation {conversation}"
        );
    }
}

/// All filters must match.
pub async fn all_event_filters_must_match(storage: &Store) {
    two_conversations(storage).await;
    let query = EventQuery {
        since: Seq(3),
        types: vec![EventType::TurnStarted, EventType::TurnQueued],
        agent_id: Some(fixture::agent_id(1)),
        conversation_id: Some(fixture::conversation_id(1)),
        limit: 1,
        ..visible(false, true, "main~ada", Some("ada"))
    };
    assert_eq!(shown(storage, query.clone()).await, [4]);
    let query = EventQuery {
        since: Seq(4),
        ..query
    };
    assert_eq!(shown(storage, query).await, [7]);
}

/// Events of agents are visible only to readers that may read agents.
pub async fn agent_events_need_the_permission_to_read_agents(storage: &Store) {
    two_conversations(storage).await;
    let query = visible(false, true, "key:any", None);
    assert_eq!(shown(storage, query).await, [3, 4, 5, 6, 7]);
}

/// A reader that may not read conversations sees only turns that it started itself.
pub async fn own_turns_are_visible_without_the_permission_to_read_conversations(storage: &Store) {
    two_conversations(storage).await;
    for (principal, expected) in [
        ("main~bob", vec![1, 2, 6, 7]),
        (fixture::principal().as_str(), vec![1, 2, 4]),
        ("key:any", vec![1, 2]),
    ] {
        let query = visible(true, false, principal, None);
        assert_eq!(shown(storage, query).await, expected, "{principal}");
    }
    let query = visible(false, false, "key:any", None);
    assert!(shown(storage, query).await.is_empty());
}

/// A turn belongs to the principal that started it, not to the one that ended it or caused its
/// promotion.
pub async fn own_turns_are_those_that_the_principal_started(storage: &Store) {
    two_conversations(storage).await;
    let (agent, conversation) = (
        fixture::agent(1),
        fixture::conversation(1, fixture::agent_id(1)),
    );
    let running = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::cancel_turn(storage, &running, Some(running.node)).await;
    let query = EventQuery {
        since: Seq(7),
        ..visible(false, false, "main~bob", None)
    };
    let page = log::page(storage, &query).await;
    let seen: Vec<_> = page
        .events
        .iter()
        .map(|logged| (logged.event.kind, logged.event.turn_id))
        .collect();
    assert_eq!(seen, [(EventType::TurnStarted, Some(fixture::turn_id(3)))]);
}

/// An event has the principal that started its turn, even if another principal has ended the turn or
/// an entity was deleted since. It has no principal without a turn, or after the turn is purged.
pub async fn events_have_the_principal_that_started_the_turn(storage: &Store) {
    two_conversations(storage).await;
    let agent = fixture::agent(1);
    let conversation = fixture::conversation(1, agent.id);
    let running = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::cancel_turn(storage, &running, Some(running.node)).await;
    setup::delete_conversation(storage, &conversation).await;
    let (ours, of_bob) = (fixture::principal(), PrincipalId::new("main~bob"));
    let ours = || Some(ours.clone());
    let of_bob = || Some(of_bob.clone());
    // Events 8 and 9: turn 1 is cancelled and turn 3 starts. Events 10 and 11: turn 3 is cancelled
    // and the conversation is deleted.
    let by_ada = [None, None, None, ours(), None];
    let by_bob = [of_bob(), of_bob(), ours(), of_bob(), of_bob(), None];
    let expected: Vec<_> = by_ada.into_iter().chain(by_bob).collect();
    let askers = async || {
        let page = log::page(storage, &everything()).await;
        let askers = page.events.into_iter().map(|logged| logged.started_by);
        askers.collect::<Vec<_>>()
    };
    assert_eq!(askers().await, expected);
    purging::purge_all(storage, 100, purging::deleted_before(fixture::at(10_000))).await;
    let left: Vec<_> = (1..).zip(askers().await).collect();
    let left = left.iter().filter(|(_, started_by)| started_by.is_some());
    assert_eq!(left.map(|(seq, _)| *seq).collect::<Vec<_>>(), [6]);
}

/// A page contains exactly the events for which [`EventVisibility::shows`] returns `true`.
pub async fn pages_follow_the_visibility_rule(storage: &Store) {
    two_conversations(storage).await;
    let agent = fixture::agent(2);
    let conversation = fixture::conversation(3, agent.id);
    let of_nobody = Conversation {
        user_id: None,
        ..conversation
    };
    setup::insert_conversation(storage, of_nobody).await;
    setup::delete_agent(storage, &agent).await;
    let whole = log::page(storage, &everything()).await.events;
    for (agents, conversations) in [(true, true), (true, false), (false, true), (false, false)] {
        for principal in ["main~bob", fixture::principal().as_str(), "key:any"] {
            for user in [None, Some("ada"), Some("bob"), Some("")] {
                let query = visible(agents, conversations, principal, user);
                let by_page = log::page(storage, &query).await.events;
                let rule = query.visibility.expect("one is set");
                let mut by_rule = whole.clone();
                by_rule.retain(|logged| rule.shows(logged));
                assert_eq!(by_page, by_rule, "{rule:?}");
            }
        }
    }
}

/// A user sees only events of its own conversations, and events of agents.
pub async fn a_user_sees_only_events_of_its_own_conversations(storage: &Store) {
    two_conversations(storage).await;
    for (user, expected) in [
        ("ada", vec![1, 2, 3, 4, 7]),
        ("bob", vec![1, 2, 5, 6]),
        ("Ada", vec![1, 2]),
    ] {
        let query = visible(true, true, "main~any", Some(user));
        assert_eq!(shown(storage, query).await, expected, "{user}");
    }
    let query = visible(false, false, "main~bob", Some("ada"));
    assert_eq!(shown(storage, query).await, [7]);
}
