//! The round trips to the database server of writes.

use std::{mem, time::Duration};

use contract::{Store, fixture};
use domain::{ModelResponse, ToolStep, TurnStep};
use ports::FirstMessages;
use writes::{ConversationTarget, RecordSteps, Reply, TurnEnding};

use crate::{
    database::{Database, store},
    proxy::FaultyProxy,
};

/// A database with agent 1 and node 1, and a store that is connected through a proxy.
struct Fixture {
    database: Database,
    proxy: FaultyProxy,
    storage: Store,
    counted: usize,
}

impl Fixture {
    async fn new() -> Self {
        let database = Database::new().await;
        let proxy = FaultyProxy::start(&database.options()).await;
        let storage = Store::new(store(&proxy.options(&database.options())).await.storage());
        let (tenant, stamp) = (fixture::tenant(), fixture::stamp(0));
        let agent = fixture::agent(1);
        let inserted = database.agents.insert(&tenant, &agent, &stamp, None).await;
        inserted.expect("an agent");
        let node = fixture::node_id(1);
        let lease = database
            .nodes
            .insert(node, &fixture::process(), Duration::from_mins(1))
            .await;
        lease.expect("a node");
        Self {
            database,
            counted: proxy.requests(),
            proxy,
            storage,
        }
    }

    /// The number of round trips since the last call.
    fn round_trips(&mut self) -> usize {
        let now = self.proxy.requests();
        now - mem::replace(&mut self.counted, now)
    }
}

/// Statements are prepared when they are first used, and facts are read by the first write; after
/// that, each write is one round trip.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_of_a_turn_is_one_round_trip() {
    let mut fixture = Fixture::new().await;
    let agent = fixture::agent(1);
    let turns = fixture.storage.turns.clone();
    let mut counts = Vec::new();
    for round in 0..4 {
        let conversation = fixture::conversation(round + 1, agent.id);
        let number = 10 * (round + 1);
        let new = ConversationTarget::New(conversation.clone());
        let turn = fixture::completed_turn(number, &agent, new);
        turns.record_completed_turn(turn).await.unwrap();
        let recorded = fixture.round_trips();
        let begin = fixture::begin_turn(number + 1, &agent, fixture::existing(&conversation, 1));
        turns.begin_turn(begin.clone()).await.unwrap();
        let started = fixture.round_trips();
        let ending = TurnEnding::Completed(Reply {
            requests: fixture::requests(10),
            ..fixture::reply(number + 1)
        });
        let finish = fixture::finish(&begin, ending);
        turns.finish_turn(finish).await.unwrap();
        counts.push([recorded, started, fixture.round_trips()]);
    }
    assert_eq!(counts[2..], [[1, 1, 1], [1, 1, 1]], "{counts:?}");
}

