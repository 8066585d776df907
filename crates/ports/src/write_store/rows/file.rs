//! Rows of `files`, `file_uses` and `uploads`.

use domain::{BlobKey, ConversationId, File, FileId, PrincipalId, TenantId, Timestamp, Uploads};

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

/// A use of a file that ends with a message, unless another message of the conversation has the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRelease {
    /// The use.
    pub of: FileUseRow,
    /// The position of the message.
    pub seq: i64,
}

/// The day of UTC on which uploads of a principal are counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UploadDay {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The principal.
    pub principal: PrincipalId,
    /// The end of the day.
    pub ends_at: Timestamp,
}

/// Uploads to add to a row of `uploads`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadRow {
    /// The day, at most once in a transaction.
    pub day: UploadDay,
    /// The uploads.
    pub uploads: Uploads,
}
