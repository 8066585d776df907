//! A database that accepts no writes for a while, as after a failover onto a standby.

use contract::samples;
use domain::Agent;
use futures::future::join_all;
use ports::{ExchangeOutcome, ExchangeTarget, RepositoryError};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _};

use crate::database::{Database, waiting};

/// As many sessions as are used here at the same time.
const SESSIONS: u32 = 8;

/// Executes a statement, in which `{}` is the name of the database, in another one.
async fn execute(database: &Database, statement: &str) {
    let options = database.options();
    let statement = statement.replace("{}", options.get_database().expect("a database"));
    let administration = options.database("postgres");
    let mut connection = administration.connect().await.expect("the server answers");
    connection
        .execute(AssertSqlSafe(statement))
        .await
        .expect("the server answers");
}

fn assert_unavailable<T: std::fmt::Debug>(outcome: &Result<T, RepositoryError>) {
    let is_unavailable = matches!(outcome, Err(RepositoryError::Unavailable(_)));
    assert!(is_unavailable, "{outcome:?}");
}

/// Opens so many sessions of the store's pool.
async fn read_at_once(database: &Database, agent: &Agent) {
    let tenant = samples::tenant();
    let reads = (0..SESSIONS).map(|_| database.agents.find(&tenant, agent.id));
    for read in join_all(reads).await {
        assert!(read.expect("an answer").value.is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_database_is_unavailable_for_writes_and_no_session_stays_read_only() {
    let database = Database::make().await;
    let (tenant, stamp) = (samples::tenant(), samples::stamp(0));
    let insert = async |number| {
        let agent = samples::agent(number);
        let inserted = database.agents.insert(&tenant, &agent, &stamp, None).await;
        inserted.map(drop)
    };
    let chat = async |number| {
        let agent = samples::agent(1);
        let conversation = samples::conversation(number, agent.id);
        let exchange = samples::exchange(number, &agent, ExchangeTarget::New(conversation));
        database.turns.record_exchange(exchange).await
    };
    insert(1).await.expect("an agent");
    database.maintenance.ping().await.expect("a sign of life");

    execute(
        &database,
        "alter database {} set default_transaction_read_only = on",
    )
    .await;
    // New sessions are read-only.
    let others = "select pg_terminate_backend(pid) from pg_stat_activity where datname = '{}'";
    execute(&database, others).await;
    for _ in 0..=SESSIONS {
        // Until no call meets an ended session.
        if database
            .agents
            .find(&tenant, samples::agent_id(1))
            .await
            .is_ok()
        {
            break;
        }
    }
    assert_unavailable(&chat(1).await);
    for number in 2..5 {
        assert_unavailable(&database.maintenance.ping().await);
        assert_unavailable(&insert(number).await);
        assert_unavailable(&chat(number).await);
        read_at_once(&database, &samples::agent(1)).await;
    }

    execute(
        &database,
        "alter database {} reset default_transaction_read_only",
    )
    .await;
    // Its session is read-only still, and the last one that is used.
    assert_unavailable(&database.maintenance.ping().await);
    database.maintenance.ping().await.expect("a sign of life");
    for inserted in join_all((10..10 + SESSIONS).map(insert)).await {
        inserted.expect("a writable session");
    }
    let recorded = chat(10).await.expect("a writable session");
    assert!(
        matches!(recorded, ExchangeOutcome::Recorded { .. }),
        "{recorded:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_is_not_granted_in_time_is_unavailable() {
    let database = Database::make().await;
    execute(&database, "alter database {} set lock_timeout = '200ms'").await;
    // Sessions of the store read the setting when they are opened.
    let store = crate::database::store(&database.options()).await.storage();
    let mut holder = database.connect().await;
    holder
        .execute("begin; select from tenants for update")
        .await
        .expect("the lock");
    let (tenant, stamp, agent) = (samples::tenant(), samples::stamp(0), samples::agent(1));
    let inserted = store.agents.insert(&tenant, &agent, &stamp, None).await;
    assert_unavailable(&inserted);
    waiting(&mut holder, 0).await;
    holder.execute("rollback").await.expect("the lock's end");
    let inserted = store.agents.insert(&tenant, &agent, &stamp, None).await;
    inserted.expect("an agent");
}
