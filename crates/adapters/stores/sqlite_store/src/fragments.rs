//! Parts of SQL that the statements of several files contain.

/// The condition that neither conversation `c` nor its agent is deleted.
macro_rules! visible {
    () => {
        "c.deleted_at is null and exists (select 1 from agents a \
         where a.tenant_id = c.tenant_id and a.id = c.agent_id and a.deleted_at is null)"
    };
}
pub(crate) use visible;

/// The open turns of conversation `c`, for `conversation_columns!`.
macro_rules! open_turns {
    () => {
        "(select json_group_array(json_object('id', lower(hex(o.id)), 'status', \
         case when o.action_expires_at is null then o.status else 'requires_action' end, \
         'at', o.created_at) order by o.queued_seq) \
         from turns o where o.tenant_id = c.tenant_id and o.agent_id = c.agent_id \
         and o.conversation_id = c.id and o.status in ('queued', 'in_progress'))"
    };
}
pub(crate) use open_turns;

/// The join of the reply `m` to a turn `r`.
macro_rules! join_reply {
    () => {
        " left join messages m on m.tenant_id = r.tenant_id \
         and m.conversation_id = r.conversation_id and m.seq = r.reply_seq "
    };
}
pub(crate) use join_reply;

/// The size of turn `r` with its reply in a page.
macro_rules! turn_bytes {
    () => {
        "octet_length(r.input) + coalesce(octet_length(r.tool_calls), 0) \
         + coalesce(octet_length(r.reasoning), 0) \
         + coalesce(octet_length(r.metadata), 0) \
         + coalesce((select octet_length(m.content) from messages m \
            where m.tenant_id = r.tenant_id and m.conversation_id = r.conversation_id \
            and m.seq = r.reply_seq), 0)"
    };
}
pub(crate) use turn_bytes;

/// The content of the current version of agent `a`, as in `agent_versions`.
macro_rules! version_content {
    () => {
        "json_object('name', a.name, 'personality', a.personality, \
         'capabilities', json(a.capabilities), 'config', json(a.config))"
    };
}
pub(crate) use version_content;
