//! Tests of migrations of databases with data.

mod database;

use std::time::Duration;

use contract::fixture;
use domain::{
    Credential, CredentialKind, LimitOverrides, SecretDigest, Usage,
    credential::{Proof, StoredSecret},
};
use ports::{ListingOrder, TurnFilter, TurnQuery};
use sqlx::{Connection, SqliteConnection, migrate::Migrator, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

static MIGRATOR: Migrator = sqlx::migrate!("../../../../migrations/sqlite");

const INSERT_KEY: &str = "\
    insert into api_keys (id, tenant_id, name, scopes, digest, last4, previous_digest, \
        previous_until, created_at, expires_at, last_used_at, revoked_at, allowed_origins, limits) \
    values (?1, 'default', 'Key 1', '[\"agents:read\",\"chat:write\"]', ?2, '4fZ1', ?3, ?4, ?5, \
        ?6, ?7, ?8, '[\"https://example.org\"]', '{\"streams\":3}')";
const NOTE_KEY: &str = "update store_state set had_key = 1, access_version = 5";

/// Two turns of one conversation: one in progress on a node, and one queued.
const INSERT_TURNS: &str = "\
    insert into turns (tenant_id, id, conversation_id, agent_id, status, principal, input, \
        message_id, node_id, queued_seq, created_at) \
    values ('default', ?1, ?3, ?4, 'in_progress', 'key:any', 'Hi', ?1, ?5, null, ?6), \
        ('default', ?2, ?3, ?4, 'queued', 'key:any', 'Hi', ?2, null, 7, ?6)";

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

/// Creates a database with the schema of `version`.
async fn of_version(folder: &TempDir, version: i64) -> SqliteConnection {
    let path = folder.path().join("data/test.db");
    std::fs::create_dir(folder.path().join("data")).expect("a folder");
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true);
    let mut connection = SqliteConnection::connect_with(&options)
        .await
        .expect("a database");
    let migrated = MIGRATOR.run_to(version, &mut connection).await;
    migrated.expect("the version exists");
    connection
}

#[tokio::test]
async fn a_key_of_the_first_version_is_kept() {
    let folder = TempDir::new().unwrap();
    let mut first = of_version(&folder, 1).await;
    let key = expected();
    sqlx::query(INSERT_KEY)
        .bind(key.id.as_str())
        .bind([7_u8; 32].as_slice())
        .bind([8_u8; 32].as_slice())
        .bind(fixture::at(20).milliseconds())
        .bind(key.created_at.milliseconds())
        .bind(fixture::at(30).milliseconds())
        .bind(fixture::at(40).milliseconds())
        .bind(fixture::at(50).milliseconds())
        .execute(&mut first)
        .await
        .unwrap();
    sqlx::query(NOTE_KEY).execute(&mut first).await.unwrap();
    first.close().await.unwrap();

    let database = database::migrated(&database::url(&folder)).await;
    let credentials = &database.credentials;
    let found = credentials.find(CredentialKind::Key, &key.id).await;
    assert_eq!(found.unwrap(), Some(key));
    assert!(credentials.has_ever_held_a_key().await.unwrap());
    assert_eq!(credentials.access_version().await.unwrap(), 5);
}

