//! Tests of migrations of databases with data.

use std::time::Duration;

use contract::{Store, fixture};
use domain::{
    Agent, AgentId, AgentReach, ConversationId, Credential, CredentialKind, EventData,
    LimitOverrides, SecretDigest, Seq,
    credential::{Proof, StoredSecret},
};
use ports::{
    AgentFilter, AgentQuery, ConversationFilter, ConversationQuery, EventQuery, ListingOrder,
    TurnFilter, TurnQuery,
};
use sqlx::{PgConnection, migrate::Migrator, types::Json};

use crate::database::Database;

pub(crate) static MIGRATOR: Migrator = sqlx::migrate!("../../../../migrations/postgres");

const INSERT_KEY: &str = "\
    insert into api_keys (id, tenant_id, name, scopes, digest, last4, previous_digest, \
        previous_until, created_at, expires_at, last_used_at, revoked_at, allowed_origins, limits) \
    values ($1, 'default', 'Key 1', '{agents:read,chat:write}', $2, '4fZ1', $3, $4, $5, \
        $6, $7, $8, '{https://example.org}', '{\"streams\":3}')";
const NOTE_KEY: &str = "update store_state set had_key = true, access_version = 5";

/// Two turns of one conversation: one in progress on a node, and one queued.
const INSERT_TURNS: &str = "\
    insert into turns (tenant_id, id, conversation_id, agent_id, status, principal, input, \
        message_id, node_id, queued_seq, created_at) \
    values ('default', $1, $3, $4, 'in_progress', 'key:any', 'Hi', $1, $5, null, $6), \
        ('default', $2, $3, $4, 'queued', 'key:any', 'Hi', $2, null, 7, $6)";

const INSERT_AGENT: &str = "\
    insert into agents (tenant_id, id, name, name_key, personality, capabilities, config, \
        version, created_at, updated_at) \
    values ('default', $1, 'Ada', 'ada', '', '[]', '{}', 1, $2, $2)";
const INSERT_CONVERSATION: &str = "\
    insert into conversations (tenant_id, id, agent_id, metadata, version, message_count, \
        turn_count, created_at, updated_at) \
    values ('default', $1, $2, '{}', 1, 0, 0, $3, $3)";
const RAISE_HEAD: &str = "update tenants set head_seq = head_seq + 2 where id = 'default'";

/// Stores an agent and a conversation as nodes of the third version do.
pub(crate) async fn store_as_third_version(connection: &mut PgConnection, number: u32, at: i64) {
    let (agent, at) = (
        fixture::agent_id(number).uuid(),
        fixture::at(at).date_time(),
    );
    let agents = sqlx::query(INSERT_AGENT).bind(agent).bind(at);
    agents
        .execute(&mut *connection)
        .await
        .expect("the statement succeeds");
    let conversations = sqlx::query(INSERT_CONVERSATION)
        .bind(fixture::conversation_id(number).uuid())
        .bind(agent)
        .bind(at);
    conversations
        .execute(&mut *connection)
        .await
        .expect("the statement succeeds");
    let raised = sqlx::query(RAISE_HEAD).execute(connection).await;
    raised.expect("the statement succeeds");
}

