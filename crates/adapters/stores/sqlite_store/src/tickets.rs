//! Tickets for sockets.

use std::time::Duration;

use async_trait::async_trait;
use domain::{CallerClaims, SecretDigest};
use ports::{RepositoryError, TicketRepository};
use relational::{Store as _, milliseconds};
use sqlx::types::Json;

use crate::{
    SqliteStore,
    error::{conflict_on, in_table},
};

const INSERT: &str = concat!(
    "insert into tickets (digest, content, ends_at) values (?1, ?2, ",
    now!(),
    " + ?3)"
);
const FIND: &str = concat!(
    "select content from tickets where digest = ?1 and ends_at > ",
    now!()
);
const REDEEM: &str = concat!(
    "delete from tickets where digest = ?1 and ends_at > ",
    now!(),
    " returning content"
);

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[INSERT, FIND, REDEEM];

/// Tickets for sockets in SQLite.
pub(crate) struct Tickets(pub(crate) SqliteStore);

#[async_trait]
impl TicketRepository for Tickets {
    async fn insert(
        &self,
        digest: &SecretDigest,
        ticket: &CallerClaims,
        life: Duration,
    ) -> Result<(), RepositoryError> {
        let insert = sqlx::query(INSERT)
            .bind(digest.bytes().to_vec())
            .bind(Json(ticket))
            .bind(milliseconds(life));
        let inserted = self.0.execute_query(insert, conflict_on("ticket")).await;
        inserted.map(drop)
    }

    async fn find(&self, digest: &SecretDigest) -> Result<Option<CallerClaims>, RepositoryError> {
        let found: Option<Json<CallerClaims>> = sqlx::query_scalar(FIND)
            .bind(digest.bytes().as_slice())
            .fetch_optional(&self.0.readers)
            .await
            .map_err(in_table("tickets"))?;
        Ok(found.map(|content| content.0))
    }

    async fn redeem(&self, digest: &SecretDigest) -> Result<Option<CallerClaims>, RepositoryError> {
        let redeem = sqlx::query_scalar(REDEEM).bind(digest.bytes().to_vec());
        let redeemed: Option<Json<CallerClaims>> = self
            .0
            .transaction(move |connection| {
                Box::pin(async move {
                    let redeemed = redeem.fetch_optional(connection).await;
                    redeemed.map_err(in_table("tickets"))
                })
            })
            .await?;
        Ok(redeemed.map(|content| content.0))
    }
}
