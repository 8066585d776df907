//! Tickets for sockets.

use std::time::Duration;

use async_trait::async_trait;
use domain::{CallerClaims, SecretDigest};
use ports::{RepositoryError, TicketRepository};
use sqlx::types::Json;

use super::Repositories;
use crate::{
    Store,
    column::corrupt,
    parameters,
    read::{self, ReadAs},
    statements,
};

/// The statements on tickets, whose digest is the first parameter.
pub trait TicketSql: Store<Row: ReadAs<(Json<CallerClaims>,)>> {
    statements! {
        /// Inserts a ticket with content 2 and life 3, unless the digest exists. Returns a row.
        const INSERT: &'static str;

        /// The content of a ticket that has not expired.
        const FIND: &'static str;

        /// Deletes a ticket that has not expired, and returns its content.
        const REDEEM: &'static str;
    }
}

#[async_trait]
impl<S: TicketSql> TicketRepository for Repositories<S> {
    async fn insert(
        &self,
        digest: &SecretDigest,
        ticket: &CallerClaims,
        life: Duration,
    ) -> Result<(), RepositoryError> {
        let content = serde_json::to_value(ticket).map_err(corrupt("tickets.content"))?;
        let parameters = parameters![digest.bytes().as_slice(), &content, life];
        let inserted = self.0.execute_returning(S::INSERT, parameters).await?;
        if inserted.is_empty() {
            return Err(RepositoryError::Conflict { what: "ticket" });
        }
        Ok(())
    }

    async fn find(&self, digest: &SecretDigest) -> Result<Option<CallerClaims>, RepositoryError> {
        let parameters = parameters![digest.bytes().as_slice()];
        read_content(self.0.fetch_optional(S::FIND, parameters).await?)
    }

    async fn redeem(&self, digest: &SecretDigest) -> Result<Option<CallerClaims>, RepositoryError> {
        let parameters = parameters![digest.bytes().as_slice()];
        let redeemed = self.0.execute_returning(S::REDEEM, parameters).await?;
        read_content(redeemed.into_iter().next())
    }
}

fn read_content<R>(found: Option<R>) -> Result<Option<CallerClaims>, RepositoryError>
where
    R: ReadAs<(Json<CallerClaims>,)>,
{
    let convert = |(content,): (Json<CallerClaims>,)| Ok(content.0);
    read::one("tickets", found, convert)
}