/// Also while another process writes to the tenant: the facts of this one are then unknown, and a step
/// needs none.
#[tokio::test(flavor = "multi_thread")]
async fn a_step_is_one_round_trip() {
    let mut fixture = Fixture::new().await;
    let agent = fixture::agent(1);
    let target = ConversationTarget::New(fixture::conversation(1, agent.id));
    let begin = fixture::begin_turn(1, &agent, target);
    let turns = fixture.storage.turns.clone();
    turns.begin_turn(begin.clone()).await.unwrap();
    let writes = fixture.storage.writes.clone();
    let call = |number: usize| fixture::tool_step(&format!("call-{number}"));
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(1));
    let mut counts = Vec::new();
    for round in 0..8 {
        if round >= 4 {
            let other = fixture::agent(u32::try_from(round).unwrap() + 10);
            let agents = &fixture.database.agents;
            let inserted = agents.insert(&tenant, &other, &stamp, None).await;
            inserted.expect("an agent");
        }
        let number = 2 * round;
        let response = TurnStep::Model(ModelResponse::default());
        let step = TurnStep::Tool(call(number + 1));
        let steps = vec![(number, response), (number + 1, step)];
        fixture.round_trips();
        let record = fixture::record_steps(&begin, steps);
        assert!(writes.write(record).await.unwrap().is_recorded());
        let has_begun = fixture.round_trips();
        let ended = TurnStep::Tool(ToolStep {
            end: Some(fixture::tool_end()),
            ..call(number + 1)
        });
        let record = RecordSteps {
            changed: vec![(number + 1, ended)],
            ..fixture::record_steps(&begin, Vec::new())
        };
        assert!(writes.write(record).await.unwrap().is_recorded());
        counts.push([has_begun, fixture.round_trips()]);
    }
    // Preparing a statement is a round trip, too.
    assert_eq!(counts[2..], [[1, 1]; 6], "{counts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_one_round_trip() {
    let mut fixture = Fixture::new().await;
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(1));
    let storage = fixture.storage.clone();
    let mut counts = Vec::new();
    for number in 2..6 {
        let entry = |operation: &str| fixture::entry(&format!("{operation}-{number}"));
        let mut round = Vec::new();
        let agent = fixture::agent(number);
        let idempotency = entry("agent");
        let created = storage
            .agents
            .insert(&tenant, &agent, &stamp, Some(&idempotency));
        created.await.expect("an agent");
        round.push(fixture.round_trips());
        let next = fixture::renamed(&agent, "Next");
        let updated = storage.agents.update(&tenant, &next, &stamp);
        updated.await.expect("a response").expect("the agent");
        round.push(fixture.round_trips());

        let conversations = &storage.conversations;
        let empty = fixture::conversation(number, agent.id);
        let (conversation, greeting) = fixture::greeted(empty, "Hello");
        let (idempotency, greeting) = (entry("conversation"), FirstMessages::Greeting(greeting));
        let created = conversations.insert(
            &tenant,
            &conversation,
            &greeting,
            &stamp,
            Some(&idempotency),
        );
        created.await.expect("a conversation");
        round.push(fixture.round_trips());
        let next = fixture::retitled(&conversation, "Next");
        let updated = conversations.update(&tenant, &next, &stamp).await;
        updated.expect("a response").expect("the conversation");
        round.push(fixture.round_trips());
        let deleted = conversations.delete(&tenant, conversation.id, Some(2), &stamp);
        deleted.await.expect("a deletion");
        round.push(fixture.round_trips());

        let (key, idempotency) = (fixture::key(number), entry("key"));
        let created = storage.credentials.insert(&key, Some(&idempotency)).await;
        created.expect("a key");
        round.push(fixture.round_trips());
        let revoked = storage
            .credentials
            .revoke(key.kind, &tenant, &key.id, fixture::at(1));
        assert!(revoked.await.expect("a response"));
        round.push(fixture.round_trips());
        counts.push(round);
    }
    assert_eq!(counts[2..], [[1; 7], [1; 7]], "{counts:?}");
}

/// Each change is the first one of its tenant. Its facts are read in one round trip.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_with_unknown_facts_is_two_round_trips() {
    let mut fixture = Fixture::new().await;
    let (stamp, agent, new) = (fixture::stamp(1), fixture::agent(2), fixture::agent(3));
    let storage = fixture.storage.clone();
    let mut counts = Vec::new();
    for round in 0..4 {
        let mut tenants = Vec::new();
        for change in 0..3 {
            let tenant = fixture::tenant_named(&format!("tenant-{round}-{change}"));
            let stored = fixture.database.tenants.insert(&tenant, stamp.time).await;
            stored.expect("a tenant");
            let agents = &fixture.database.agents;
            let inserted = agents.insert(&tenant, &agent, &stamp, None).await;
            inserted.expect("an agent");
            tenants.push(tenant);
        }
        let created = storage.agents.insert(&tenants[0], &new, &stamp, None);
        created.await.expect("an agent");
        let creation = fixture.round_trips();
        let next = fixture::renamed(&agent, "Next");
        let updated = storage.agents.update(&tenants[1], &next, &stamp).await;
        updated.expect("a response").expect("the agent");
        let update = fixture.round_trips();
        let conversation = fixture::conversation(1000 + round, agent.id);
        let created = storage.conversations.insert(
            &tenants[2],
            &conversation,
            &FirstMessages::None,
            &stamp,
            None,
        );
        created.await.expect("a conversation");
        counts.push([creation, update, fixture.round_trips()]);
    }
    assert_eq!(counts[2..], [[2, 2, 2], [2, 2, 2]], "{counts:?}");
}
