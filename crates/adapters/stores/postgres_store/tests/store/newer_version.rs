//! Tests of data and schemas from a newer version of the service.

use contract::{fixture, newer_version::SharedStore};
use domain::{EventType, Seq};
use relational::SchemaError;
use sqlx::migrate::Migrate as _;

use crate::database::{Database, store, waiting};

const APPEND: &str = "\
    insert into events (tenant_id, seq, type, time, agent_id, actor) \
    select tenant_id, seq + 1, 'agent.praised', time, agent_id, actor from events where seq = 1";
const GROW: &str = "update tenants set head_seq = 2";
const CHANGED_MIGRATION: &str = "update _sqlx_migrations set checksum = '\\x00' where version = 5";

impl SharedStore for Database {
    async fn execute(&self, statement: &'static str) {
        let mut newer = self.connect().await;
        let executed = sqlx::query(statement).execute(&mut newer).await;
        executed.expect("the statement is valid");
    }
}

contract::newer_version_contract!(crate::contract::fixture);

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_an_unknown_type_is_returned_with_its_ids() {
    let database = Database::new().await;
    let (tenant, agent) = (fixture::tenant(), fixture::agent(1));
    database
        .agents
        .insert(&tenant, &agent, &fixture::stamp(0), None)
        .await
        .unwrap();
    let mut newer = database.connect().await;
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

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_a_newer_program_has_migrated_is_rejected() {
    let database = Database::new().await;
    let mut newer = database.connect().await;
    sqlx::query(fixture::LATER_MIGRATION)
        .execute(&mut newer)
        .await
        .unwrap();
    let pending = database.store.pending_migrations().await;
    for result in [pending, database.store.migrate().await] {
        let error = result.unwrap_err();
        assert!(
            matches!(error, SchemaError::Newer { store: 1000, .. }),
            "{error:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_is_rejected_that_a_newer_program_migrates_at_the_same_time() {
    let database = Database::new().await;
    let mut newer = database.connect().await;
    newer.lock().await.unwrap();
    let older = store(&database.options()).await;
    let migrate_as_newer = async {
        waiting(&mut database.connect().await, 1).await;
        sqlx::query(fixture::LATER_MIGRATION)
            .execute(&mut newer)
            .await
            .unwrap();
        newer.unlock().await.unwrap();
    };
    let (migrated, ()) = tokio::join!(older.migrate(), migrate_as_newer);
    let error = migrated.unwrap_err();
    assert!(
        matches!(error, SchemaError::Newer { store: 1000, .. }),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_another_build_has_migrated_is_rejected() {
    let database = Database::new().await;
    let mut other = database.connect().await;
    sqlx::query(CHANGED_MIGRATION)
        .execute(&mut other)
        .await
        .unwrap();
    let pending = database.store.pending_migrations().await;
    for result in [pending, database.store.migrate().await] {
        let error = result.unwrap_err();
        assert!(
            matches!(error, SchemaError::Different { version: 5 }),
            "{error:?}"
        );
    }
}
