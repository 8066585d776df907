//! Tickets for sockets.

use std::time::Duration;

use async_trait::async_trait;
use domain::{CallerClaims, SecretDigest};
use ports::{RepositoryError, TicketRepository};
use relational::{milliseconds, read};
use sqlx::types::Json;

use crate::{PostgresStore, error::conflict_on};

const INSERT: &str = "\
    insert into tickets (digest, content, ends_at) \
    values ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')";
const FIND: &str = "\
    select content from tickets where digest = $1 and ends_at > clock_timestamp()";
const REDEEM: &str = "\
    delete from tickets where digest = $1 and ends_at > clock_timestamp() returning content";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[INSERT, FIND, REDEEM];

/// Tickets for sockets in PostgreSQL.
pub(crate) struct Tickets(pub(crate) PostgresStore);

#[async_trait]
impl TicketRepository for Tickets {
    async fn insert(
        &self,
        digest: &SecretDigest,
        ticket: &CallerClaims,
        life: Duration,
    ) -> Result<(), RepositoryError> {
        let insert = sqlx::query(INSERT)
            .bind(digest.bytes().as_slice())
            .bind(Json(ticket))
            .bind(milliseconds(life));
        self.0
            .connections
            .run(move |connection| {
                Box::pin(async move {
                    let inserted = insert.execute(connection).await;
                    inserted.map(drop).map_err(conflict_on("ticket"))
                })
            })
            .await
    }

    async fn find(&self, digest: &SecretDigest) -> Result<Option<CallerClaims>, RepositoryError> {
        self.ticket(FIND, digest).await
    }

    async fn redeem(&self, digest: &SecretDigest) -> Result<Option<CallerClaims>, RepositoryError> {
        self.ticket(REDEEM, digest).await
    }
}

impl Tickets {
    /// Runs a statement that returns a ticket.
    async fn ticket(
        &self,
        statement: &'static str,
        digest: &SecretDigest,
    ) -> Result<Option<CallerClaims>, RepositoryError> {
        let query = sqlx::query(statement).bind(digest.bytes().as_slice());
        let found = self.0.connections.fetch_optional(query).await?;
        let content = found.map(|row| read::row("tickets", &row)).transpose()?;
        Ok(content.map(|(content,): (Json<CallerClaims>,)| content.0))
    }
}
