//! The version check of updates and deletions, and the update of a conversation.

use domain::Conversation;
use ports::RepositoryError;

/// Checks the version that a caller expects of an entity: `Stale` if the stored one differs.
pub fn check_version(
    what: &'static str,
    stored: i64,
    expected: Option<i64>,
) -> Result<(), RepositoryError> {
    if expected.is_some_and(|expected| expected != stored) {
        return Err(RepositoryError::Stale { what });
    }
    Ok(())
}

/// Applies the client's changes in `changed` to the stored conversation, whose version must be the
/// one before. Its times never run backwards.
pub fn updated_conversation(
    stored: Conversation,
    changed: &Conversation,
) -> Result<Conversation, RepositoryError> {
    check_version("conversation", stored.version, Some(changed.version - 1))?;
    Ok(Conversation {
        title: changed.title.clone(),
        metadata: changed.metadata.clone(),
        version: changed.version,
        updated_at: changed.updated_at.max(stored.updated_at),
        ..stored
    })
}
