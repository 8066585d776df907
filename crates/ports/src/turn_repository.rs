//! Turns in a store.

use async_trait::async_trait;
use domain::{AsOf, ConversationId, Listed, Page, TenantId, Turn, TurnId};

use crate::RepositoryError;

mod query;
mod scan;

pub use query::{FoundTurn, TurnFilter, TurnQuery};
pub use scan::{ScannedTurns, TurnConditions, TurnPosition, TurnScan, WaitingFor};

/// Reading turns in a store.
#[async_trait]
pub trait TurnRepository: Send + Sync {
    /// Finds a turn. MUST return a log position that is not later than the state that was read. Of
    /// a deleted agent or conversation, MUST find only the turns that the deletion itself
    /// cancelled, until they are purged.
    async fn find(
        &self,
        tenant: &TenantId,
        id: TurnId,
    ) -> Result<AsOf<Option<FoundTurn>>, RepositoryError>;

    /// Finds the turn that a client of the conversation follows: the running turn, or else the first
    /// queued one, or else the newest. Returns `None` if the conversation has no turns or does not
    /// exist.
    async fn find_current(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
    ) -> Result<Option<FoundTurn>, RepositoryError>;

    /// Lists the turns of a conversation, in the commit order of the transactions that began them. A
    /// page MUST end at about `sizes::PAGE_BYTES` and contain at least one turn if any is left. MUST
    /// return `None` if the conversation does not exist.
    async fn list(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
        query: &TurnQuery,
    ) -> Result<AsOf<Option<Page<Listed<Turn>>>>, RepositoryError>;

    /// Lists the turns of a tenant that meet conditions, the newest first. Those of conversations and agents
    /// that are deleted MUST be left out. Looks at no more than [`SCAN_LENGTH`](crate::SCAN_LENGTH) turns, with
    /// [`waiting_for`](TurnConditions::waiting_for) at as many that wait, so a page can be short, or empty,
    /// although others follow. A page MUST end at about `sizes::PAGE_BYTES`.
    async fn scan(
        &self,
        tenant: &TenantId,
        scan: &TurnScan,
    ) -> Result<AsOf<ScannedTurns>, RepositoryError>;
}
