//! Conversations.

use relational::{conversation_columns, page_budget, repositories::ConversationSql};

use crate::{
    PostgresStore,
    fragments::{open_turns, visible},
};

/// A page of conversations joined to the tenant's head, so that both come from the same snapshot.
macro_rules! list {
    ($filter:expr) => {
        list!(
            $filter,
            "(c.sort_seq, c.id) < ($3, $4)",
            "c.sort_seq desc, c.id desc",
            "sort_seq desc, id desc"
        )
    };
    ($filter:expr, $after:literal, $inner:literal, $order:literal) => {
        concat!(
            "select t.head_seq, c.total, ",
            conversation_columns!(open_turns!()),
            " from tenants t left join ",
            page_budget!(
                concat!(
                    "select c.*, octet_length(c.metadata::text) + coalesce(octet_length(c.context), 0) \
                     + coalesce(octet_length(c.title), 0) as bytes \
                     from conversations c where c.tenant_id = $1 and ",
                    $after,
                    " and c.deleted_at is null and ",
                    visible!(),
                    $filter,
                    " order by ",
                    $inner,
                    " limit $2"
                ),
                $order
            ),
            " c on true where t.id = $1 order by c.place"
        )
    };
}

/// The condition that a conversation has one of the agents 5, and the user 6 if that is given.
macro_rules! of_agents_and_user {
    () => {
        " and ($5::uuid[] is null or c.agent_id = any($5)) and ($6::text is null or c.user_id = $6)"
    };
}

/// The same for conversations that staff handles, the member 7 if that is given.
macro_rules! of_staff {
    () => {
        concat!(
            " and c.handled_by = 'staff' and ($7::text is null or c.assignee = $7)",
            of_agents_and_user!()
        )
    };
}

impl ConversationSql for PostgresStore {
    const FIND: &'static str = concat!(
        "select t.head_seq, ",
        conversation_columns!(open_turns!()),
        " from tenants t left join conversations c on c.tenant_id = t.id and c.id = $2 and ",
        visible!(),
        " where t.id = $1"
    );

    const FIND_ALL: &'static str = concat!(
        "select t.head_seq, ",
        conversation_columns!(open_turns!()),
        " from tenants t left join conversations c on c.tenant_id = t.id and c.id = any($2) and ",
        visible!(),
        " where t.id = $1"
    );

    const TEXTS: &'static str = concat!(
        "select m.conversation_id, m.seq, m.id, m.content from unnest($2::uuid[], $3::int8[]) p (id, seq) \
         cross join lateral (select * from conversations c \
            where c.tenant_id = $1 and c.id = p.id offset 0) c \
         cross join lateral (select * from messages m \
            where m.tenant_id = $1 and m.conversation_id = p.id and m.seq = p.seq offset 0) m \
         where m.superseded_at is null and ",
        visible!()
    );

    const FIND_STATE: &'static str = concat!(
        "select t.head_seq, c.id, c.agent_id, c.user_id, c.message_count as last_message_seq, c.turn_count, \
         (select (array_agg(r.id) filter (where r.status = 'in_progress'))[1] from turns r \
            where r.tenant_id = c.tenant_id and r.agent_id = c.agent_id \
            and r.conversation_id = c.id and r.status in ('queued', 'in_progress')) as running_turn, \
         newest.message_id as newest_message_id, newest.client_message_id as newest_client_message_id \
         from tenants t left join conversations c on c.tenant_id = t.id and c.id = $2 and ",
        visible!(),
        " left join lateral (select r.message_id, r.client_message_id from turns r \
            where r.tenant_id = c.tenant_id and r.conversation_id = c.id \
                and (r.message_seq is not null or r.status = 'queued') \
            order by r.sort_seq desc limit 1) newest on true \
         where t.id = $1"
    );

    const FIND_BY_NAME: &'static str = concat!(
        "select c.id from conversations c where c.tenant_id = $1 and c.agent_id = $2 \
         and coalesce(c.user_id, '') = $3 and c.key = $4 and c.deleted_at is null and ",
        visible!()
    );

    const LIST: &'static str = list!(" and ($5::uuid[] is null or c.agent_id = any($5))");
    const LIST_OF_AGENT: &'static str = list!(" and c.agent_id = $5");
    const LIST_OF_USER: &'static str =
        list!(" and c.user_id = $6 and ($5::uuid[] is null or c.agent_id = any($5))");
    const LIST_OF_STAFF: &'static str = list!(of_staff!());
    const LIST_WITHOUT_STAFF: &'static str = list!(concat!(
        " and c.handled_by is distinct from 'staff' and $6::text is null and $7::text is null",
        " and ($5::uuid[] is null or c.agent_id = any($5))"
    ));
    const LIST_OF_USER_AND_HANDLER: &'static str = list!(concat!(
        " and c.user_id = $6 and ($5::uuid[] is null or c.agent_id = any($5)) \
          and coalesce(c.handled_by, 'agent') = $8 and ($7::text is null or c.assignee = $7)"
    ));
    const LIST_WAITING: &'static str = list!(
        concat!(" and c.waiting_since is not null", of_staff!()),
        "(c.waiting_since, c.id) > ($3, $4)",
        "c.waiting_since, c.id",
        "waiting_since, id"
    );
}
