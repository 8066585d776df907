//! Tests of data from a newer version of the service that runs beside this one.

mod database;

use contract::fixture;
use domain::{EventType, Seq};
use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;

const APPEND: &str = "\
    insert into events (tenant_id, seq, type, time, agent_id, actor) \
    select tenant_id, seq + 1, 'agent.praised', time, agent_id, actor from events where seq = 1";
const GROW: &str = "update tenants set head_seq = 2";

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
