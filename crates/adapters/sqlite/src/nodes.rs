//! Nodes. The store's clock is the clock of this machine.

use std::time::Duration;

use async_trait::async_trait;
use domain::NodeId;
use ports::{NodeRepository, RepositoryError};

use crate::{
    SqliteStore,
    error::{conflict_on, from_sqlx},
};

const INSERT: &str = concat!(
    "insert into nodes (id, lease_until) values (?1, ",
    now!(),
    " + ?2)"
);
const RENEW: &str = concat!(
    "update nodes set lease_until = ",
    now!(),
    " + ?2 where id = ?1 and swept = 0"
);
const DELETE: &str = "delete from nodes where id = ?1";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[INSERT, RENEW, DELETE];

/// Nodes in SQLite.
pub(crate) struct Nodes(pub(crate) SqliteStore);

/// Converts a duration to the unit of statements.
pub(crate) fn milliseconds(lease: Duration) -> i64 {
    i64::try_from(lease.as_millis()).unwrap_or(i64::MAX / 2)
}

#[async_trait]
impl NodeRepository for Nodes {
    async fn insert(&self, id: NodeId, lease: Duration) -> Result<(), RepositoryError> {
        let insert = sqlx::query(INSERT)
            .bind(id.uuid())
            .bind(milliseconds(lease));
        let inserted = self.0.execute(insert, conflict_on("node")).await;
        inserted.map(drop)
    }

    async fn renew(&self, id: NodeId, lease: Duration) -> Result<bool, RepositoryError> {
        let renew = sqlx::query(RENEW).bind(id.uuid()).bind(milliseconds(lease));
        Ok(self.0.execute(renew, from_sqlx).await? == 1)
    }

    async fn delete(&self, id: NodeId) -> Result<(), RepositoryError> {
        let delete = sqlx::query(DELETE).bind(id.uuid());
        self.0.execute(delete, from_sqlx).await.map(drop)
    }
}
