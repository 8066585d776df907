//! Tests of data and schemas from a newer version of the service.

mod database;

use std::ops::Deref;

use contract::{Store, fixture, newer_version::SharedStore};
use domain::{EventType, Seq};
use relational::SchemaError;
use sqlite_store::{SqliteOptions, SqliteStore};
use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

const APPEND: &str = "\
    insert into events (tenant_id, seq, type, time, agent_id, actor) \
    select tenant_id, seq + 1, 'agent.praised', time, agent_id, actor from events where seq = 1";
const GROW: &str = "update tenants set head_seq = 2";
const CHANGED_MIGRATION: &str = "update _sqlx_migrations set checksum = x'00' where version = 5";

/// A database in a temporary folder, which is deleted with this value.
struct Database {
    storage: Store,
    folder: TempDir,
}

impl Deref for Database {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.storage
    }
}

impl SharedStore for Database {
    async fn execute(&self, statement: &'static str) {
        let url = database::url(&self.folder);
        let mut newer = SqliteConnection::connect(&url).await.expect("a connection");
        let executed = sqlx::query(statement).execute(&mut newer).await;
        executed.expect("the statement is valid");
    }
}

async fn shared_store() -> Database {
    let folder = TempDir::new().expect("a temporary folder");
    Database {
        storage: database::migrated(&database::url(&folder)).await,
        folder,
    }
}

contract::newer_version_contract!(shared_store);

#[tokio::test]
async fn a_change_of_an_unknown_type_is_returned_with_its_ids() {
    let folder = TempDir::new().unwrap();
    let url = database::url(&folder);
    let database = database::migrated(&url).await;
    let (tenant, agent) = (fixture::tenant(), fixture::agent(1));
    database
        .agents
        .insert(&tenant, &agent, &fixture::stamp(0), None)
        .await
        .unwrap();
    let mut newer = SqliteConnection::connect(&url).await.unwrap();
    for statement in [APPEND, GROW] {
        sqlx::query(statement).execute(&mut newer).await.unwrap();
    }
    let changes = database.events.changes(&tenant, Seq(0), 10).await.unwrap();
    let returned: Vec<_> = changes
        .iter()
        .map(|change| (change.seq, change.kind, change.agent_id))
        .collect();
    let expected = [
        (Seq(1), Some(EventType::AgentCreated), Some(agent.id)),
        (Seq(2), None, Some(agent.id)),
    ];
    assert_eq!(returned, expected);
}

/// Returns the errors of reading and of migrating a migrated store after a statement.
async fn schema_errors(statement: &'static str) -> [SchemaError; 2] {
    let folder = TempDir::new().expect("a folder");
    let url = database::url(&folder);
    let options = SqliteOptions::default();
    let store = SqliteStore::open(&url, options, &TaskTracker::new()).await;
    let store = store.expect("a store");
    store.migrate().await.expect("the schema");
    let mut other = SqliteConnection::connect(&url).await.expect("a connection");
    sqlx::query(statement)
        .execute(&mut other)
        .await
        .expect("a change");
    [
        store.pending_migrations().await.expect_err("an error"),
        store.migrate().await.expect_err("an error"),
    ]
}

#[tokio::test]
async fn a_store_that_a_newer_program_has_migrated_is_rejected() {
    for error in schema_errors(fixture::LATER_MIGRATION).await {
        assert!(
            matches!(error, SchemaError::Newer { store: 1000, .. }),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn a_store_that_another_build_has_migrated_is_rejected() {
    for error in schema_errors(CHANGED_MIGRATION).await {
        assert!(
            matches!(error, SchemaError::Different { version: 5 }),
            "{error:?}"
        );
    }
}
