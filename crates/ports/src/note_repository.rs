//! Notes of staff in a store.

use async_trait::async_trait;
use domain::{ConversationId, Listed, Note, NoteId, Page, Seq, TenantId};

use crate::RepositoryError;

/// The notes of staff about conversations.
#[async_trait]
pub trait NoteRepository: Send + Sync {
    /// Finds a note of a conversation that exists.
    async fn find(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
        id: NoteId,
    ) -> Result<Option<Note>, RepositoryError>;

    /// Lists the notes of a conversation, the newest first. The page starts after the position `after`. It
    /// MUST end at about `sizes::PAGE_BYTES` and contain at least one note if any is left. Empty if the
    /// conversation does not exist.
    async fn list(
        &self,
        tenant: &TenantId,
        conversation: ConversationId,
        after: Option<Seq>,
        limit: usize,
    ) -> Result<Page<Listed<Note>>, RepositoryError>;
}