/// Returns the ids of all agents and conversations in the order of their listings.
async fn listed(storage: &Store) -> (Vec<AgentId>, Vec<ConversationId>) {
    let (tenant, limit) = (fixture::tenant(), 10);
    let query = AgentQuery {
        filter: AgentFilter::All,
        reach: AgentReach::ALL,
        after: None,
        limit,
    };
    let agents = storage
        .agents
        .list(&tenant, &query)
        .await
        .expect("the statement succeeds")
        .value;
    let query = ConversationQuery {
        filter: ConversationFilter::default(),
        after: None,
        limit,
    };
    let conversations = storage.conversations.list(&tenant, &query).await;
    let conversations = conversations.expect("the statement succeeds").value;
    let agents = agents.items.iter().map(|listed| listed.item.id);
    let conversations = conversations.items.iter().map(|listed| listed.item.id);
    (agents.collect(), conversations.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn listings_keep_their_order_and_nodes_of_the_third_version_continue_to_write() {
    let database = Database::new_empty().await;
    let mut third = database.connect().await;
    MIGRATOR.run_to(3, &mut third).await.unwrap();
    store_as_third_version(&mut third, 1, 20).await;
    store_as_third_version(&mut third, 2, 10).await;

    database.store.migrate().await.unwrap();
    let (agents, conversations) = listed(&database).await;
    assert_eq!(agents, [2, 1].map(fixture::agent_id));
    assert_eq!(conversations, [1, 2].map(fixture::conversation_id));
    store_as_third_version(&mut third, 3, 5).await;
    let (agents, conversations) = listed(&database).await;
    assert_eq!(agents, [3, 2, 1].map(fixture::agent_id));
    assert_eq!(conversations, [3, 1, 2].map(fixture::conversation_id));
}

const INSERT_AGENT_EVENT: &str = "\
    insert into events (tenant_id, seq, type, time, agent_id, actor, data) \
    values ('default', $1, 'agent.created', now(), $2, 'key:any', $3)";

/// Logs an agent's creation as nodes of the third version do.
async fn log_as_third_version(connection: &mut PgConnection, seq: i64, agent: &Agent) {
    let insert = sqlx::query(INSERT_AGENT_EVENT)
        .bind(seq)
        .bind(agent.id.uuid())
        .bind(Json(agent));
    insert.execute(connection).await.expect("an event");
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_in_events_of_the_third_version_are_read_and_measured() {
    let database = Database::new_empty().await;
    let mut third = database.connect().await;
    MIGRATOR.run_to(3, &mut third).await.unwrap();
    store_as_third_version(&mut third, 1, 20).await;
    log_as_third_version(&mut third, 1, &fixture::agent(1)).await;
    database.store.migrate().await.unwrap();
    store_as_third_version(&mut third, 2, 30).await;
    log_as_third_version(&mut third, 3, &fixture::agent(2)).await;

    let query = |bytes| EventQuery {
        since: Seq(0),
        limit: 10,
        bytes,
        types: Vec::new(),
        agent_id: None,
        conversation_id: None,
        visibility: None,
    };
    let storage: &Store = &database;
    let page = storage
        .event_page(&fixture::tenant(), &query(100_000))
        .await;
    let shown = page
        .unwrap()
        .events
        .into_iter()
        .map(|logged| logged.event.data);
    let agents = [1, 2].map(fixture::agent);
    let expected = agents.map(|agent| EventData::Agent { agent });
    assert_eq!(shown.collect::<Vec<_>>(), expected);
    let page = storage.event_page(&fixture::tenant(), &query(1)).await;
    assert_eq!(page.unwrap().events.len(), 1);
}

fn secret() -> StoredSecret {
    StoredSecret {
        digest: SecretDigest::new([7; 32]),
        last4: "4fZ1".to_owned(),
        previous: Some((SecretDigest::new([8; 32]), fixture::at(20))),
    }
}

fn expected() -> Credential {
    Credential {
        proof: Proof::Secret(secret()),
        expires_at: Some(fixture::at(30)),
        last_used_at: Some(fixture::at(40)),
        revoked_at: Some(fixture::at(50)),
        allowed_origins: vec!["https://example.org".to_owned()],
        limits: LimitOverrides {
            streams: Some(3),
            ..LimitOverrides::default()
        },
        ..fixture::key(1)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_the_first_version_is_kept() {
    let database = Database::new_empty().await;
    let mut first = database.connect().await;
    MIGRATOR.run_to(1, &mut first).await.unwrap();
    let key = expected();
    sqlx::query(INSERT_KEY)
        .bind(key.id.as_str())
        .bind([7_u8; 32].as_slice())
        .bind([8_u8; 32].as_slice())
        .bind(fixture::at(20).date_time())
        .bind(key.created_at.date_time())
        .bind(fixture::at(30).date_time())
        .bind(fixture::at(40).date_time())
        .bind(fixture::at(50).date_time())
        .execute(&mut first)
        .await
        .unwrap();
    sqlx::query(NOTE_KEY).execute(&mut first).await.unwrap();

    database.store.migrate().await.unwrap();
    let credentials = &database.credentials;
    let found = credentials.find(CredentialKind::Key, &key.id).await;
    assert_eq!(found.unwrap(), Some(key));
    assert!(credentials.has_ever_held_a_key().await.unwrap());
    assert_eq!(credentials.access_version().await.unwrap(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_queued_by_the_second_version_is_queued_since_the_migration_to_the_third() {
    let database = Database::new_empty().await;
    let mut second = database.connect().await;
    MIGRATOR.run_to(2, &mut second).await.unwrap();
    sqlx::query(INSERT_TURNS)
        .bind(fixture::turn_id(1).uuid())
        .bind(fixture::turn_id(2).uuid())
        .bind(fixture::conversation_id(1).uuid())
        .bind(fixture::agent_id(1).uuid())
        .bind(fixture::node_id(1).uuid())
        .bind(fixture::at(0).date_time())
        .execute(&mut second)
        .await
        .unwrap();

    database.store.migrate().await.unwrap();
    let (node, long) = (fixture::node_id(1), Duration::from_hours(1));
    database
        .nodes
        .insert(node, &fixture::process(), long)
        .await
        .unwrap();
    let sweep = &database.sweep;
    assert_eq!(sweep.tenants_to_sweep(long).await.unwrap(), []);
    let late = sweep.tenants_to_sweep(Duration::ZERO).await.unwrap();
    assert_eq!(late, [fixture::tenant()]);
}

/// A completed turn and a later one that has failed.
const INSERT_ENDED_TURNS: &str = "\
    insert into turns (tenant_id, id, conversation_id, agent_id, agent_version, status, \
        principal, input, message_id, turn_number, message_seq, reply_seq, created_at, \
        started_at, finished_at) \
    values ('default', $1, $3, $4, 1, 'failed', 'key:any', 'Hi', $1, 1, 3, null, $6, $6, $6), \
        ('default', $2, $3, $4, 1, 'completed', 'key:any', 'Hi', $2, 0, 1, 2, $5, $5, $5)";
const INSERT_MESSAGE: &str = "\
    insert into messages (tenant_id, conversation_id, seq, id, turn_id, role, content, created_at) \
    values ('default', $1, $2, $3, $3, $4, $5, $6)";
const COUNT_MESSAGES: &str = "update conversations set message_count = 3, turn_count = 2";

/// Stores two turns of conversation 1 and their messages as nodes of the sixth version do.
pub(crate) async fn store_turns_as_sixth_version(connection: &mut PgConnection, newest: &str) {
    let (agent, conversation) = (
        fixture::agent_id(1).uuid(),
        fixture::conversation_id(1).uuid(),
    );
    let at = |time| fixture::at(time).date_time();
    let [failed, completed] = [1, 2].map(|number| fixture::turn_id(number).uuid());
    let message = |seq: i64, turn, role, content| {
        let insert = sqlx::query(INSERT_MESSAGE).bind(conversation).bind(seq);
        insert.bind(turn).bind(role).bind(content).bind(at(seq))
    };
    let inserts = [
        sqlx::query(INSERT_ENDED_TURNS)
            .bind(failed)
            .bind(completed)
            .bind(conversation)
            .bind(agent)
            .bind(at(10))
            .bind(at(20)),
        message(1, completed, "user", "Hi"),
        message(2, completed, "agent", "Hello"),
        message(3, failed, "user", newest),
        sqlx::query(COUNT_MESSAGES),
        sqlx::query(RAISE_HEAD),
    ];
    for insert in inserts {
        let inserted = insert.execute(&mut *connection).await;
        inserted.expect("the statement succeeds");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_and_messages_of_the_sixth_version_keep_their_order() {
    let database = Database::new_empty().await;
    let mut sixth = database.connect().await;
    MIGRATOR.run_to(6, &mut sixth).await.unwrap();
    store_as_third_version(&mut sixth, 1, 0).await;
    store_turns_as_sixth_version(&mut sixth, &"é".repeat(130)).await;

    database.store.migrate().await.unwrap();
    let (tenant, id) = (fixture::tenant(), fixture::conversation_id(1));
    let found = database.conversations.find(&tenant, id).await.unwrap();
    let conversation = found.value.unwrap().item;
    assert_eq!(conversation.excerpt, Some("é".repeat(120)));
    assert_eq!((conversation.message_count, conversation.key), (3, None));
    // A node of the sixth version continues to write.
    sqlx::query(INSERT_TURNS)
        .bind(fixture::turn_id(3).uuid())
        .bind(fixture::turn_id(4).uuid())
        .bind(id.uuid())
        .bind(fixture::agent_id(1).uuid())
        .bind(fixture::node_id(1).uuid())
        .bind(fixture::at(0).date_time())
        .execute(&mut sixth)
        .await
        .unwrap();
    let query = TurnQuery {
        filter: TurnFilter::All,
        order: ListingOrder::Ascending,
        after: None,
        limit: 2,
    };
    let turns = database.turns.list(&tenant, id, &query).await.unwrap();
    let turns = turns.value.unwrap().items.into_iter();
    let ids: Vec<_> = turns.map(|turn| turn.item.id).collect();
    assert_eq!(ids, [2, 1].map(fixture::turn_id));
    let current = database.turns.find_current(&tenant, id).await.unwrap();
    let current = current.unwrap();
    assert_eq!(
        (current.turn.id, current.reply_id),
        (fixture::turn_id(3), None)
    );
}
