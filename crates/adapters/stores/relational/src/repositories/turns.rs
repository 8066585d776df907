//! Turns.

use async_trait::async_trait;
use domain::{AsOf, ConversationId, Listed, Page, Seq, TenantId, Turn, TurnId};
use ports::{
    FoundTurn, ListingOrder, RepositoryError, ScannedTurns, TurnFilter, TurnQuery, TurnRepository,
    TurnScan,
    write_store::{InTenant, OpenTurn, OpenTurnsOf},
};

use super::{
    Repositories,
    turn_scans::{self, TurnScanSql},
};
use crate::{
    Parameter, page_budget, parameters,
    read::{self, ListedRow, ReadAs},
    statements,
    store::Store,
    stored::{StoredOpenTurn, StoredTurn, StoredTurnWithUser},
};

/// The statements on turns. The first parameter is the tenant.
pub trait TurnSql:
    Store<Row: ReadAs<StoredTurnWithUser> + ReadAs<ListedRow<StoredTurn>> + ReadAs<StoredOpenTurn>>
{
    statements! {
        /// The tenant's head, and the turn with id 2 and its user.
        const FIND: &'static str;

        /// The running turn of conversation 2, or else the first queued one, or else the newest.
        const FIND_CURRENT: &'static str;

        /// The turns of conversation 2 after position 3, at most 4, with the tenant's head.
        const LIST_ASCENDING: &'static str;

        /// The turns before position 3.
        const LIST_DESCENDING: &'static str;

        /// The open turns after position 3.
        const LIST_OPEN_ASCENDING: &'static str;

        /// The open turns before position 3.
        const LIST_OPEN_DESCENDING: &'static str;

        /// The turns with waiting tool calls after position 3.
        const LIST_WAITING_ASCENDING: &'static str;

        /// The turns with waiting tool calls before position 3.
        const LIST_WAITING_DESCENDING: &'static str;

        /// The turns with status 5 after position 3.
        const LIST_OF_STATUS_ASCENDING: &'static str;

        /// The turns with status 5 before position 3.
        const LIST_OF_STATUS_DESCENDING: &'static str;

        /// The open turns of agent 2, by id.
        const OPEN_OF_AGENT: &'static str;

        /// Those in conversation 3.
        const OPEN_OF_CONVERSATION: &'static str;
    }
}

#[async_trait]
impl<S: TurnSql + TurnScanSql> TurnRepository for Repositories<S> {
    async fn find(
        &self,
        tenant: &TenantId,
        id: TurnId,
    ) -> Result<AsOf<Option<FoundTurn>>, RepositoryError> {
        let parameters = parameters![tenant, id];
        let found = self.0.fetch_optional(S::FIND, parameters).await?;
        let convert = |row: StoredTurnWithUser| row.try_into();
        read::as_of_one("turns", found.as_ref(), convert)
    }

    async fn find_current(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
    ) -> Result<Option<FoundTurn>, RepositoryError> {
        let parameters = parameters![tenant, conversation];
        let found = self.0.fetch_optional(S::FIND_CURRENT, parameters).await?;
        read::one("turns", found, |row: StoredTurnWithUser| row.try_into())
    }

    async fn list(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
        query: &TurnQuery,
    ) -> Result<AsOf<Option<Page<Listed<Turn>>>>, RepositoryError> {
        use ListingOrder::{Ascending, Descending};
        let statement = match (query.filter, query.order) {
            (TurnFilter::All, Ascending) => S::LIST_ASCENDING,
            (TurnFilter::All, Descending) => S::LIST_DESCENDING,
            (TurnFilter::Open, Ascending) => S::LIST_OPEN_ASCENDING,
            (TurnFilter::Open, Descending) => S::LIST_OPEN_DESCENDING,
            (TurnFilter::Waiting, Ascending) => S::LIST_WAITING_ASCENDING,
            (TurnFilter::Waiting, Descending) => S::LIST_WAITING_DESCENDING,
            (TurnFilter::Status(_), Ascending) => S::LIST_OF_STATUS_ASCENDING,
            (TurnFilter::Status(_), Descending) => S::LIST_OF_STATUS_DESCENDING,
        };
        let start = match query.order {
            Ascending => Seq(0),
            Descending => Seq(i64::MAX),
        };
        let after = query.after.unwrap_or(start);
        let one_more = page_budget::one_more(query.limit);
        let mut parameters = parameters![tenant, conversation, after, one_more].to_vec();
        if let TurnFilter::Status(status) = &query.filter {
            parameters.push(status.as_str().into());
        }
        let rows = self.0.fetch_all(statement, &parameters).await?;
        let convert = |row: StoredTurn| row.try_into();
        let page = read::as_of_listing("turns", &rows, query.limit, convert)?;
        read::if_found("conversations", &rows, page)
    }

    async fn scan(
        &self,
        tenant: &TenantId,
        scan: &TurnScan,
    ) -> Result<AsOf<ScannedTurns>, RepositoryError> {
        turn_scans::page(&self.0, tenant, scan).await
    }
}

/// Returns the open turns of an agent, or those in one conversation with it, by id.
pub async fn open_turns<S: TurnSql>(
    connection: &mut S::Connection,
    (tenant, of): &InTenant<OpenTurnsOf>,
) -> Result<Vec<OpenTurn>, RepositoryError> {
    let statement = match of.conversation {
        Some(_) => S::OPEN_OF_CONVERSATION,
        None => S::OPEN_OF_AGENT,
    };
    let mut parameters = parameters![tenant, of.agent].to_vec();
    parameters.extend(of.conversation.map(Parameter::from));
    let rows = S::fetch_all_in(connection, statement, &parameters).await?;
    read::rows("turns", rows, |row: StoredOpenTurn| Ok(row.into()))
}
