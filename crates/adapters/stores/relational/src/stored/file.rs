//! A file as it is stored.

use domain::{
    AgentId, BlobKey, ContentDigest, ConversationId, File, FileId, FileReference, FileUse,
    LinkSecret, MediaType, PrincipalId, StoredFile,
};
use ports::RepositoryError;
use uuid::Uuid;

use crate::column::StoredTime;

/// A file as it is stored, with one of the conversations that use it.
#[derive(sqlx::FromRow)]
pub struct StoredFileRow {
    id: Uuid,
    blob: Uuid,
    name: String,
    media_type: String,
    bytes: i64,
    sha256: Vec<u8>,
    principal: String,
    created_at: StoredTime,
    expires_at: Option<StoredTime>,
    conversation_id: Option<Uuid>,
    agent_id: Option<Uuid>,
    user_id: Option<String>,
    is_by_notes: Option<bool>,
}

impl StoredFileRow {
    /// Adds it to the files of the rows before it, which are in the order of the files.
    pub fn add_to(self, files: &mut Vec<StoredFile>) -> Result<(), RepositoryError> {
        let place = self.conversation_id.zip(self.agent_id);
        let new_use = place.map(|(conversation, agent)| FileUse {
            conversation_id: ConversationId::new(conversation),
            agent_id: AgentId::new(agent),
            user_id: self.user_id.clone(),
            is_by_notes: self.is_by_notes == Some(true),
        });
        let id = FileId::new(self.id);
        if files.last().is_none_or(|last| last.file.reference.id != id) {
            files.push(self.into_file()?);
        }
        if let Some(file) = files.last_mut() {
            file.uses.extend(new_use);
        }
        Ok(())
    }

    fn into_file(self) -> Result<StoredFile, RepositoryError> {
        let sha256 = self
            .sha256
            .try_into()
            .map_err(|_wrong_length| corrupt("files.sha256"))?;
        let reference = FileReference {
            id: FileId::new(self.id),
            name: self.name,
            media_type: MediaType::read(&self.media_type),
            bytes: self.bytes.cast_unsigned(),
        };
        Ok(StoredFile {
            file: File {
                reference,
                sha256: ContentDigest(sha256),
                created_at: self.created_at.0,
                expires_at: self.expires_at.map(|time| time.0),
            },
            blob: BlobKey::new(self.blob),
            creator: PrincipalId::new(self.principal),
            uses: Vec::new(),
        })
    }
}

/// The column `link_secret` of `blob_stores`.
pub type StoredLinkSecret = (Option<Vec<u8>>,);

/// Converts the secret of links.
pub fn link_secret((secret,): StoredLinkSecret) -> Result<Option<LinkSecret>, RepositoryError> {
    let convert = |bytes: Vec<u8>| {
        let bytes = bytes.try_into().map(LinkSecret::new);
        bytes.map_err(|_wrong_length| corrupt("blob_stores.link_secret"))
    };
    secret.map(convert).transpose()
}

fn corrupt(what: &str) -> RepositoryError {
    RepositoryError::Corrupt {
        what: what.to_owned(),
        source: "a digest or secret has 32 bytes".into(),
    }
}
