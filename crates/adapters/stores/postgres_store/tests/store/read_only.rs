//! Tests of a database that temporarily accepts no writes, as after a failover to a standby.

use contract::fixture;
use domain::Agent;
use futures::future::join_all;
use ports::RepositoryError;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _};
use writes::{ConversationTarget, RecordTurnOutcome};

use crate::database::{Database, waiting};

/// The number of sessions that are used at the same time.
const SESSIONS: u32 = 8;

/// Executes a statement on the database `postgres`; `{}` stands for the name of `database`.
async fn execute(database: &Database, statement: &str) {
    let options = database.options();
    let statement = statement.replace("{}", options.get_database().expect("a database"));
    let administration = options.database("postgres");
    let mut connection = administration.connect().await.expect("the server responds");
    connection
        .execute(AssertSqlSafe(statement))
        .await
        .expect("the server responds");
}

fn assert_unavailable<T: std::fmt::Debug>(outcome: &Result<T, RepositoryError>) {
    let is_unavailable = matches!(outcome, Err(RepositoryError::Unavailable(_)));
    assert!(is_unavailable, "{outcome:?}");
}

/// Opens [`SESSIONS`] sessions of the store's pool.
async fn read_at_once(database: &Database, agent: &Agent) {
    let tenant = fixture::tenant();
    let reads = (0..SESSIONS).map(|_| database.agents.find(&tenant, agent.id));
    for read in join_all(reads).await {
        assert!(read.expect("a response").value.is_some());
    }
}

/// Reads until no call uses an ended session.
async fn replace_ended_sessions(database: &Database) {
    let (tenant, id) = (fixture::tenant(), fixture::agent_id(1));
    for _ in 0..=SESSIONS {
        if database.agents.find(&tenant, id).await.is_ok() {
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_database_is_unavailable_for_writes_and_no_session_stays_read_only() {
    let database = Database::new().await;
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(0));
    let insert = async |number| {
        let agent = fixture::agent(number);
        let inserted = database.agents.insert(&tenant, &agent, &stamp, None).await;
        inserted.map(drop)
    };
    let chat = async |number| {
        let agent = fixture::agent(1);
        let conversation = fixture::conversation(number, agent.id);
        let completed_turn =
            fixture::completed_turn(number, &agent, ConversationTarget::New(conversation));
        database.turns.record_completed_turn(completed_turn).await
    };
    insert(1).await.expect("an agent");
    database
        .maintenance
        .ping()
        .await
        .expect("a successful ping");

    execute(
        &database,
        "alter database {} set default_transaction_read_only = on",
    )
    .await;
    // New sessions are read-only.
    let others = "select pg_terminate_backend(pid) from pg_stat_activity where datname = '{}'";
    execute(&database, others).await;
    replace_ended_sessions(&database).await;
    assert_unavailable(&chat(1).await);
    for number in 2..5 {
        assert_unavailable(&database.maintenance.ping().await);
        assert_unavailable(&insert(number).await);
        assert_unavailable(&chat(number).await);
        read_at_once(&database, &fixture::agent(1)).await;
    }

    execute(
        &database,
        "alter database {} reset default_transaction_read_only",
    )
    .await;
    // The last session is still read-only, and is used for the last time.
    assert_unavailable(&database.maintenance.ping().await);
    database
        .maintenance
        .ping()
        .await
        .expect("a successful ping");
    for inserted in join_all((10..10 + SESSIONS).map(insert)).await {
        inserted.expect("a writable session");
    }
    let recorded = chat(10).await.expect("a writable session");
    assert!(
        matches!(recorded, RecordTurnOutcome::Recorded { .. }),
        "{recorded:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_is_not_granted_in_time_is_unavailable() {
    let database = Database::new().await;
    execute(&database, "alter database {} set lock_timeout = '200ms'").await;
    // Sessions of the store read the setting when they open.
    let store = contract::Store::new(crate::database::store(&database.options()).await.storage());
    let mut holder = database.connect().await;
    holder
        .execute("begin; select from tenants for update")
        .await
        .expect("the lock");
    let (tenant, stamp, agent) = (fixture::tenant(), fixture::stamp(0), fixture::agent(1));
    let inserted = store.agents.insert(&tenant, &agent, &stamp, None).await;
    assert_unavailable(&inserted);
    waiting(&mut holder, 0).await;
    holder
        .execute("rollback")
        .await
        .expect("the lock is released");
    let inserted = store.agents.insert(&tenant, &agent, &stamp, None).await;
    inserted.expect("an agent");
}