#[tokio::test]
async fn a_turn_queued_by_the_second_version_is_queued_since_the_migration_to_the_third() {
    let folder = TempDir::new().unwrap();
    let mut second = of_version(&folder, 2).await;
    sqlx::query(INSERT_TURNS)
        .bind(fixture::turn_id(1).uuid())
        .bind(fixture::turn_id(2).uuid())
        .bind(fixture::conversation_id(1).uuid())
        .bind(fixture::agent_id(1).uuid())
        .bind(fixture::node_id(1).uuid())
        .bind(fixture::at(0).milliseconds())
        .execute(&mut second)
        .await
        .unwrap();
    second.close().await.unwrap();

    let database = database::migrated(&database::url(&folder)).await;
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

const INSERT_AGENT: &str = "\
    insert into agents (tenant_id, id, name, name_key, personality, capabilities, config, \
        version, created_at, updated_at, sort_seq) \
    values ('default', ?1, 'Ada', 'ada', '', '[]', '{}', 1, ?2, ?2, 1)";
const INSERT_CONVERSATION: &str = "\
    insert into conversations (tenant_id, id, agent_id, metadata, version, message_count, \
        turn_count, created_at, updated_at, sort_seq) \
    values ('default', ?1, ?2, '{}', 1, 3, 2, ?3, ?3, 2)";
/// A completed turn and a later one that has failed.
const INSERT_ENDED_TURNS: &str = "\
    insert into turns (tenant_id, id, conversation_id, agent_id, agent_version, status, \
        principal, input, message_id, turn_number, message_seq, reply_seq, created_at, \
        started_at, finished_at) \
    values ('default', ?1, ?3, ?4, 1, 'failed', 'key:any', 'Hi', ?1, 1, 3, null, ?6, ?6, ?6), \
        ('default', ?2, ?3, ?4, 1, 'completed', 'key:any', 'Hi', ?2, 0, 1, 2, ?5, ?5, ?5)";
const INSERT_MESSAGE: &str = "\
    insert into messages (tenant_id, conversation_id, seq, id, turn_id, role, content, created_at) \
    values ('default', ?1, ?2, ?3, ?3, ?4, ?5, ?6)";
const RAISE_HEAD: &str = "update tenants set head_seq = 6 where id = 'default'";

/// Stores a chat as the sixth version does.
async fn store_as_sixth_version(connection: &mut SqliteConnection, newest: &str) {
    let (agent, conversation) = (
        fixture::agent_id(1).uuid(),
        fixture::conversation_id(1).uuid(),
    );
    let at = |time| fixture::at(time).milliseconds();
    let [failed, completed] = [1, 2].map(|number| fixture::turn_id(number).uuid());
    let message = |seq: i64, turn, role, content| {
        let insert = sqlx::query(INSERT_MESSAGE).bind(conversation).bind(seq);
        insert.bind(turn).bind(role).bind(content).bind(at(seq))
    };
    let inserts = [
        sqlx::query(INSERT_AGENT).bind(agent).bind(at(0)),
        sqlx::query(INSERT_CONVERSATION)
            .bind(conversation)
            .bind(agent)
            .bind(at(0)),
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
        sqlx::query(RAISE_HEAD),
    ];
    for insert in inserts {
        let inserted = insert.execute(&mut *connection).await;
        inserted.expect("the statement succeeds");
    }
}

#[tokio::test]
async fn turns_and_messages_of_the_sixth_version_keep_their_order() {
    let folder = TempDir::new().unwrap();
    let mut sixth = of_version(&folder, 6).await;
    store_as_sixth_version(&mut sixth, &"é".repeat(130)).await;
    sixth.close().await.unwrap();

    let database = database::migrated(&database::url(&folder)).await;
    let (tenant, id) = (fixture::tenant(), fixture::conversation_id(1));
    let found = database.conversations.find(&tenant, id).await.unwrap();
    let conversation = found.value.unwrap().item;
    assert_eq!(conversation.excerpt, Some("é".repeat(120)));
    assert_eq!((conversation.message_count, &conversation.key), (3, &None));
    let query = TurnQuery {
        filter: TurnFilter::All,
        order: ListingOrder::Ascending,
        after: None,
        limit: 10,
    };
    let turns = database.turns.list(&tenant, id, &query).await.unwrap();
    let turns = turns.value.unwrap().items.into_iter();
    let ids: Vec<_> = turns.map(|turn| turn.item.id).collect();
    assert_eq!(ids, [2, 1].map(fixture::turn_id));
    let current = database.turns.find_current(&tenant, id).await.unwrap();
    let current = current.unwrap();
    assert_eq!(
        (current.turn.id, current.reply_id),
        (fixture::turn_id(1), None)
    );
    // The positions of new turns follow those of existing ones.
    let (node, long) = (fixture::node_id(1), Duration::from_hours(1));
    database
        .nodes
        .insert(node, &fixture::process(), long)
        .await
        .unwrap();
    let target = fixture::existing(&conversation, 2);
    let begin = fixture::begin_turn(0, &fixture::agent(1), target);
    let begin = fixture::superseding(begin, 3, 2);
    database.turns.begin_turn(begin).await.unwrap();
    let current = database.turns.find_current(&tenant, id).await.unwrap();
    assert_eq!(current.unwrap().turn.id, fixture::turn_id(0));
    let found = database.conversations.find(&tenant, id).await.unwrap();
    assert_eq!(found.value.unwrap().item.message_count, 3);
}

/// Changes the agent as the thirteenth version does.
const RENAME_AGENT: &str = "update agents set name = 'Grace', version = 2";
const REMOVE_AGENT: &str = "delete from agents";
const COUNT_VERSIONS: &str = "select count(*) from agent_versions";

#[tokio::test]
async fn versions_of_agents_are_kept_while_the_thirteenth_version_continues_to_write() {
    let folder = TempDir::new().unwrap();
    let mut before = of_version(&folder, 13).await;
    store_as_sixth_version(&mut before, "Hi").await;

    let database = database::migrated(&database::url(&folder)).await;
    let (tenant, id) = (fixture::tenant(), fixture::agent_id(1));
    let mut expected = Vec::new();
    let found = database.agents.find(&tenant, id).await.unwrap().value;
    expected.extend(found);
    sqlx::query(RENAME_AGENT)
        .execute(&mut before)
        .await
        .unwrap();
    let found = database.agents.find(&tenant, id).await.unwrap().value;
    expected.extend(found);
    let next = fixture::renamed(&expected[1], "Edith");
    let updated = database
        .agents
        .update(&tenant, &next, &fixture::stamp(40))
        .await;
    updated.unwrap().unwrap();
    expected.push(next.into());
    for (version, expected) in (1..).zip(expected) {
        let found = database.agents.find_version(&tenant, id, version).await;
        assert_eq!(found.unwrap(), Some(expected), "{version}");
    }
    sqlx::query(REMOVE_AGENT)
        .execute(&mut before)
        .await
        .unwrap();
    let left: i64 = sqlx::query_scalar(COUNT_VERSIONS)
        .fetch_one(&mut before)
        .await
        .unwrap();
    assert_eq!(left, 0);
}

const COUNT_TOKENS: &str =
    "update messages set input_tokens = 12, output_tokens = 5 where role = 'agent'";

#[tokio::test]
async fn a_turn_of_the_thirteenth_version_has_the_usage_of_its_reply() {
    let folder = TempDir::new().unwrap();
    let mut before = of_version(&folder, 13).await;
    store_as_sixth_version(&mut before, "Hi").await;
    sqlx::query(COUNT_TOKENS)
        .execute(&mut before)
        .await
        .unwrap();
    before.close().await.unwrap();

    let database = database::migrated(&database::url(&folder)).await;
    let turns = &database.turns;
    let found = turns.find(&fixture::tenant(), fixture::turn_id(2)).await;
    let turn = found.unwrap().value.unwrap().turn;
    let usage = Usage {
        input_tokens: 12,
        output_tokens: 5,
        ..Usage::default()
    };
    assert_eq!(turn.usage, Some(usage));
    assert_eq!(turn.reply.unwrap().usage, Some(usage));
}
