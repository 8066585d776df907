//! The statements of maintenance.

/// The conversations to remove next, the same ones in every statement of a transaction.
macro_rules! deleted_conversations {
    () => {
        "with doomed as materialized (select tenant_id, id from conversations \
         where deleted_at < ?2 order by deleted_at, rowid limit ?3) "
    };
}

/// The messages of these conversations, up to the limit.
macro_rules! deleted_messages {
    () => {
        concat!(
            deleted_conversations!(),
            ", chosen as materialized (select m.tenant_id, m.conversation_id, m.seq, m.turn_id \
             from doomed cross join messages m \
             on m.tenant_id = doomed.tenant_id and m.conversation_id = doomed.id limit ?3) "
        )
    };
}

/// Deleted agents whose conversations may not all be marked yet. New ones cannot be added to them.
macro_rules! unmarked_agents {
    ($columns:literal) => {
        concat!(
            "(select ",
            $columns,
            " from agents where deleted_at is not null and conversations_marked = 0 \
             order by deleted_at limit ?1) a "
        )
    };
}

relational::statements! {
    pub(super) const PING: &str = "select 1";

    pub(super) const NOW: &str = concat!("select ", now!());

    pub(super) const MARK_CONVERSATIONS: &str = concat!(
        "update conversations set deleted_at = ( \
            select a.deleted_at from agents a \
            where a.tenant_id = conversations.tenant_id and a.id = conversations.agent_id) \
        where rowid in ( \
            select c.rowid from ",
        unmarked_agents!("tenant_id, id"),
        "cross join conversations c \
            on c.tenant_id = a.tenant_id and c.agent_id = a.id and c.deleted_at is null limit ?1)"
    );

    pub(super) const MARK_AGENTS: &str = concat!(
        "update agents set conversations_marked = 1 where rowid in ( \
            select a.rowid from ",
        unmarked_agents!("rowid, tenant_id, id"),
        "where not exists ( \
            select 1 from conversations c \
            where c.tenant_id = a.tenant_id and c.agent_id = a.id and c.deleted_at is null))"
    );

    /// Turns with a reply are found by their messages.
    pub(super) const DELETE_TURNS_OF_MESSAGES: &str = concat!(
        deleted_messages!(),
        "delete from turns where (tenant_id, id) in ( \
            select tenant_id, turn_id from chosen where turn_id is not null limit ?1)"
    );

    pub(super) const DELETE_MESSAGES: &str = concat!(
        deleted_messages!(),
        "delete from messages where (tenant_id, conversation_id, seq) in ( \
            select tenant_id, conversation_id, seq from chosen limit ?1)"
    );

    pub(super) const DELETE_UNANSWERED_TURNS: &str = concat!(
        deleted_conversations!(),
        "delete from turns where (tenant_id, id) in ( \
            select r.tenant_id, r.id from doomed cross join turns r \
            on r.tenant_id = doomed.tenant_id and r.conversation_id = doomed.id and r.status <> 'completed' \
            limit ?1)"
    );

    pub(super) const DELETE_NOTES: &str = concat!(
        deleted_conversations!(),
        "delete from conversation_notes where (tenant_id, conversation_id, sort_seq) in ( \
            select n.tenant_id, n.conversation_id, n.sort_seq from doomed cross join conversation_notes n \
            on n.tenant_id = doomed.tenant_id and n.conversation_id = doomed.id limit ?1)"
    );

    pub(super) const DELETE_CONVERSATIONS: &str = concat!(
        deleted_conversations!(),
        "delete from conversations where (tenant_id, id) in ( \
            select tenant_id, id from doomed limit ?1)"

    );

    pub(super) const DELETE_AGENT_VERSIONS: &str = "\
        delete from agent_versions where rowid in ( \
            select v.rowid from ( \
                select tenant_id, id from agents where deleted_at < ?2 limit ?3) a \
            cross join agent_versions v on v.tenant_id = a.tenant_id and v.agent_id = a.id limit ?1)";

    pub(super) const DELETE_AGENTS: &str = "\
        delete from agents where rowid in ( \
            select rowid from agents where deleted_at < ?2 limit ?1)";

    pub(super) const DELETE_CLAIMS: &str = "\
        delete from idempotency_records where (tenant_id, principal, operation, key) in ( \
            select tenant_id, principal, operation, key from idempotency_records \
            where created_at < ?2 limit ?1)";

    pub(super) const DELETE_REVOKED_TOKENS: &str = "\
        delete from revoked_tokens where id in ( \
            select id from revoked_tokens where ends_at < ?2 limit ?1)";

    pub(super) const DELETE_USED_ASSERTIONS: &str = "\
        delete from used_assertions where digest in ( \
            select digest from used_assertions where ends_at < ?2 limit ?1)";

    pub(super) const DELETE_TICKETS: &str = "\
        delete from tickets where digest in ( \
            select digest from tickets where ends_at < ?2 limit ?1)";

    pub(super) const DELETE_SIGNING_KEYS: &str = "\
        delete from signing_keys where kid in ( \
            select kid from signing_keys where valid_until < ?2 limit ?1)";

    pub(super) const DELETE_GENERATIONS: &str = "\
        delete from user_token_generations where (tenant_id, user_id) in ( \
            select tenant_id, user_id from user_token_generations where ends_at < ?2 limit ?1)";

    pub(super) const DELETE_FILES: &str = "\
        delete from files where (tenant_id, id) in ( \
            select tenant_id, id from files where expires_at < ?2 limit ?1)";

    pub(super) const DELETE_UPLOADS: &str = "\
        delete from uploads where (tenant_id, principal, ends_at) in ( \
            select tenant_id, principal, ends_at from uploads where ends_at < ?2 limit ?1)";
}

/// The statements that mark rows after the deletion of an agent, in this order.
pub(super) const MARKS: [&str; 2] = [MARK_CONVERSATIONS, MARK_AGENTS];

/// The statements that remove deleted entities, in this order. Each runs only when the one before
/// has nothing left to remove: a conversation is removed after its messages and turns, an agent
/// after all of its conversations (which are marked with its time, or were deleted before it) and
/// its versions.
pub(super) const REMOVALS: [&str; 7] = [
    DELETE_TURNS_OF_MESSAGES,
    DELETE_MESSAGES,
    DELETE_UNANSWERED_TURNS,
    DELETE_NOTES,
    DELETE_CONVERSATIONS,
    DELETE_AGENT_VERSIONS,
    DELETE_AGENTS,
];

/// The statements that remove rows whose end has passed.
pub(super) const ENDED: [&str; 7] = [
    DELETE_REVOKED_TOKENS,
    DELETE_USED_ASSERTIONS,
    DELETE_TICKETS,
    DELETE_SIGNING_KEYS,
    DELETE_GENERATIONS,
    DELETE_FILES,
    DELETE_UPLOADS,
];
