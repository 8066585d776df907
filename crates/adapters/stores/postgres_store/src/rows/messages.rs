//! Rows of `messages`.

use domain::{FinishReason, Message, TurnId};
use ports::write_store::{
    MessageCopy, MessageDeletion, MessageRow, MessageTurn, SupersededMessages,
};
use sqlx::types::Json;

use super::json_unless_empty;
use crate::{cte_batch::CteBatch, fragments::unnest};

relational::statements! {
    const INSERT: &str = concat!(
        "insert into messages (tenant_id, conversation_id, seq, id, turn_id, role, content, \
            created_at, engine, agent_version, finish_reason, input_tokens, output_tokens, author, \
            client_message_id, files, repaired, model) \
        select * from ",
        unnest!(
            1 text, 2 uuid, 3 bigint, 4 uuid, 5 uuid, 6 text, 7 text, 8 timestamptz, 9 text,
            10 bigint, 11 text, 12 bigint, 13 bigint, 14 jsonb, 15 text, 16 jsonb,
            17 boolean, 18 text
        ),
        " as n where true"
    );

    /// The turn of a message that asked a question has been dismissed. Messages of staff stay.
    const SUPERSEDE: &str = concat!(
        "update messages m set superseded_at = n.at, finish_reason = case m.finish_reason \
            when 'requires_action' then 'dismissed' else m.finish_reason end \
        from ",
        unnest!(1 text, 2 uuid, 3 bigint, 4 timestamptz),
        " as n (tenant, conversation, from_seq, at) \
        where m.tenant_id = n.tenant and m.conversation_id = n.conversation \
            and m.seq >= n.from_seq and num_nonnulls(m.superseded_at, m.author) = 0"
    );

    const DELETE: &str = concat!(
        "delete from messages m using ",
        unnest!(1 text, 2 uuid, 3 bigint),
        " as n (tenant, conversation, seq) \
        where m.tenant_id = n.tenant and m.conversation_id = n.conversation and m.seq = n.seq"
    );

    const SET_TURNS: &str = concat!(
        "update messages m set turn_id = n.turn \
        from ",
        unnest!(1 text, 2 uuid, 3 bigint, 4 uuid),
        " as n (tenant, conversation, seq, turn) \
        where m.tenant_id = n.tenant and m.conversation_id = n.conversation and m.seq = n.seq"
    );

    const REWRITE: &str = concat!(
        "update messages m set content = n.content, created_at = n.at, engine = n.engine, \
            finish_reason = n.finish_reason, input_tokens = n.input, output_tokens = n.output, \
            repaired = n.repaired, model = n.model \
        from ",
        unnest!(
            1 text, 2 uuid, 3 bigint, 4 text, 5 timestamptz, 6 text, 7 text, 8 bigint, 9 bigint,
            10 boolean, 11 text
        ),
        " as n (tenant, conversation, seq, content, at, engine, finish_reason, input, output, repaired, \
            model) \
        where m.tenant_id = n.tenant and m.conversation_id = n.conversation and m.seq = n.seq"
    );

    const COPY: &str = concat!(
        "insert into messages (tenant_id, conversation_id, seq, id, turn_id, role, content, \
            created_at, engine, agent_version, finish_reason, input_tokens, output_tokens, author, \
            client_message_id, files, repaired, model) \
        select m.tenant_id, n.copy, row_number() over (partition by n.copy order by m.seq), m.id, \
            m.turn_id, m.role, m.content, m.created_at, m.engine, m.agent_version, m.finish_reason, \
            m.input_tokens, m.output_tokens, m.author, \
            case m.role when 'user' then m.client_message_id end, m.files, m.repaired, m.model \
        from ",
        unnest!(1 text, 2 uuid, 3 bigint, 4 uuid),
        " as n (tenant, conversation, to_seq, copy) \
        join messages m on m.tenant_id = n.tenant and m.conversation_id = n.conversation \
            and m.seq <= n.to_seq \
        where num_nonnulls(m.superseded_at) = 0"
    );

    const COPY_FILE_USES: &str = concat!(
        "insert into file_uses (tenant_id, conversation_id, file_id) \
        select distinct m.tenant_id, n.copy, (f.value ->> 'id')::uuid from ",
        unnest!(1 text, 2 uuid, 3 bigint, 4 uuid),
        " as n (tenant, conversation, to_seq, copy) \
        join messages m on m.tenant_id = n.tenant and m.conversation_id = n.conversation \
            and m.seq <= n.to_seq \
        cross join lateral jsonb_array_elements(m.files) f \
        where num_nonnulls(m.superseded_at) = 0 and m.files is not null"
    );
}

