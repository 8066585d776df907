//! Tests of the answers to queries.

use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use domain::Problem;
use ports::{
    Rows,
    write_store::{LoggedQuery, OpenTurnsOf, RecordKey, RunningTurn, SweptQuery},
};

use super::*;
use crate::{BeginTurn, Command, FinishTurn, Planner, TurnEnding, commands::DeleteAgent, fixture};

fn in_tenant<Id>(id: Id) -> InTenant<Id> {
    (fixture::tenant(), id)
}

fn begin_turn() -> BeginTurn {
    let agent = fixture::agent(1);
    let target = fixture::existing(&fixture::conversation(1, agent.id), 0);
    fixture::begin_turn(1, &agent, target)
}

/// A log at position 10, one agent, and conversation 1 without turns.
fn facts() -> Facts {
    let agent = fixture::agent(1);
    let conversation = fixture::conversation(1, agent.id);
    let found = ConversationFacts::without_open_turns(&conversation, 0, agent.version);
    Facts {
        heads: [in_tenant(Seq(10))].into(),
        agents: [(in_tenant(agent.id), agent.version)].into(),
        conversations: [(in_tenant(conversation.id), found)].into(),
        live_nodes: [fixture::node_id(1)].into(),
        ..Facts::default()
    }
}

fn rows_of(command: &impl Command, facts: &Facts) -> Rows {
    let mut planner = Planner::new(facts);
    command.plan(&mut planner).unwrap();
    planner.into_rows()
}

/// Knows [`facts`] and turn 1, which runs in conversation 1 since position 11.
fn known() -> KnownFacts {
    let mut known = KnownFacts::default();
    known.record(&facts(), &rows_of(&begin_turn(), &facts()));
    known
}

fn answer(known: &KnownFacts, query: &FactsQuery) -> Option<(Facts, Conditions)> {
    let (mut facts, mut conditions) = (Facts::default(), Conditions::default());
    known.add(query, &mut facts, &mut conditions)?;
    Some((facts, conditions))
}

/// A query with each kind of key that can be answered.
fn whole_query() -> FactsQuery {
    let agent = fixture::agent(1);
    let named = fixture::named(fixture::conversation(2, agent.id), "name");
    FactsQuery {
        tenants: [fixture::tenant()].into(),
        agents: [in_tenant(agent.id)].into(),
        new_agents: vec![in_tenant(fixture::agent_id(2))],
        conversations: [in_tenant(fixture::conversation_id(1))].into(),
        new_conversations: vec![in_tenant(fixture::conversation_id(2))],
        new_names: vec![in_tenant(fixture::name_of(&named))],
        turns: [in_tenant(fixture::turn_id(1))].into(),
        open_turns: Vec::new(),
        credentials: [key(1)].into(),
        new_credentials: vec![fixture::key_id(2)],
        whole_credentials: HashSet::new(),
        users: HashSet::new(),
        notes: HashSet::new(),
        files: HashSet::new(),
        uploads: HashSet::new(),
        feedback: HashSet::new(),
        idempotency: vec![RecordKey::new(&fixture::tenant(), &fixture::entry("key"))],
        nodes: [fixture::node_id(1)].into(),
        logged: None,
        swept: None,
        journals: HashSet::new(),
        running_turns: vec![running_turn(1)],
    }
}

/// A turn that may be known or not, under node 1.
fn running_turn(number: u32) -> RunningTurn {
    RunningTurn {
        tenant: fixture::tenant(),
        id: fixture::turn_id(number),
        node: fixture::node_id(1),
    }
}

/// Queries of one agent, conversation and turn each.
fn queries_of_entities(number: u32) -> [FactsQuery; 3] {
    [
        FactsQuery {
            agents: [in_tenant(fixture::agent_id(number))].into(),
            ..FactsQuery::default()
        },
        FactsQuery {
            conversations: [in_tenant(fixture::conversation_id(number))].into(),
            ..FactsQuery::default()
        },
        FactsQuery {
            turns: [in_tenant(fixture::turn_id(number))].into(),
            ..FactsQuery::default()
        },
    ]
}

fn key(number: u32) -> CredentialKey {
    let key = fixture::key(number);
    CredentialKey {
        id: key.id,
        tenant: key.tenant,
        kind: key.kind,
    }
}

#[test]
fn every_fact_is_covered_by_a_head_or_is_a_condition() {
    let query = whole_query();
    let (facts, conditions) = answer(&known(), &query).unwrap();
    let heads: BTreeMap<_, _> = [in_tenant(Seq(11))].into();
    let expected = Conditions {
        heads: heads.clone(),
        live_nodes: vec![fixture::node_id(1)],
        unused_keys: query.idempotency,
        unused_names: query.new_names,
        valid_credentials: query.credentials.into_iter().collect(),
        running_turns: query.running_turns,
    };
    assert_eq!(conditions, expected);
    // Nothing else is claimed.
    let Facts {
        heads: known_heads,
        agents,
        existing_agents,
        conversations,
        named,
        open_turns,
        credentials,
        whole_credentials,
        users,
        notes,
        files,
        uploads,
        feedback,
        turns,
        idempotency,
        live_nodes,
        logged,
        swept,
        journals,
        running_turns,
    } = facts;
    assert_eq!(known_heads, heads);
    assert_eq!(agents, [(in_tenant(fixture::agent_id(1)), 1)].into());
    let conversation = &conversations[&in_tenant(fixture::conversation_id(1))];
    let running = Some(fixture::turn_id(1));
    assert_eq!((conversations.len(), conversation.running), (1, running));
    let turn = &turns[&in_tenant(fixture::turn_id(1))];
    assert_eq!((turns.len(), turn.node), (1, Some(fixture::node_id(1))));
    assert_eq!(credentials, [valid(&key(1))].into());
    assert_eq!(live_nodes, [fixture::node_id(1)].into());
    assert_eq!(running_turns, [running_turn(1)].into());
    assert!(existing_agents.is_empty() && named.is_empty() && open_turns.is_empty());
    assert!(idempotency.is_empty() && logged.is_empty() && swept.is_empty());
    assert!(journals.is_empty() && whole_credentials.is_empty() && users.is_empty());
    assert!(notes.is_empty() && files.is_empty() && uploads.is_empty() && feedback.is_empty());
}

