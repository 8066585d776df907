//! Rows of `messages`.

use domain::FinishReason;
use ports::{
    RepositoryError,
    write_store::{MessageCopy, MessageDeletion, MessageRow, MessageTurn, SupersededMessages},
};

use super::change::{Changes, Parameter, json_unless_empty};

relational::statements! {
    const INSERT: &str = "\
        insert into messages (tenant_id, conversation_id, seq, id, turn_id, role, content, \
            created_at, engine, agent_version, finish_reason, input_tokens, output_tokens, author, \
            client_message_id, files, repaired, model) \
        values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

    /// The turn of a message that asked a question has been dismissed. Messages of staff stay.
    const SUPERSEDE: &str = "\
        update messages set superseded_at = ?, finish_reason = case finish_reason \
            when 'requires_action' then 'dismissed' else finish_reason end \
        where tenant_id = ? and conversation_id = ? and seq >= ? and superseded_at is null \
            and author is null";

    const DELETE: &str =
        "delete from messages where tenant_id = ? and conversation_id = ? and seq = ?";

    const SET_TURN: &str = "\
        update messages set turn_id = ? where tenant_id = ? and conversation_id = ? and seq = ?";

    const REWRITE: &str = "\
        update messages set content = ?, created_at = ?, engine = ?, finish_reason = ?, \
            input_tokens = ?, output_tokens = ?, repaired = ?, model = ? \
        where tenant_id = ? and conversation_id = ? and seq = ?";

    const COPY: &str = "\
        insert into messages (tenant_id, conversation_id, seq, id, turn_id, role, content, \
            created_at, engine, agent_version, finish_reason, input_tokens, output_tokens, author, \
            client_message_id, files, repaired, model) \
        select tenant_id, ?, row_number() over (order by seq), id, turn_id, role, content, \
            created_at, engine, agent_version, finish_reason, input_tokens, output_tokens, author, \
            case role when 'user' then client_message_id end, files, repaired, model \
        from messages \
        where tenant_id = ? and conversation_id = ? and seq <= ? and superseded_at is null";

    const COPY_FILE_USES: &str = "\
        insert or ignore into file_uses (conversation_id, tenant_id, file_id) \
        select ?1, m.tenant_id, unhex(replace(f.value ->> 'id', '-', '')) \
        from messages m cross join json_each(m.files) f \
        where m.tenant_id = ?2 and m.conversation_id = ?3 and m.seq <= ?4 and m.superseded_at is null";
}

/// Inserts a new message. The client's id of a message with a turn is stored there.
pub(super) fn insert<'r>(
    changes: &mut Changes<'r>,
    row: &'r MessageRow,
) -> Result<(), RepositoryError> {
    let message = &row.message;
    let author = message.author.as_ref();
    changes.add(
        INSERT,
        [
            row.tenant.as_str().into(),
            message.conversation_id.into(),
            message.seq.into(),
            message.id.into(),
            message.turn_id.into(),
            message.role.as_str().into(),
            message.content.as_str().into(),
            message.created_at.into(),
            message.engine.as_deref().into(),
            message.agent_version.into(),
            message
                .finish_reason
                .as_ref()
                .map(FinishReason::as_str)
                .into(),
            message.usage.map(|usage| usage.input_tokens).into(),
            message.usage.map(|usage| usage.output_tokens).into(),
            author.map(Parameter::json).transpose()?.into(),
            message.own_client_message_id().into(),
            json_unless_empty(message.files.is_empty(), &message.files)?,
            message.output.as_ref().map(|_| message.repaired).into(),
            message.model.as_deref().into(),
        ],
    );
    Ok(())
}

/// Marks messages as superseded.
pub(super) fn supersede<'r>(changes: &mut Changes<'r>, row: &'r SupersededMessages) {
    changes.add(
        SUPERSEDE,
        [
            row.at.into(),
            row.tenant.as_str().into(),
            row.conversation_id.into(),
            row.from_seq.into(),
        ],
    );
}

/// Deletes a message.
pub(super) fn delete<'r>(changes: &mut Changes<'r>, row: &'r MessageDeletion) {
    changes.add(
        DELETE,
        [
            row.tenant.as_str().into(),
            row.conversation_id.into(),
            row.seq.into(),
        ],
    );
}

/// Updates a message that another turn answers.
pub(super) fn set_turn<'r>(changes: &mut Changes<'r>, row: &'r MessageTurn) {
    changes.add(
        SET_TURN,
        [
            row.turn_id.into(),
            row.tenant.as_str().into(),
            row.conversation_id.into(),
            row.seq.into(),
        ],
    );
}

/// Updates the message of a turn that waited, or of staff.
pub(super) fn rewrite<'r>(changes: &mut Changes<'r>, row: &'r MessageRow) {
    let message = &row.message;
    changes.add(
        REWRITE,
        [
            message.content.as_str().into(),
            message.created_at.into(),
            message.engine.as_deref().into(),
            message
                .finish_reason
                .as_ref()
                .map(FinishReason::as_str)
                .into(),
            message.usage.map(|usage| usage.input_tokens).into(),
            message.usage.map(|usage| usage.output_tokens).into(),
            message.output.as_ref().map(|_| message.repaired).into(),
            message.model.as_deref().into(),
            row.tenant.as_str().into(),
            message.conversation_id.into(),
            message.seq.into(),
        ],
    );
}

/// Copies messages into a new conversation, which uses their files, too.
pub(super) fn copy<'r>(changes: &mut Changes<'r>, row: &'r MessageCopy) {
    for statement in [COPY, COPY_FILE_USES] {
        changes.add(
            statement,
            [
                row.into.into(),
                row.tenant.as_str().into(),
                row.from.into(),
                row.to_seq.into(),
            ],
        );
    }
}
