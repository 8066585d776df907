//! Rows of `conversations`.

use domain::{ConversationKey, Timestamp};
use ports::RepositoryError;
use relational::{ConversationAdvance, ConversationDeletion, ConversationRow, ConversationUpdate};
use serde::Serialize;
use uuid::fmt::Simple;

use crate::script::{Script, to_json};

const INSERT: &str = concat!(
    given!(),
    "insert into conversations (tenant_id, id, agent_id, user_id, title, metadata, version, \
        message_count, turn_count, created_at, updated_at, last_message_at, sort_seq, key, excerpt, \
        forked_from) \
    select entry ->> 'tenant', unhex(entry ->> 'id'), unhex(entry ->> 'agent'), \
        entry ->> 'user', entry ->> 'title', entry ->> 'metadata', entry ->> 'version', \
        entry ->> 'messages', entry ->> 'turns', entry ->> 'created', entry ->> 'updated', \
        entry ->> 'lastMessage', entry ->> 'sortSeq', entry ->> 'key', entry ->> 'excerpt', \
        entry ->> 'forkedFrom' \
    from given"
);
const ADVANCE: &str = concat!(
    given!(),
    "update conversations set message_count = n.messages, superseded_count = n.superseded, \
        turn_count = n.turns, updated_at = n.updated, \
        last_message_at = coalesce(n.last_message, last_message_at), \
        excerpt = coalesce(n.excerpt, conversations.excerpt), sort_seq = n.sort_seq \
    from (select entry ->> 'tenant' as tenant, unhex(entry ->> 'id') as id, \
        entry ->> 'messages' as messages, entry ->> 'superseded' as superseded, \
        entry ->> 'turns' as turns, entry ->> 'updated' as updated, \
        entry ->> 'lastMessage' as last_message, entry ->> 'excerpt' as excerpt, \
        entry ->> 'sortSeq' as sort_seq \
        from given) n \
    where conversations.tenant_id = n.tenant and conversations.id = n.id"
);

const UPDATE: &str = concat!(
    given!(),
    "update conversations set title = n.title, metadata = n.metadata, version = n.version, \
        updated_at = n.updated, sort_seq = n.sort_seq \
    from (select entry ->> 'tenant' as tenant, unhex(entry ->> 'id') as id, \
        entry ->> 'title' as title, entry ->> 'metadata' as metadata, \
        entry ->> 'version' as version, entry ->> 'updated' as updated, \
        entry ->> 'sortSeq' as sort_seq \
        from given) n \
    where conversations.tenant_id = n.tenant and conversations.id = n.id"
);
const DELETE: &str = concat!(
    given!(),
    "update conversations set deleted_at = n.deleted \
    from (select entry ->> 'tenant' as tenant, unhex(entry ->> 'id') as id, \
        entry ->> 'deleted' as deleted \
        from given) n \
    where conversations.tenant_id = n.tenant and conversations.id = n.id"
);

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[INSERT, ADVANCE, UPDATE, DELETE];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewConversation<'r> {
    tenant: &'r str,
    id: Simple,
    agent: Simple,
    user: Option<&'r str>,
    title: Option<&'r str>,
    metadata: String,
    version: i64,
    messages: i64,
    turns: i64,
    created: i64,
    updated: i64,
    last_message: Option<i64>,
    sort_seq: i64,
    key: Option<&'r str>,
    excerpt: Option<&'r str>,
    forked_from: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Advance<'r> {
    tenant: &'r str,
    id: Simple,
    messages: i64,
    superseded: i64,
    turns: i64,
    updated: i64,
    last_message: Option<i64>,
    excerpt: Option<&'r str>,
    sort_seq: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Update<'r> {
    tenant: &'r str,
    id: Simple,
    title: Option<&'r str>,
    metadata: String,
    version: i64,
    updated: i64,
    sort_seq: i64,
}

#[derive(Serialize)]
struct Deletion<'r> {
    tenant: &'r str,
    id: Simple,
    deleted: i64,
}

/// Inserts new conversations.
pub(super) fn insert(script: &mut Script, rows: &[ConversationRow]) -> Result<(), RepositoryError> {
    script.add(INSERT, rows, |row| {
        let conversation = &row.conversation;
        Ok(NewConversation {
            tenant: row.tenant.as_str(),
            id: conversation.id.uuid().simple(),
            agent: conversation.agent_id.uuid().simple(),
            user: conversation.user_id.as_deref(),
            title: conversation.title.as_deref(),
            metadata: to_json(&conversation.metadata)?,
            version: conversation.version,
            messages: conversation.message_count,
            turns: row.turn_count,
            created: conversation.created_at.milliseconds(),
            updated: conversation.updated_at.milliseconds(),
            last_message: conversation.last_message_at.map(Timestamp::milliseconds),
            sort_seq: row.sort_seq.0,
            key: conversation.key.as_ref().map(ConversationKey::as_str),
            excerpt: conversation.excerpt.as_deref(),
            forked_from: conversation.forked_from.as_ref().map(to_json).transpose()?,
        })
    })
}

/// Updates conversations with new messages or a turn whose status changes.
pub(super) fn advance(
    script: &mut Script,
    rows: &[ConversationAdvance],
) -> Result<(), RepositoryError> {
    script.add(ADVANCE, rows, |row| {
        Ok(Advance {
            tenant: row.tenant.as_str(),
            id: row.id.uuid().simple(),
            messages: row.last_message_seq,
            superseded: row.superseded_count,
            turns: row.turn_count,
            updated: row.updated_at.milliseconds(),
            last_message: row.last_message_at.map(Timestamp::milliseconds),
            excerpt: row.excerpt.as_deref(),
            sort_seq: row.sort_seq.0,
        })
    })
}

/// Updates the columns of conversations that clients can change.
pub(super) fn update(
    script: &mut Script,
    rows: &[ConversationUpdate],
) -> Result<(), RepositoryError> {
    script.add(UPDATE, rows, |row| {
        let conversation = &row.conversation;
        Ok(Update {
            tenant: row.tenant.as_str(),
            id: conversation.id.uuid().simple(),
            title: conversation.title.as_deref(),
            metadata: to_json(&conversation.metadata)?,
            version: conversation.version,
            updated: conversation.updated_at.milliseconds(),
            sort_seq: row.sort_seq.0,
        })
    })
}

/// Marks conversations as deleted.
pub(super) fn delete(
    script: &mut Script,
    rows: &[ConversationDeletion],
) -> Result<(), RepositoryError> {
    script.add(DELETE, rows, |row| {
        Ok(Deletion {
            tenant: row.tenant.as_str(),
            id: row.id.uuid().simple(),
            deleted: row.deleted_at.milliseconds(),
        })
    })
}
