//! Tickets for sockets.

use async_trait::async_trait;
use domain::{SecretDigest, Ticket, Timestamp};
use ports::{RepositoryError, TicketRepository};

use crate::{
    SqliteStore,
    error::{conflict_on, in_table},
    row,
};

const INSERT: &str = "insert into tickets (digest, content, ends_at) values (?1, ?2, ?3)";
const FIND: &str = "select content, ends_at from tickets where digest = ?1";
const REDEEM: &str = "delete from tickets where digest = ?1 returning content, ends_at";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[INSERT, FIND, REDEEM];

/// Tickets for sockets in SQLite.
pub(crate) struct SqliteTickets {
    pub(crate) store: SqliteStore,
}

#[async_trait]
impl TicketRepository for SqliteTickets {
    async fn insert(
        &self,
        digest: &SecretDigest,
        ticket: &Ticket,
        ends_at: Timestamp,
    ) -> Result<(), RepositoryError> {
        let insert = sqlx::query(INSERT)
            .bind(digest.bytes().to_vec())
            .bind(row::to_json(ticket)?)
            .bind(ends_at.milliseconds());
        self.store
            .writer
            .transaction(move |connection| {
                Box::pin(async move {
                    let inserted = insert.execute(connection).await;
                    inserted.map(drop).map_err(conflict_on("ticket"))
                })
            })
            .await
    }

    async fn find(
        &self,
        digest: &SecretDigest,
        now: Timestamp,
    ) -> Result<Option<Ticket>, RepositoryError> {
        let found = sqlx::query_as(FIND)
            .bind(digest.bytes().to_vec())
            .fetch_optional(&self.store.readers)
            .await
            .map_err(in_table("tickets"))?;
        good(found, now)
    }

    async fn redeem(
        &self,
        digest: &SecretDigest,
        now: Timestamp,
    ) -> Result<Option<Ticket>, RepositoryError> {
        let redeem = sqlx::query_as(REDEEM).bind(digest.bytes().to_vec());
        let redeemed = self
            .store
            .writer
            .transaction(move |connection| {
                Box::pin(async move {
                    let redeemed = redeem.fetch_optional(connection).await;
                    redeemed.map_err(in_table("tickets"))
                })
            })
            .await?;
        good(redeemed, now)
    }
}

/// A ticket that has not ended yet.
fn good(found: Option<(String, i64)>, now: Timestamp) -> Result<Option<Ticket>, RepositoryError> {
    found
        .filter(|(_, ends_at)| now < row::time(*ends_at))
        .map(|(content, _)| row::from_json("tickets.content", &content))
        .transpose()
}
