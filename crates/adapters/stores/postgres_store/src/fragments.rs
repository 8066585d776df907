//! Parts of SQL that the statements of several files contain.

/// The condition that neither conversation `c` nor its agent is deleted. The agent is read by a
/// subquery for each row, because the planner could turn a join around and read every conversation
/// of every agent.
macro_rules! visible {
    () => {
        "num_nonnulls(c.deleted_at) = 0 and (select num_nonnulls(a.deleted_at) = 0 from agents a \
         where a.tenant_id = c.tenant_id and a.id = c.agent_id)"
    };
}
pub(crate) use visible;

/// The open turns of conversation `c`, for `conversation_columns!`.
macro_rules! open_turns {
    () => {
        "(select json_agg(json_build_object('id', o.id, 'status', \
         case when o.action_expires_at is null then o.status else 'requires_action' end, \
         'at', (extract(epoch from o.created_at) * 1000)::bigint) order by o.queued_seq nulls first) \
         from turns o where o.tenant_id = c.tenant_id and o.agent_id = c.agent_id \
         and o.conversation_id = c.id and o.status in ('queued', 'in_progress'))"
    };
}
pub(crate) use open_turns;

/// The join of the reply `m` to a turn `r`. `offset 0` makes the planner look up the row by its
/// whole key: otherwise it might search by the tenant alone while tables are empty.
macro_rules! join_reply {
    () => {
        " left join lateral (select * from messages m where m.tenant_id = r.tenant_id \
         and m.conversation_id = r.conversation_id and m.seq = r.reply_seq offset 0) m on true "
    };
}
pub(crate) use join_reply;

/// Rows whose columns are array parameters; `unnest!(1 text, 2 uuid)` has two columns. `from unnest($1, $2)`
/// returns the same rows, but puts each column into a tuple store of 16 KiB first: for a batch of chats,
/// 1 MiB that the server process requested and returned with every batch. `CteBatch` replaces `unnest($1::text[])`
/// by `$1::text` for the only row of a batch with one write. Statements with few arrays, or beside the hot path,
/// do not need this.
macro_rules! unnest {
    ($first:literal $first_type:ident $(, $number:literal $type:ident)*) => {
        concat!(
            "(select unnest($", $first, "::", stringify!($first_type), "[])",
            $(", unnest($", $number, "::", stringify!($type), "[])",)*
            ")"
        )
    };
}
pub(crate) use unnest;

/// The size of turn `r` with its reply in a page.
macro_rules! turn_bytes {
    () => {
        "octet_length(r.input) + coalesce(octet_length(r.tool_calls::text), 0) \
         + coalesce(octet_length(r.reasoning::text), 0) \
         + coalesce(octet_length(r.metadata::text), 0) \
         + coalesce((select octet_length(m.content) from messages m \
            where m.tenant_id = r.tenant_id and m.conversation_id = r.conversation_id \
            and m.seq = r.reply_seq), 0)"
    };
}
pub(crate) use turn_bytes;

/// The content of the current version of agent `a`, as in `agent_versions`.
macro_rules! version_content {
    () => {
        "jsonb_build_object('name', a.name, 'personality', a.personality, \
         'capabilities', a.capabilities, 'config', a.config)"
    };
}
pub(crate) use version_content;

/// The condition that turn `r` is in progress under a node. `case` keeps the planner from reading all
/// running turns of the store: their index cannot prove it.
macro_rules! runs_on {
    ($node:literal) => {
        concat!(
            "case r.status when 'in_progress' then r.node_id = ",
            $node,
            " end"
        )
    };
}
pub(crate) use runs_on;

/// The join of file `f` to each conversation whose messages or notes use it.
macro_rules! file_uses {
    () => {
        "left join lateral ( \
            select m.tenant_id, m.conversation_id, false as is_by_notes from file_uses m \
            where m.tenant_id = f.tenant_id and m.file_id = f.id \
            union all select distinct n.tenant_id, n.conversation_id, true from note_file_uses n \
            where n.tenant_id = f.tenant_id and n.file_id = f.id) u on true"
    };
}
pub(crate) use file_uses;