/// Inserts new messages. The client's id of a message with a turn is stored there.
pub(super) fn insert(batch: &mut CteBatch, rows: &[MessageRow]) {
    batch.add(INSERT, rows, |insert, rows| {
        insert
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.message.conversation_id.uuid())
            .column(rows, |row| row.message.seq)
            .column(rows, |row| row.message.id.uuid())
            .column(rows, |row| row.message.turn_id.map(TurnId::uuid))
            .column(rows, |row| row.message.role.as_str())
            .column(rows, |row| row.message.content.as_str())
            .column(rows, |row| row.message.created_at.date_time())
            .column(rows, |row| row.message.engine.as_deref())
            .column(rows, |row| row.message.agent_version)
            .column(rows, |row| {
                row.message.finish_reason.as_ref().map(FinishReason::as_str)
            })
            .column(rows, |row| {
                row.message.usage.map(|usage| usage.input_tokens)
            })
            .column(rows, |row| {
                row.message.usage.map(|usage| usage.output_tokens)
            })
            .column(rows, |row| row.message.author.as_ref().map(Json))
            .column(rows, |row| row.message.own_client_message_id())
            .column(rows, |row| {
                json_unless_empty(row.message.files.is_empty(), &row.message.files)
            })
            .column(rows, |row| stored_repaired(&row.message))
            .column(rows, |row| row.message.model.as_deref())
    });
}

/// Marks messages as superseded.
pub(super) fn supersede(batch: &mut CteBatch, rows: &[SupersededMessages]) {
    batch.add(SUPERSEDE, rows, |supersede, rows| {
        supersede
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.conversation_id.uuid())
            .column(rows, |row| row.from_seq)
            .column(rows, |row| row.at.date_time())
    });
}

/// Deletes messages.
pub(super) fn delete(batch: &mut CteBatch, rows: &[MessageDeletion]) {
    batch.add(DELETE, rows, |delete, rows| {
        delete
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.conversation_id.uuid())
            .column(rows, |row| row.seq)
    });
}

/// Updates messages that another turn answers.
pub(super) fn set_turns(batch: &mut CteBatch, rows: &[MessageTurn]) {
    batch.add(SET_TURNS, rows, |update, rows| {
        update
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.conversation_id.uuid())
            .column(rows, |row| row.seq)
            .column(rows, |row| row.turn_id.uuid())
    });
}

/// Updates the messages of turns that waited, and of staff.
pub(super) fn rewrite(batch: &mut CteBatch, rows: &[MessageRow]) {
    batch.add(REWRITE, rows, |rewrite, rows| {
        rewrite
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.message.conversation_id.uuid())
            .column(rows, |row| row.message.seq)
            .column(rows, |row| row.message.content.as_str())
            .column(rows, |row| row.message.created_at.date_time())
            .column(rows, |row| row.message.engine.as_deref())
            .column(rows, |row| {
                row.message.finish_reason.as_ref().map(FinishReason::as_str)
            })
            .column(rows, |row| {
                row.message.usage.map(|usage| usage.input_tokens)
            })
            .column(rows, |row| {
                row.message.usage.map(|usage| usage.output_tokens)
            })
            .column(rows, |row| stored_repaired(&row.message))
            .column(rows, |row| row.message.model.as_deref())
    });
}

/// Returns whether the output was corrected; `None` if there is none. The output itself is the content.
fn stored_repaired(message: &Message) -> Option<bool> {
    message.output.as_ref().map(|_| message.repaired)
}

/// Copies messages into new conversations, which use their files, too.
pub(super) fn copy(batch: &mut CteBatch, rows: &[MessageCopy]) {
    for statement in [COPY, COPY_FILE_USES] {
        batch.add(statement, rows, |copy, rows| {
            copy.column(rows, |row| row.tenant.as_str())
                .column(rows, |row| row.from.uuid())
                .column(rows, |row| row.to_seq)
                .column(rows, |row| row.into.uuid())
        });
    }
}
