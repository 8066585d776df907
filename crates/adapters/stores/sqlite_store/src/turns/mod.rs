//! Turns.

mod statements;

use domain::{AsOf, ConversationId, Listed, Page, Seq, TenantId, Turn, TurnId};
use ports::write_store::{InTenant, OpenTurn, OpenTurnsOf};
use ports::{FoundTurn, ListingOrder, RepositoryError, TurnFilter, TurnQuery};
use relational::{
    page_budget, read,
    repositories::TurnSql,
    stored::{StoredOpenTurn, StoredTurn, StoredTurnWithUser},
};
use sqlx::SqliteConnection;

use crate::{SqliteStore, error::in_table};

pub(crate) use statements::STATEMENTS;
use statements::{
    FIND, FIND_CURRENT, LIST_ASCENDING, LIST_DESCENDING, LIST_OF_STATUS_ASCENDING,
    LIST_OF_STATUS_DESCENDING, LIST_OPEN_ASCENDING, LIST_OPEN_DESCENDING, OPEN_OF_AGENT,
    OPEN_OF_CONVERSATION,
};

impl TurnSql for SqliteStore {
    async fn find_turn(
        &self,
        tenant: &TenantId,
        id: TurnId,
    ) -> Result<AsOf<Option<FoundTurn>>, RepositoryError> {
        let find = sqlx::query(FIND).bind(tenant.as_str()).bind(id.uuid());
        let row = self.fetch_optional(find).await?;
        read::as_of_one("turns", row.as_ref(), |row: StoredTurnWithUser| {
            row.try_into()
        })
    }

    async fn find_current_turn(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
    ) -> Result<Option<FoundTurn>, RepositoryError> {
        let find = sqlx::query(FIND_CURRENT)
            .bind(tenant.as_str())
            .bind(conversation.uuid());
        let row = self.fetch_optional(find).await?;
        read::one("turns", row, |row: StoredTurnWithUser| row.try_into())
    }

    async fn list_turns(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
        query: &TurnQuery,
    ) -> Result<AsOf<Option<Page<Listed<Turn>>>>, RepositoryError> {
        use ListingOrder::{Ascending, Descending};
        let statement = match (query.filter, query.order) {
            (TurnFilter::All, Ascending) => LIST_ASCENDING,
            (TurnFilter::All, Descending) => LIST_DESCENDING,
            (TurnFilter::Open, Ascending) => LIST_OPEN_ASCENDING,
            (TurnFilter::Open, Descending) => LIST_OPEN_DESCENDING,
            (TurnFilter::Status(_), Ascending) => LIST_OF_STATUS_ASCENDING,
            (TurnFilter::Status(_), Descending) => LIST_OF_STATUS_DESCENDING,
        };
        let start = match query.order {
            Ascending => Seq(0),
            Descending => Seq(i64::MAX),
        };
        let mut page = sqlx::query(statement)
            .bind(tenant.as_str())
            .bind(conversation.uuid())
            .bind(query.after.unwrap_or(start).0)
            .bind(page_budget::one_more(query.limit));
        if let TurnFilter::Status(status) = query.filter {
            page = page.bind(status.as_str());
        }
        let rows = self.fetch_all(page).await?;
        let convert = |row: StoredTurn| row.try_into();
        let page = read::as_of_listing("turns", &rows, query.limit, convert)?;
        read::if_found("conversations", &rows, page)
    }
}

/// Returns the open turns of an agent, or those in one conversation with it, by id.
pub(crate) async fn open_turns(
    connection: &mut SqliteConnection,
    (tenant, of): &InTenant<OpenTurnsOf>,
) -> Result<Vec<OpenTurn>, RepositoryError> {
    let statement = match of.conversation {
        Some(_) => OPEN_OF_CONVERSATION,
        None => OPEN_OF_AGENT,
    };
    let mut open = sqlx::query_as(statement)
        .bind(tenant.as_str())
        .bind(of.agent.uuid());
    if let Some(id) = of.conversation {
        open = open.bind(id.uuid());
    }
    let rows: Vec<StoredOpenTurn> = open
        .fetch_all(connection)
        .await
        .map_err(in_table("turns"))?;
    Ok(rows.into_iter().map(OpenTurn::from).collect())
}
