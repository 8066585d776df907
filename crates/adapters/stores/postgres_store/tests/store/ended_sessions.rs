//! Tests of sessions that the server ends while they are idle.

use contract::{Store, fixture};
use futures::future::join_all;
use sqlx::{AssertSqlSafe, Executor as _, PgConnection};
use writes::{ConversationTarget, RecordTurnOutcome};

use crate::database::{Database, store};

const OTHERS: &str = "\
    select count(*) from pg_stat_activity \
    where datname = current_database() and pid <> pg_backend_pid()";

/// Waits until no session of the store is left.
async fn all_ended(connection: &mut PgConnection) {
    loop {
        let others = sqlx::query_scalar(OTHERS).fetch_one(&mut *connection);
        let others: i64 = others.await.expect("the server responds");
        if others == 0 {
            return;
        }
    }
}

/// A database with agent 1 whose server ends sessions after 100 ms without a statement, and a
/// connection that it does not end.
async fn with_short_sessions() -> (Database, PgConnection) {
    let database = Database::new().await;
    let (tenant, agent, stamp) = (fixture::tenant(), fixture::agent(1), fixture::stamp(0));
    let inserted = database.agents.insert(&tenant, &agent, &stamp, None).await;
    inserted.expect("an agent");
    database.writes.close().await;
    database.store.close().await;
    let mut observer = database.connect().await;
    let options = database.options();
    let name = options.get_database().expect("a database");
    let alter = format!("alter database {name} set idle_session_timeout = '100ms'");
    let altered = observer.execute(AssertSqlSafe(alter)).await;
    altered.expect("the server responds");
    (database, observer)
}

/// A chat in a new conversation of agent 1, whose facts are read ahead.
async fn chat(storage: &Store, number: u32) {
    let agent = fixture::agent(1);
    let conversation = fixture::conversation(number, agent.id);
    let turn = fixture::completed_turn(number, &agent, ConversationTarget::New(conversation));
    let recorded = storage.turns.record_completed_turn(turn).await;
    assert!(
        matches!(recorded, Ok(RecordTurnOutcome::Recorded { .. })),
        "{recorded:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_ended_while_idle_are_replaced_in_reads_and_writes() {
    let (database, mut observer) = with_short_sessions().await;
    let storage = Store::new(store(&database.options()).await.storage());
    let (tenant, id) = (fixture::tenant(), fixture::agent_id(1));
    for number in 1..=5 {
        // Several sessions of the pool, and that of the writer.
        let reads = (0..8).map(|_| storage.agents.find(&tenant, id));
        for read in join_all(reads).await {
            assert!(read.expect("a response").value.is_some());
        }
        chat(&storage, number).await;
        all_ended(&mut observer).await;
        let (agent, stamp) = (fixture::agent(number + 1), fixture::stamp(0));
        let inserted = storage.agents.insert(&tenant, &agent, &stamp, None).await;
        inserted.expect("a response");
        all_ended(&mut observer).await;
        storage.maintenance.ping().await.expect("a response");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_ended_while_idle_are_replaced_while_another_process_writes() {
    let (database, mut observer) = with_short_sessions().await;
    let options = database.options();
    let (one, other) = (
        Store::new(store(&options).await.storage()),
        Store::new(store(&options).await.storage()),
    );
    for round in 1..=5 {
        // While another process writes, a write begins with a transaction.
        for number in 1..=4 {
            chat(&one, 100 * round + number).await;
            chat(&other, 100 * round + 50 + number).await;
        }
        all_ended(&mut observer).await;
    }
}
