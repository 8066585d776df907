//! Nothing is decided on what was there before the tenant's lock was held.

use contract::samples;
use domain::TenantId;
use ports::{ExchangeTarget, RepositoryError};
use sqlx::Connection;

use crate::database::{Database, waiting};

const HOLD: &str = "select head_seq from tenants where id = $1 for update";
const CHANGE: &str = "update agents set version = version + 1";

#[tokio::test(flavor = "multi_thread")]
async fn what_changed_while_a_writer_waited_for_the_lock_is_seen() {
    let database = Database::make().await;
    let (tenant, agent) = (samples::tenant(), samples::agent(1));
    let stamp = samples::stamp(1);
    database
        .agents
        .insert(&tenant, &agent, &stamp, None)
        .await
        .unwrap();
    let mut other = database.connect().await;
    let mut watch = database.connect().await;
    let mut holder = other.begin().await.unwrap();
    sqlx::query(HOLD)
        .bind(TenantId::DEFAULT)
        .execute(&mut *holder)
        .await
        .unwrap();

    let conversation = samples::conversation(1, agent.id);
    let chat = samples::exchange(1, &agent, ExchangeTarget::New(conversation));
    let next = samples::renamed(&agent, "Next");
    let release = async {
        waiting(&mut watch, 2).await;
        sqlx::query(CHANGE).execute(&mut *holder).await.unwrap();
        holder.commit().await.unwrap();
    };
    let (update, chat, ()) = tokio::join!(
        database.agents.update(&tenant, &next, &stamp),
        database.turns.record_exchange(chat),
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
