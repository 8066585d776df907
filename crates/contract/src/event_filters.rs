//! `EventLog::page`: filters, and what a reader may see.

use domain::{Conversation, EventType, PrincipalId, Seq};
use ports::{BeginTurn, EventQuery, EventVisibility, ExchangeTarget, Storage};

use crate::{given, log, samples, upkeep};

/// Two agents with a conversation each, of `ada` and of `bob`, in which two principals ask.
///
/// 1–2 `agent.created` (1, 2); 3 `conversation.created` and 4 `turn.started` of `ada` with agent
/// 1, asked by the samples' principal; 5 `conversation.created` and 6 `turn.started` of `bob` with
/// agent 2, asked by `main~bob`; 7 `turn.queued` of `ada`, asked by `main~bob`.
async fn two_talks(storage: &Storage) {
    given::node(storage, 1).await;
    given::agent(storage, 1).await;
    given::agent(storage, 2).await;
    let of_bob = |mut question: BeginTurn| {
        question.stamp.actor = PrincipalId::new("main~bob");
        question
    };
    for (number, user) in [(1, "ada"), (2, "bob")] {
        let agent = samples::agent(number);
        let talk = Conversation {
            user_id: Some(user.to_owned()),
            ..samples::conversation(number, agent.id)
        };
        let question = samples::question(number, &agent, ExchangeTarget::New(talk));
        let question = if number == 2 {
            of_bob(question)
        } else {
            question
        };
        given::started(storage, &question).await;
    }
    let (agent, talk) = (
        samples::agent(1),
        samples::conversation(1, samples::agent_id(1)),
    );
    let waiting = samples::question(3, &agent, samples::existing(&talk, 1));
    given::queued(storage, &of_bob(waiting)).await;
}

async fn shown(storage: &Storage, query: EventQuery) -> Vec<i64> {
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
            conversations,
            principal: PrincipalId::new(principal),
            user_id: user.map(ToOwned::to_owned),
        }),
        ..everything()
    }
}

/// Only these types; all when none is named.
pub async fn shows_events_of_some_types(storage: &Storage) {
    two_talks(storage).await;
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

/// Only those that concern an agent: its own, and those of its conversations.
pub async fn shows_events_of_one_agent(storage: &Storage) {
    two_talks(storage).await;
    for (agent, expected) in [(1, vec![1, 3, 4, 7]), (2, vec![2, 5, 6]), (3, vec![])] {
        let query = EventQuery {
            agent_id: Some(samples::agent_id(agent)),
            ..everything()
        };
        assert_eq!(shown(storage, query).await, expected, "agent {agent}");
    }
}

/// Only those that concern a conversation.
pub async fn shows_events_of_one_conversation(storage: &Storage) {
    two_talks(storage).await;
    for (talk, expected) in [(1, vec![3, 4, 7]), (2, vec![5, 6]), (3, vec![])] {
        let query = EventQuery {
            conversation_id: Some(samples::conversation_id(talk)),
            ..everything()
        };
        assert_eq!(shown(storage, query).await, expected, "conversation {talk}");
    }
}

/// Filters hold together.
pub async fn shows_what_passes_all_filters(storage: &Storage) {
    two_talks(storage).await;
    let query = EventQuery {
        since: Seq(3),
        types: vec![EventType::TurnStarted, EventType::TurnQueued],
        agent_id: Some(samples::agent_id(1)),
        conversation_id: Some(samples::conversation_id(1)),
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

/// Events of agents are shown to those who may read agents.
pub async fn hides_agents_from_those_who_may_not_read_them(storage: &Storage) {
    two_talks(storage).await;
    let query = visible(false, true, "key:any", None);
    assert_eq!(shown(storage, query).await, [3, 4, 5, 6, 7]);
}

/// Who may not read conversations sees the turns it started itself, and no others.
pub async fn shows_own_turns_to_those_who_may_not_read_conversations(storage: &Storage) {
    two_talks(storage).await;
    for (principal, expected) in [
        ("main~bob", vec![1, 2, 6, 7]),
        (samples::principal().as_str(), vec![1, 2, 4]),
        ("key:any", vec![1, 2]),
    ] {
        let query = visible(true, false, principal, None);
        assert_eq!(shown(storage, query).await, expected, "{principal}");
    }
    let query = visible(false, false, "key:any", None);
    assert!(shown(storage, query).await.is_empty());
}

/// A turn is one's own by who asked, not by who ended it or by what promoted it.
pub async fn own_turns_are_told_by_who_asked(storage: &Storage) {
    two_talks(storage).await;
    let (agent, talk) = (
        samples::agent(1),
        samples::conversation(1, samples::agent_id(1)),
    );
    let running = samples::question(1, &agent, samples::existing(&talk, 0));
    given::cancelled(storage, &running, Some(running.node)).await;
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
    assert_eq!(seen, [(EventType::TurnStarted, Some(samples::turn_id(3)))]);
}

/// An event names who started its turn, whoever ended it and whatever was deleted since; nobody
/// once the turn is purged, and without a turn.
pub async fn tells_who_asked(storage: &Storage) {
    two_talks(storage).await;
    let agent = samples::agent(1);
    let talk = samples::conversation(1, agent.id);
    let running = samples::question(1, &agent, samples::existing(&talk, 0));
    given::cancelled(storage, &running, Some(running.node)).await;
    given::conversation_deleted(storage, &talk).await;
    let (ours, of_bob) = (samples::principal(), PrincipalId::new("main~bob"));
    let ours = || Some(ours.clone());
    let of_bob = || Some(of_bob.clone());
    // 8 and 9: turn 1 is cancelled and turn 3 starts; 10 and 11: it is cancelled and the
    // conversation goes.
    let by_ada = [None, None, None, ours(), None];
    let by_bob = [of_bob(), of_bob(), ours(), of_bob(), of_bob(), None];
    let expected: Vec<_> = by_ada.into_iter().chain(by_bob).collect();
    let askers = async || {
        let page = log::page(storage, &everything()).await;
        let askers = page.events.into_iter().map(|logged| logged.asker);
        askers.collect::<Vec<_>>()
    };
    assert_eq!(askers().await, expected);
    upkeep::purge_all(storage, 100, upkeep::deleted_before(samples::at(10_000))).await;
    let left: Vec<_> = (1..).zip(askers().await).collect();
    let left = left.iter().filter(|(_, asker)| asker.is_some());
    assert_eq!(left.map(|(seq, _)| *seq).collect::<Vec<_>>(), [6]);
}

/// What a page shows is what [`EventVisibility::shows`] tells of a page without a view of its own.
pub async fn the_rule_and_the_page_show_the_same(storage: &Storage) {
    two_talks(storage).await;
    let agent = samples::agent(2);
    let talk = samples::conversation(3, agent.id);
    let of_nobody = Conversation {
        user_id: None,
        ..talk
    };
    given::stored_conversation(storage, of_nobody).await;
    given::agent_deleted(storage, &agent).await;
    let whole = log::page(storage, &everything()).await.events;
    for (agents, conversations) in [(true, true), (true, false), (false, true), (false, false)] {
        for principal in ["main~bob", samples::principal().as_str(), "key:any"] {
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

/// A user sees only what belongs to its own conversations, agents aside.
pub async fn confines_a_user_to_its_own_conversations(storage: &Storage) {
    two_talks(storage).await;
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
