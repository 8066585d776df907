//! Tickets for sockets.

use async_trait::async_trait;
use domain::{SecretDigest, Ticket, Timestamp};
use ports::{RepositoryError, TicketRepository};
use sqlx::types::Json;
use time::OffsetDateTime;

use crate::{PostgresStore, error::conflict_on, row};

const INSERT: &str = "insert into tickets (digest, content, ends_at) values ($1, $2, $3)";
const REDEEM: &str = "delete from tickets where digest = $1 returning content, ends_at";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[INSERT, REDEEM];

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

    async fn redeem(
        &self,
        digest: &SecretDigest,
        now: Timestamp,
    ) -> Result<Option<Ticket>, RepositoryError> {
        let redeem = sqlx::query(REDEEM).bind(digest.bytes().as_slice());
        let redeemed = self.store.connections.fetch_optional(redeem).await?;
        let redeemed = redeemed.as_ref().map(|row| row::read("tickets", row));
        let redeemed: Option<TicketRow> = redeemed.transpose()?;
        Ok(redeemed
            .filter(|redeemed| now < row::time(redeemed.ends_at))
            .map(|redeemed| redeemed.content.0))
    }
}
