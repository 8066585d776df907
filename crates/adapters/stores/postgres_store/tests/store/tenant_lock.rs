//! Tests of the tenant lock: no decision depends on data that was read before it was held.

use contract::fixture;
use domain::{Seq, TenantId};
use ports::{LogBounds, RepositoryError};
use sqlx::Connection;
use writes::ConversationTarget;

use crate::database::{Database, store, waiting};

const HOLD: &str = "select head_seq from tenants where id = $1 for update";
const CHANGE: &str = "\
    with raised as (update tenants set head_seq = head_seq + 1) \
    update agents set version = version + 1";

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_waited_for_the_lock_sees_the_changes_of_its_holder() {
    let database = Database::new().await;
    let (tenant, agent) = (fixture::tenant(), fixture::agent(1));
    let stamp = fixture::stamp(1);
    database
        .agents
        .insert(&tenant, &agent, &stamp, None)
        .await
        .unwrap();
    let other_process = contract::Store::new(store(&database.options()).await.storage());
    let mut other = database.connect().await;
    let mut watch = database.connect().await;
    let mut holder = other.begin().await.unwrap();
    sqlx::query(HOLD)
        .bind(TenantId::DEFAULT)
        .execute(&mut *holder)
        .await
        .unwrap();

    let conversation = fixture::conversation(1, agent.id);
    let chat = fixture::completed_turn(1, &agent, ConversationTarget::New(conversation));
    let next = fixture::renamed(&agent, "Next");
    let release = async {
        waiting(&mut watch, 2).await;
        sqlx::query(CHANGE).execute(&mut *holder).await.unwrap();
        holder.commit().await.unwrap();
    };
    let (update, chat, ()) = tokio::join!(
        database.agents.update(&tenant, &next, &stamp),
        other_process.turns.record_completed_turn(chat),
        release,
    );
    assert!(
        matches!(update, Err(RepositoryError::Stale { .. })),
        "{update:?}"
    );
    assert!(
        matches!(chat, Err(RepositoryError::Stale { .. })),
        "{chat:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_waited_for_the_lock_writes_if_nothing_has_changed() {
    let database = Database::new().await;
    let (tenant, agent) = (fixture::tenant(), fixture::agent(1));
    let stamp = fixture::stamp(1);
    let inserted = database.agents.insert(&tenant, &agent, &stamp, None).await;
    inserted.unwrap();
    let mut other = database.connect().await;
    let mut watch = database.connect().await;
    let mut holder = other.begin().await.unwrap();
    let hold = sqlx::query(HOLD).bind(TenantId::DEFAULT);
    hold.execute(&mut *holder).await.unwrap();

    let release = async {
        waiting(&mut watch, 1).await;
        holder.rollback().await.unwrap();
    };
    let next = fixture::renamed(&agent, "Next");
    let (updated, ()) = tokio::join!(database.agents.update(&tenant, &next, &stamp), release);
    assert!(updated.unwrap().is_some());
    let bounds = database.events.bounds(&tenant).await.unwrap();
    assert_eq!(bounds, LogBounds::new(Seq(1), Seq(2)));
}
