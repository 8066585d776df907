//! Tickets for sockets.

use async_trait::async_trait;
use domain::{SecretDigest, Ticket, Timestamp};
use ports::{RepositoryError, TicketRepository};
use sqlx::types::Json;
use time::OffsetDateTime;

use crate::{PostgresStore, error::conflict_on, row};

const INSERT: &str = "insert into tickets (digest, content, ends_at) values ($1, $2, $3)";
const FIND: &str = "select content, ends_at from tickets where digest = $1";
const REDEEM: &str = "delete from tickets where digest = $1 returning content, ends_at";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[INSERT, FIND, REDEEM];

#[derive(sqlx::FromRow)]
struct TicketRow {
    content: Json<Ticket>,
    ends_at: OffsetDateTime,
}

/// Tickets for sockets in PostgreSQL.
pub(crate) struct PostgresTickets {
    pub(crate) store: PostgresStore,
}

#[async_trait]
impl TicketRepository for PostgresTickets {
    async fn insert(
        &self,
        digest: &SecretDigest,
        ticket: &Ticket,
        ends_at: Timestamp,
    ) -> Result<(), RepositoryError> {
        let insert = sqlx::query(INSERT)
            .bind(digest.bytes().as_slice())
            .bind(Json(ticket))
            .bind(ends_at.date_time());
        self.store
            .connections
            .run(move |connection| {
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
        self.ticket(FIND, digest, now).await
    }

    async fn redeem(
        &self,
        digest: &SecretDigest,
        now: Timestamp,
    ) -> Result<Option<Ticket>, RepositoryError> {
        self.ticket(REDEEM, digest, now).await
    }
}

impl PostgresTickets {
    /// The ticket that a statement answers, if it has not ended yet.
    async fn ticket(
        &self,
        statement: &'static str,
        digest: &SecretDigest,
        now: Timestamp,
    ) -> Result<Option<Ticket>, RepositoryError> {
        let query = sqlx::query(statement).bind(digest.bytes().as_slice());
        let found = self.store.connections.fetch_optional(query).await?;
        let found = found.as_ref().map(|row| row::read("tickets", row));
        let found: Option<TicketRow> = found.transpose()?;
        Ok(found
            .filter(|found| now < row::time(found.ends_at))
            .map(|found| found.content.0))
    }
}
