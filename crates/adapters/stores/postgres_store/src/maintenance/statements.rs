//! The statements of maintenance.

// Several processes may purge at once: each skips the rows that another has locked.

/// Deleted agents whose conversations may not all be marked yet. New ones cannot be added to them.
macro_rules! unmarked_agents {
    () => {
        "with unmarked as materialized ( \
            select tenant_id, id, deleted_at from agents \
            where deleted_at is not null and not conversations_marked \
            order by deleted_at limit $1 for update skip locked) "
    };
}

/// The first messages of these conversations, the same ones in every statement of a transaction.
macro_rules! chosen_messages {
    ($limit:literal) => {
        concat!(
            "with chosen as materialized ( \
             select m.tenant_id, m.conversation_id, m.seq, m.turn_id \
             from unnest($2::text[], $3::uuid[]) with ordinality as d (tenant_id, id, place) \
             cross join lateral (select * from messages m \
                where m.tenant_id = d.tenant_id and m.conversation_id = d.id \
                order by m.seq limit ",
            $limit,
            ") m order by d.place, m.seq limit ",
            $limit,
            ") "
        )
    };
}

relational::statements! {
    pub(super) const PING: &str = "select current_setting('transaction_read_only')::boolean";

    pub(super) const NOW: &str = "select clock_timestamp()";

    pub(super) const MARK_CONVERSATIONS: &str = concat!(
        unmarked_agents!(),
        ", chosen as materialized ( \
            select c.tenant_id, c.id, a.deleted_at from unmarked a cross join lateral ( \
                select * from conversations c \
                where c.tenant_id = a.tenant_id and c.agent_id = a.id and c.deleted_at is null \
                limit $1 for update skip locked) c \
            limit $1) \
        update conversations c set deleted_at = chosen.deleted_at from chosen \
        where c.tenant_id = chosen.tenant_id and c.id = chosen.id"
    );

    pub(super) const MARK_AGENTS: &str = concat!(
        unmarked_agents!(),
        "update agents a set conversations_marked = true from unmarked u \
        where a.tenant_id = u.tenant_id and a.id = u.id and (select c.id from conversations c \
            where c.tenant_id = u.tenant_id and c.agent_id = u.id and c.deleted_at is null \
            limit 1) is null"
    );

    /// The conversations to remove next. Only a few, because all of their messages are sorted.
    pub(super) const DELETED_CONVERSATIONS: &str = "\
        select tenant_id, id from conversations where deleted_at < $2 \
        order by deleted_at limit least($1::bigint, 16) for update skip locked";

    /// Turns with a reply are found by their messages, so they are removed first.
    pub(super) const DELETE_TURNS_OF_MESSAGES: &str = concat!(
        chosen_messages!("$4"),
        ", doomed as materialized ( \
            select distinct r.tenant_id, r.id from chosen c \
            join turns r on r.tenant_id = c.tenant_id and r.id = c.turn_id \
            limit $1), \
         gone as ( \
            delete from turns r using doomed d where r.tenant_id = d.tenant_id and r.id = d.id \
            returning 1) \
         select count(*) from gone"
    );

    pub(super) const DELETE_MESSAGES: &str = concat!(
        chosen_messages!("least($1::bigint, $4::bigint)"),
        ", gone as ( \
            delete from messages m using chosen c \
            where m.tenant_id = c.tenant_id and m.conversation_id = c.conversation_id \
                and m.seq = c.seq \
            returning 1) \
         select count(*) from gone"
    );

    pub(super) const DELETE_UNANSWERED_TURNS: &str = "\
        with chosen as materialized ( \
            select r.tenant_id, r.id from unnest($2::text[], $3::uuid[]) as d (tenant_id, id) \
            join turns r on r.tenant_id = d.tenant_id and r.conversation_id = d.id \
                and r.status <> 'completed' \
            limit least($1::bigint, $4::bigint)), \
        gone as ( \
            delete from turns r using chosen c where r.tenant_id = c.tenant_id and r.id = c.id \
            returning 1) \
        select count(*) from gone";

    pub(super) const DELETE_NOTES: &str = "\
        with chosen as materialized ( \
            select n.tenant_id, n.conversation_id, n.sort_seq \
            from unnest($2::text[], $3::uuid[]) as d (tenant_id, id) \
            join conversation_notes n on n.tenant_id = d.tenant_id and n.conversation_id = d.id \
            limit least($1::bigint, $4::bigint)), \
        gone as ( \
            delete from conversation_notes n using chosen c \
            where n.tenant_id = c.tenant_id and n.conversation_id = c.conversation_id \
                and n.sort_seq = c.sort_seq \
            returning 1) \
        select count(*) from gone";

    pub(super) const DELETE_CONVERSATIONS: &str = "\
        with gone as ( \
            delete from conversations c \
            using (select * from unnest($2::text[], $3::uuid[]) as d (tenant_id, id) limit least($1::bigint, $4::bigint)) d \
            where c.tenant_id = d.tenant_id and c.id = d.id \
            returning 1) \
        select count(*) from gone";

    pub(super) const DELETE_AGENT_VERSIONS: &str = "\
        with chosen as materialized ( \
            select a.tenant_id, a.id from agents a \
            where a.deleted_at < $2 and a.conversations_marked \
            order by a.deleted_at limit $1 for update skip locked), \
        doomed as materialized ( \
            select v.tenant_id, v.agent_id, v.version from chosen c cross join lateral ( \
                select * from agent_versions v where v.tenant_id = c.tenant_id and v.agent_id = c.id \
                limit $1) v \
            limit $1) \
        delete from agent_versions v using doomed d \
        where v.tenant_id = d.tenant_id and v.agent_id = d.agent_id and v.version = d.version";

    /// An agent is removed after its versions: each runs only when the one before has nothing left to
    /// remove.
    pub(super) const DELETE_AGENTS: &str = "\
        with chosen as materialized ( \
            select a.tenant_id, a.id from agents a \
            where a.deleted_at < $2 and a.conversations_marked \
            order by a.deleted_at limit $1 for update skip locked) \
        delete from agents a using chosen c where a.tenant_id = c.tenant_id and a.id = c.id";

    pub(super) const DELETE_CLAIMS: &str = "\
        with chosen as materialized ( \
            select tenant_id, principal, operation, key from idempotency_records \
            where created_at < $2 order by created_at limit $1 for update skip locked) \
        delete from idempotency_records r using chosen c \
        where r.tenant_id = c.tenant_id and r.principal = c.principal \
            and r.operation = c.operation and r.key = c.key";

    pub(super) const DELETE_REVOKED_TOKENS: &str = "\
        with chosen as materialized ( \
            select id from revoked_tokens \
            where ends_at < $2 order by ends_at limit $1 for update skip locked) \
        delete from revoked_tokens r using chosen c where r.id = c.id";

    pub(super) const DELETE_USED_ASSERTIONS: &str = "\
        with chosen as materialized ( \
            select digest from used_assertions \
            where ends_at < $2 order by ends_at limit $1 for update skip locked) \
        delete from used_assertions u using chosen c where u.digest = c.digest";

    pub(super) const DELETE_TICKETS: &str = "\
        with chosen as materialized ( \
            select digest from tickets \
            where ends_at < $2 order by ends_at limit $1 for update skip locked) \
        delete from tickets t using chosen c where t.digest = c.digest";

    pub(super) const DELETE_SIGNING_KEYS: &str = "\
        with chosen as materialized ( \
            select kid from signing_keys \
            where valid_until < $2 order by valid_until limit $1 for update skip locked) \
        delete from signing_keys k using chosen c where k.kid = c.kid";

    pub(super) const DELETE_GENERATIONS: &str = "\
        with chosen as materialized ( \
            select tenant_id, user_id from user_token_generations \
            where ends_at < $2 order by ends_at limit $1 for update skip locked) \
        delete from user_token_generations g using chosen c \
        where g.tenant_id = c.tenant_id and g.user_id = c.user_id";

    pub(super) const DELETE_FILES: &str = "\
        with chosen as materialized ( \
            select tenant_id, id from files \
            where expires_at < $2 order by expires_at limit $1 for update skip locked) \
        delete from files f using chosen c where f.tenant_id = c.tenant_id and f.id = c.id";

    pub(super) const DELETE_UPLOADS: &str = "\
        with chosen as materialized ( \
            select tenant_id, principal, ends_at from uploads \
            where ends_at < $2 order by ends_at limit $1 for update skip locked) \
        delete from uploads u using chosen c where u.tenant_id = c.tenant_id \
            and u.principal = c.principal and u.ends_at = c.ends_at";
}

/// Makes the space of removed rows free, and removes their values from the statistics.
pub(super) const VACUUM: &str = "vacuum (analyze) conversations, messages, turns, turn_steps, \
    conversation_notes, feedback, files, file_uses, note_file_uses, uploads, users, events, idempotency_records, usage_entries, search_entries, \
    erasures, user_token_generations, agents, agent_versions, agent_capabilities";

/// The statements that remove a deleted conversation, in this order. Each runs only when the one
/// before has nothing left to remove.
pub(super) const REMOVALS: [&str; 5] = [
    DELETE_TURNS_OF_MESSAGES,
    DELETE_MESSAGES,
    DELETE_UNANSWERED_TURNS,
    DELETE_NOTES,
    DELETE_CONVERSATIONS,
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
