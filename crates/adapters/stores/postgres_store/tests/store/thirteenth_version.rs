//! Tests of the migrations after the thirteenth version, of databases with data.

use std::sync::Arc;

use contract::{Store, fixture};
use domain::{Agent, AgentId, Usage};

use crate::{
    database::Database,
    migrations::{MIGRATOR, store_as_third_version, store_turns_as_sixth_version},
};

/// Changes the agents as nodes of the thirteenth version do.
const RENAME_AGENTS: &str = "\
    update agents set name = 'Grace', version = version + 1 where tenant_id = 'default'";
const REMOVE_AGENTS: &str = "delete from agents where tenant_id = 'default'";
const COUNT_VERSIONS: &str = "select count(*) from agent_versions";

/// Returns the kept versions of an agent.
async fn versions(storage: &Store, id: AgentId) -> Vec<Agent> {
    let mut versions = Vec::new();
    for version in 1..5 {
        let tenant = fixture::tenant();
        let found = storage.agents.find_version(&tenant, id, version).await;
        let found = found.expect("the statement succeeds");
        versions.extend(found.map(Arc::unwrap_or_clone));
    }
    versions
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_of_agents_are_kept_while_nodes_of_the_thirteenth_version_continue_to_write() {
    let database = Database::new_empty().await;
    let mut before = database.connect().await;
    MIGRATOR.run_to(13, &mut before).await.unwrap();
    store_as_third_version(&mut before, 1, 20).await;
    database.store.migrate().await.unwrap();
    store_as_third_version(&mut before, 2, 30).await;

    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(40));
    let agents = [1, 2].map(fixture::agent_id);
    let mut expected = Vec::new();
    for id in agents {
        let found = database.agents.find(&tenant, id).await.unwrap().value;
        expected.push(vec![Arc::unwrap_or_clone(found.unwrap())]);
    }
    for (id, expected) in agents.into_iter().zip(&expected) {
        assert_eq!(&versions(&database, id).await, expected);
    }
    // Only the version of the first agent is kept. That of the second is replaced and lost.
    sqlx::query(RENAME_AGENTS)
        .execute(&mut before)
        .await
        .unwrap();
    expected[1].clear();
    for (id, expected) in agents.into_iter().zip(&mut expected) {
        let found = database.agents.find(&tenant, id).await.unwrap().value;
        let renamed = Arc::unwrap_or_clone(found.unwrap());
        let next = fixture::renamed(&renamed, "Edith");
        expected.push(renamed);
        assert_eq!(&versions(&database, id).await, expected);
        let updated = database.agents.update(&tenant, &next, &stamp).await;
        updated.unwrap().unwrap();
        expected.push(next);
        assert_eq!(&versions(&database, id).await, expected);
    }
    sqlx::query(REMOVE_AGENTS)
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

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_of_the_thirteenth_version_has_the_usage_of_its_reply() {
    let database = Database::new_empty().await;
    let mut before = database.connect().await;
    MIGRATOR.run_to(13, &mut before).await.unwrap();
    store_as_third_version(&mut before, 1, 0).await;
    database.store.migrate().await.unwrap();
    store_turns_as_sixth_version(&mut before, "Hi").await;
    sqlx::query(COUNT_TOKENS)
        .execute(&mut before)
        .await
        .unwrap();

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
