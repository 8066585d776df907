//! The facts of a batch as they are stored.

use domain::{
    AgentId, ConversationId, Credential, CredentialId, Feedback, FileId, NodeId, NoteId,
    PrincipalId, Seq, TenantId, TurnId, Uploads, User,
};
use ports::{
    ConversationName, Facts, RepositoryError,
    write_store::{
        ConversationFacts, CredentialFacts, FeedbackKey, InTenant, NoteKey, RunningTurn, TurnRow,
        UploadDay,
    },
};
use uuid::Uuid;

use super::{StoredCredential, StoredMessageFeedback, StoredUserInTenant, turn::StoredTurn};
use crate::column::{self, StoredTime, TextList};

/// The facts about a conversation as they are stored.
#[derive(sqlx::FromRow)]
pub struct StoredConversationFacts {
    tenant_id: String,
    id: Uuid,
    agent_id: Uuid,
    agent_version: i64,
    user_id: Option<String>,
    version: i64,
    last_message_seq: i64,
    superseded_count: i64,
    staff_messages: i64,
    visible_message_seq: i64,
    turn_count: i64,
    handled_by: Option<String>,
    waiting_since: Option<StoredTime>,
    created_at: StoredTime,
    updated_at: StoredTime,
    last_message_at: Option<StoredTime>,
    running: Option<Uuid>,
    is_waiting: bool,
    waiting: i64,
    continuations: i64,
    first_waiting: Option<Uuid>,
}

impl TryFrom<StoredConversationFacts> for (InTenant<ConversationId>, ConversationFacts) {
    type Error = RepositoryError;

    fn try_from(row: StoredConversationFacts) -> Result<Self, RepositoryError> {
        let facts = ConversationFacts {
            agent_id: AgentId::new(row.agent_id),
            agent_version: row.agent_version,
            user_id: row.user_id,
            version: row.version,
            last_message_seq: row.last_message_seq,
            superseded_count: row.superseded_count,
            staff_messages: row.staff_messages,
            visible_message_seq: row.visible_message_seq,
            turn_count: row.turn_count,
            handled_by: column::handler(row.handled_by.as_deref()),
            waiting_since: row.waiting_since.map(|time| time.0),
            created_at: row.created_at.0,
            updated_at: row.updated_at.0,
            last_message_at: row.last_message_at.map(|time| time.0),
            running: row.running.map(TurnId::new),
            is_waiting: row.is_waiting,
            waiting: u32::try_from(row.waiting).unwrap_or(u32::MAX),
            continuations: u32::try_from(row.continuations).unwrap_or(u32::MAX),
            first_waiting: row.first_waiting.map(TurnId::new),
        };
        Ok((
            (tenant(&row.tenant_id)?, ConversationId::new(row.id)),
            facts,
        ))
    }
}

/// Converts the columns `id` and `head_seq` of a tenant.
pub fn head((id, head): (String, i64)) -> Result<(TenantId, Seq), RepositoryError> {
    Ok((tenant(&id)?, Seq(head)))
}

/// Converts the columns `tenant_id`, `id` and `version` of an agent.
pub fn agent_version(
    (of, id, version): (String, Uuid, i64),
) -> Result<(InTenant<AgentId>, i64), RepositoryError> {
    Ok(((tenant(&of)?, AgentId::new(id)), version))
}

/// Converts the columns `tenant_id` and `id` of an agent.
pub fn agent_id((of, id): (String, Uuid)) -> Result<InTenant<AgentId>, RepositoryError> {
    Ok((tenant(&of)?, AgentId::new(id)))
}

/// Converts the columns `id`, `tenant_id` and `kind` of a credential, and whether it is revoked.
pub fn credential(
    (id, of, kind, is_revoked): (String, String, String, bool),
) -> Result<(CredentialId, CredentialFacts), RepositoryError> {
    let facts = CredentialFacts {
        tenant: tenant(&of)?,
        kind: column::parse("credentials.kind", &kind)?,
        is_revoked,
    };
    Ok((column::parse("credentials.id", &id)?, facts))
}

/// Converts a whole credential.
pub fn whole_credential<Texts: TextList>(
    row: StoredCredential<Texts>,
) -> Result<(CredentialId, Credential), RepositoryError> {
    let credential = Credential::try_from(row)?;
    Ok((credential.id.clone(), credential))
}

