//! Files that messages and notes contain.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    AgentId, BlobKey, ConversationId, FileId, MediaType, Principal, PrincipalId, Timestamp,
};

/// The maximum number of files of a message.
pub const MAX_FILES: usize = 8;

/// The time for which a file is kept that neither a message nor a note uses.
pub const UNUSED_LIFE: std::time::Duration = std::time::Duration::from_hours(24);

/// A file of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileReference {
    /// The file's id.
    pub id: FileId,
    /// The name, at most 255 characters.
    #[cfg_attr(feature = "schema", schema(max_length = 255))]
    pub name: String,
    /// The media type, as its content shows it.
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "image/png"))]
    pub media_type: MediaType,
    /// The size in bytes.
    #[cfg_attr(feature = "schema", schema(minimum = 1))]
    pub bytes: u64,
}

/// An uploaded file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct File {
    /// The part that messages show.
    #[serde(flatten)]
    pub reference: FileReference,
    /// The SHA-256 digest of the content.
    pub sha256: ContentDigest,
    /// The time of the upload.
    pub created_at: Timestamp,
    /// The time at which it is deleted unless a message or note uses it; null once one does.
    pub expires_at: Option<Timestamp>,
}

/// The SHA-256 digest of a file's content.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ContentDigest(pub [u8; 32]);

impl fmt::Display for ContentDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl Serialize for ContentDigest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentDigest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.as_bytes().as_chunks::<2>().0;
        let byte = |pair: &[u8; 2]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Option<Vec<u8>> = digits.iter().map(byte).collect();
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| {
            serde::de::Error::invalid_value(serde::de::Unexpected::Str(&text), &"64 hex digits")
        })
    }
}

#[cfg(feature = "schema")]
impl utoipa::PartialSchema for ContentDigest {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .pattern(Some("^[0-9a-f]{64}$"))
            .into()
    }
}

#[cfg(feature = "schema")]
impl utoipa::ToSchema for ContentDigest {}

/// A file as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFile {
    /// The file.
    pub file: File,
    /// The key of its content.
    pub blob: BlobKey,
    /// The principal that has uploaded it.
    pub creator: PrincipalId,
    /// The conversations that use it, copies of messages included. Deleted ones are omitted. One whose messages and
    /// notes use it is there twice.
    pub uses: Vec<FileUse>,
}

/// A conversation that uses a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileUse {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// Its agent.
    pub agent_id: AgentId,
    /// Its user.
    pub user_id: Option<String>,
    /// Notes of staff use it, not messages.
    pub is_by_notes: bool,
}

impl FileUse {
    fn may_be_read_by(&self, caller: &Principal) -> bool {
        let user = self.user_id.as_deref();
        let is_hidden = self.is_by_notes && !caller.may_read_notes(user);
        !is_hidden && caller.may_reach(user, self.agent_id)
    }
}

impl StoredFile {
    /// Returns whether it is there: until its time is over, and then while conversations use it.
    pub fn exists(&self, now: Timestamp) -> bool {
        let is_used = !self.uses.is_empty();
        self.file.expires_at.map_or(is_used, |end| now < end)
    }

    /// Returns whether neither a message nor a note uses it.
    pub const fn is_unused(&self) -> bool {
        self.file.expires_at.is_some()
    }

    /// Returns the conversations whose messages use it.
    pub fn uses_by_messages(&self) -> impl Iterator<Item = &FileUse> {
        self.uses.iter().filter(|of| !of.is_by_notes)
    }

    /// Returns whether messages may use it: notes do not make it known to users and models.
    pub fn is_for_messages(&self) -> bool {
        self.is_unused() || self.uses_by_messages().next().is_some()
    }

    /// Returns whether a message in a conversation of this user uses it.
    pub fn is_of_user(&self, user_id: &str) -> bool {
        let mut uses = self.uses_by_messages();
        uses.any(|of| of.user_id.as_deref() == Some(user_id))
    }

    /// Returns whether a caller may read it: its creator until a message or note uses it or its time is over, then
    /// those who may read one of the conversations that do. What only notes use is read by those who may read notes.
    pub fn may_be_read_by(&self, caller: &Principal, now: Timestamp) -> bool {
        if let Some(expires_at) = self.file.expires_at {
            return now < expires_at && self.creator == caller.id;
        }
        let mut uses = self.uses.iter();
        uses.any(|of| of.may_be_read_by(caller))
    }
}
