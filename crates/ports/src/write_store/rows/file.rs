//! Rows of `files` and `file_uses`.

use domain::{BlobKey, ConversationId, File, FileId, PrincipalId, TenantId};

/// A row of `files`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRow {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The file.
    pub file: File,
    /// The key of its content.
    pub blob: BlobKey,
    /// The principal that has uploaded it.
    pub creator: PrincipalId,
}

/// A row of `file_uses`. The file then has no end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileUseRow {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The file.
    pub file_id: FileId,
    /// The conversation that uses it.
    pub conversation_id: ConversationId,
}