#[test]
fn what_no_head_and_no_condition_covers_is_not_answered() {
    let known = known();
    let open_turns = OpenTurnsOf {
        agent: fixture::agent_id(1),
        conversation: None,
    };
    let swept = SweptQuery {
        tenant: fixture::tenant(),
        max_wait: Duration::from_mins(1),
        limit: 1,
    };
    for query in [
        FactsQuery {
            open_turns: vec![in_tenant(open_turns)],
            ..whole_query()
        },
        FactsQuery {
            logged: Some(LoggedQuery::default()),
            ..whole_query()
        },
        FactsQuery {
            swept: Some(swept),
            ..whole_query()
        },
        FactsQuery {
            journals: [in_tenant(fixture::turn_id(1))].into(),
            ..whole_query()
        },
        FactsQuery {
            whole_credentials: [fixture::key_id(1)].into(),
            ..whole_query()
        },
        FactsQuery {
            users: [in_tenant("ada".to_owned())].into(),
            ..whole_query()
        },
        FactsQuery {
            notes: [fixture::note_key()].into(),
            ..whole_query()
        },
    ] {
        assert!(answer(&known, &query).is_none(), "{query:?}");
        assert!(!KnownFacts::may_read_ahead(&query), "{query:?}");
    }
}

#[test]
fn unknown_entities_are_not_answered() {
    let known = known();
    for query in queries_of_entities(1) {
        assert!(answer(&known, &query).is_some(), "{query:?}");
    }
    for query in queries_of_entities(2) {
        assert!(answer(&known, &query).is_none(), "{query:?}");
    }
    let of_other_tenant = FactsQuery {
        tenants: [fixture::tenant_named("other")].into(),
        ..FactsQuery::default()
    };
    assert!(answer(&known, &of_other_tenant).is_none());
}

#[test]
fn only_heads_and_agents_are_read_ahead() {
    let whole = FactsQuery {
        conversations: HashSet::new(),
        turns: HashSet::new(),
        ..whole_query()
    };
    assert!(KnownFacts::may_read_ahead(&whole));
    let [agent, conversation, turn] = queries_of_entities(1);
    assert!(KnownFacts::may_read_ahead(&agent));
    assert!(!KnownFacts::may_read_ahead(&conversation));
    assert!(!KnownFacts::may_read_ahead(&turn));
}

#[test]
fn a_second_query_adds_to_the_first() {
    let known = known();
    let (mut facts, mut conditions) = answer(&known, &whole_query()).unwrap();
    let more = FactsQuery {
        turns: [in_tenant(fixture::turn_id(1))].into(),
        nodes: [fixture::node_id(2)].into(),
        ..FactsQuery::default()
    };
    known.add(&more, &mut facts, &mut conditions).unwrap();
    assert_eq!(conditions.heads, [in_tenant(Seq(11))].into());
    let nodes = [1, 2].map(fixture::node_id);
    assert_eq!(conditions.live_nodes, nodes);
    assert_eq!(facts.live_nodes, nodes.into());
    assert_eq!(conditions.valid_credentials, [key(1)]);
}

#[test]
fn another_head_makes_all_facts_of_its_tenant_unknown() {
    let mut known = known();
    let later = Facts {
        heads: [in_tenant(Seq(20))].into(),
        ..Facts::default()
    };
    known.record(&later, &Rows::default());
    let head = FactsQuery {
        tenants: [fixture::tenant()].into(),
        ..FactsQuery::default()
    };
    let (facts, _) = answer(&known, &head).unwrap();
    assert_eq!(facts.heads, later.heads);
    for query in queries_of_entities(1) {
        assert!(answer(&known, &query).is_none(), "{query:?}");
    }
}

#[test]
fn a_turn_that_has_ended_is_unknown() {
    let mut known = known();
    let (facts, _) = answer(&known, &whole_query()).unwrap();
    let problem = Problem::new(domain::ProblemCode::Interrupted);
    let finish: FinishTurn = fixture::finish(&begin_turn(), TurnEnding::failed(problem));
    known.record(&facts, &rows_of(&finish, &facts));
    assert!(answer(&known, &whole_query()).is_none());
    let without_turn = FactsQuery {
        turns: HashSet::new(),
        ..whole_query()
    };
    let (facts, conditions) = answer(&known, &without_turn).unwrap();
    let conversation = &facts.conversations[&in_tenant(fixture::conversation_id(1))];
    assert_eq!(conversation.running, None);
    assert_eq!(conditions.heads, [in_tenant(Seq(12))].into());
}

#[test]
fn a_deleted_agent_and_its_conversations_are_unknown() {
    let delete = DeleteAgent {
        tenant: fixture::tenant(),
        id: fixture::agent(1).id,
        expected: None,
        stamp: fixture::stamp(1),
    };
    let mut known = KnownFacts::default();
    known.record(&facts(), &rows_of(&delete, &facts()));
    let [agent, conversation, _] = queries_of_entities(1);
    for query in [agent, conversation] {
        assert!(answer(&known, &query).is_none(), "{query:?}");
    }
}
