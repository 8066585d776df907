//! Tests of a role that may open few connections.

use contract::fixture;
use futures::future::join_all;
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection, Executor as _, PgConnection,
    postgres::PgConnectOptions,
};

use crate::database::{Database, store};

/// The connections of the role: four of the store's pool, and four of others.
const LIMIT: i64 = 8;
const POOLED: i64 = 4;

/// Creates a role that may open [`LIMIT`] connections, and returns its name.
async fn role(database: &Database, administrator: &mut PgConnection) -> String {
    let options = database.options();
    let role = options.get_database().expect("a name").to_owned();
    let create = format!(
        "create role {role} login password 'few' connection limit {LIMIT}; \
         grant all on all tables in schema public to {role}"
    );
    let created = administrator.execute(AssertSqlSafe(create)).await;
    created.expect("a role");
    role
}

async fn remove(role: &str, administrator: &mut PgConnection) {
    let remove = format!("drop owned by {role}; drop role {role}");
    let removed = administrator.execute(AssertSqlSafe(remove)).await;
    removed.expect("the role is removed");
}

/// Opens connections until the role may open no others.
async fn fill(options: &PgConnectOptions) -> Vec<PgConnection> {
    let mut opened = Vec::new();
    while let Ok(connection) = options.connect().await {
        opened.push(connection);
    }
    opened
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_ready_keeps_its_connection_to_write() {
    let database = Database::new().await;
    let mut administrator = database.connect().await;
    let role = role(&database, &mut administrator).await;
    let options = database.options().username(&role).password("few");
    let of_role = store(&options).await;
    let storage = contract::Store::new(of_role.storage());
    storage.maintenance.ping().await.expect("it is ready");
    let others = fill(&options).await;
    assert!(!others.is_empty());

    let (tenant, agent, stamp) = (fixture::tenant(), fixture::agent(1), fixture::stamp(0));
    let inserted = storage.agents.insert(&tenant, &agent, &stamp, None).await;
    inserted.expect("it is written");

    join_all(others.into_iter().map(Connection::close)).await;
    of_role.close().await;
    remove(&role, &mut administrator).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_gets_the_place_of_an_idle_connection() {
    let database = Database::new().await;
    let mut administrator = database.connect().await;
    let role = role(&database, &mut administrator).await;
    let options = database.options().username(&role).password("few");
    let of_role = store(&options).await;
    let storage = contract::Store::new(of_role.storage());
    let (tenant, agent, stamp) = (fixture::tenant(), fixture::agent(1), fixture::stamp(0));
    let sessions = "select count(*) from pg_stat_activity where usename = current_database()";
    let mut open = 0;
    while open < POOLED {
        let reads = (0..32).map(|_| storage.agents.find(&tenant, agent.id));
        assert!(join_all(reads).await.iter().all(Result::is_ok));
        let counted = sqlx::query_scalar(sessions).fetch_one(&mut administrator);
        open = counted.await.expect("the server responds");
    }
    let others = join_all((POOLED..LIMIT).map(|_| options.connect())).await;
    assert!(others.iter().all(Result::is_ok));
    assert!(options.connect().await.is_err(), "there is a free place");

    let inserted = storage.agents.insert(&tenant, &agent, &stamp, None).await;
    inserted.expect("it is written");
    let found = storage.agents.find(&tenant, agent.id).await;
    assert!(found.expect("it is read").value.is_some());
    storage.maintenance.ping().await.expect("it is ready");

    for other in others {
        other.expect("a connection").close().await.expect("it ends");
    }
    of_role.close().await;
    remove(&role, &mut administrator).await;
}