/// Converts a user.
pub fn user(row: StoredUserInTenant) -> Result<(InTenant<String>, User), RepositoryError> {
    row.try_into()
}

/// Converts the columns `tenant_id`, `conversation_id` and `id` of a note.
pub fn note((of, conversation, id): (String, Uuid, Uuid)) -> Result<NoteKey, RepositoryError> {
    Ok(NoteKey {
        tenant: tenant(&of)?,
        conversation_id: ConversationId::new(conversation),
        id: NoteId::new(id),
    })
}

/// Converts the rating of a message.
pub fn feedback(
    row: StoredMessageFeedback,
) -> Result<(InTenant<FeedbackKey>, Option<Feedback>), RepositoryError> {
    row.try_into()
}

/// Converts the columns `tenant_id`, `agent_id`, `user_id`, `key` and `id` of a conversation.
pub fn named(
    (of, agent, user_id, key, id): (String, Uuid, Option<String>, String, Uuid),
) -> Result<(InTenant<ConversationName>, ConversationId), RepositoryError> {
    let name = ConversationName {
        agent_id: AgentId::new(agent),
        user_id,
        key: column::parse("conversations.key", &key)?,
    };
    Ok(((tenant(&of)?, name), ConversationId::new(id)))
}

/// Converts a turn, with its key.
pub fn turn(row: StoredTurn) -> Result<(InTenant<TurnId>, TurnRow), RepositoryError> {
    let row = TurnRow::try_from(row)?;
    Ok(((row.tenant.clone(), row.turn.id), row))
}

/// The columns `tenant_id`, `turn_id` and `body` of an entry of a journal.
pub type StoredStep = (String, Uuid, String);

/// Adds the entries of journals, in the order of their numbers.
pub fn add_steps(facts: &mut Facts, rows: Vec<StoredStep>) -> Result<(), RepositoryError> {
    for (of, turn, body) in rows {
        let step = serde_json::from_str(&body).map_err(|error| RepositoryError::Corrupt {
            what: "turn_steps.body".to_owned(),
            source: error.into(),
        })?;
        let key = (tenant(&of)?, TurnId::new(turn));
        facts.journals.entry(key).or_default().push(step);
    }
    Ok(())
}

/// The columns `tenant_id`, `id` and `expires_at` of a file, the conversation of a use, and whether notes use it there.
pub type StoredFileUse = (String, Uuid, Option<StoredTime>, Option<Uuid>, Option<bool>);

/// Adds files, of which each use is a row.
pub fn add_files(facts: &mut Facts, rows: Vec<StoredFileUse>) -> Result<(), RepositoryError> {
    for (of, id, expires_at, conversation, is_by_notes) in rows {
        let file = facts.files.entry((tenant(&of)?, FileId::new(id)));
        let file = file.or_default();
        file.expires_at = expires_at.map(|time| time.0);
        let uses = match is_by_notes {
            Some(true) => &mut file.noted_in,
            _ => &mut file.used_in,
        };
        uses.extend(conversation.map(ConversationId::new));
    }
    Ok(())
}

/// The columns `tenant_id`, `principal`, `ends_at`, `files` and `bytes` of counted uploads.
pub type StoredUploads = (String, String, StoredTime, i64, i64);

/// Converts counted uploads.
pub fn uploads(
    (of, principal, ends_at, files, bytes): StoredUploads,
) -> Result<(UploadDay, Uploads), RepositoryError> {
    let day = UploadDay {
        tenant: tenant(&of)?,
        principal: PrincipalId::new(principal),
        ends_at: ends_at.0,
    };
    let uploads = Uploads {
        files: files.cast_unsigned(),
        bytes: bytes.cast_unsigned(),
    };
    Ok((day, uploads))
}

/// Converts the columns `tenant_id`, `id` and `node_id` of a turn in progress.
pub fn running_turn((of, id, node): (String, Uuid, Uuid)) -> Result<RunningTurn, RepositoryError> {
    Ok(RunningTurn {
        tenant: tenant(&of)?,
        id: TurnId::new(id),
        node: NodeId::new(node),
    })
}

fn tenant(text: &str) -> Result<TenantId, RepositoryError> {
    column::parse("tenants.id", text)
}
