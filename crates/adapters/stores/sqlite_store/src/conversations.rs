//! Conversations.

use relational::{conversation_columns, page_budget, repositories::ConversationSql};

use crate::{
    SqliteStore,
    fragments::{open_turns, visible},
};

macro_rules! among_agents {
    () => {
        " and (?5 is null or c.agent_id in (select unhex(value) from json_each(?5)))"
    };
}

/// A page of conversations joined to the tenant's head, so that both come from the same snapshot.
macro_rules! list {
    ($filter:expr) => {
        list!(
            $filter,
            "(c.sort_seq, c.id) < (?3, ?4)",
            "c.sort_seq desc, c.id desc",
            "sort_seq desc, id desc"
        )
    };
    ($filter:expr, $after:literal, $inner:literal, $order:literal) => {
        concat!(
            "select t.head_seq, p.total, ",
            conversation_columns!(open_turns!()),
            " from tenants t left join ",
            page_budget!(
                concat!(
                    "select c.rowid as conversation, c.sort_seq, c.waiting_since, c.id, \
                     octet_length(c.metadata) + coalesce(octet_length(c.context), 0) \
                     + coalesce(octet_length(c.title), 0) as bytes \
                     from conversations c where c.tenant_id = ?1 and ",
                    $after,
                    " and ",
                    visible!(),
                    $filter,
                    " order by ",
                    $inner,
                    " limit ?2"
                ),
                $order
            ),
            " p on true left join conversations c on c.rowid = p.conversation \
             where t.id = ?1 order by p.place"
        )
    };
}

/// The condition that a conversation has one of the agents 5, and the user 6 if that is given.
macro_rules! of_agents_and_user {
    () => {
        concat!(among_agents!(), " and (?6 is null or c.user_id = ?6)")
    };
}

/// The same for conversations that staff handles, the member 7 if that is given.
macro_rules! of_staff {
    () => {
        concat!(
            " and c.handled_by = 'staff' and (?7 is null or c.assignee = ?7)",
            of_agents_and_user!()
        )
    };
}

impl ConversationSql for SqliteStore {
    const FIND: &'static str = concat!(
        "select t.head_seq, ",
        conversation_columns!(open_turns!()),
        " from tenants t left join conversations c on c.tenant_id = t.id and c.id = ?2 and ",
        visible!(),
        " where t.id = ?1"
    );

    const FIND_ALL: &'static str = concat!(
        "select t.head_seq, ",
        conversation_columns!(open_turns!()),
        " from tenants t left join conversations c on c.tenant_id = t.id \
            and c.id in (select unhex(value) from json_each(?2)) and ",
        visible!(),
        " where t.id = ?1"
    );

    const TEXTS: &'static str = concat!(
        "select m.conversation_id, m.seq, m.id, m.content \
         from json_each(?2) i join json_each(?3) s on s.key = i.key \
         cross join conversations c on c.tenant_id = ?1 and c.id = unhex(i.value) \
         cross join messages m on m.tenant_id = ?1 and m.conversation_id = c.id and m.seq = s.value \
         where m.superseded_at is null and ",
        visible!()
    );

    const FIND_STATE: &'static str = concat!(
        "select t.head_seq, c.id, c.agent_id, c.user_id, c.message_count as last_message_seq, c.turn_count, \
         (select r.id from turns r where r.tenant_id = c.tenant_id and r.agent_id = c.agent_id \
            and r.conversation_id = c.id and r.status in ('queued', 'in_progress') \
            and r.status = 'in_progress') as running_turn, \
         (select r.message_id from turns r where r.tenant_id = c.tenant_id \
            and r.conversation_id = c.id and (r.message_seq is not null or r.status = 'queued') \
            order by r.sort_seq desc limit 1) as newest_message_id, \
         (select r.client_message_id from turns r where r.tenant_id = c.tenant_id \
            and r.conversation_id = c.id and (r.message_seq is not null or r.status = 'queued') \
            order by r.sort_seq desc limit 1) as newest_client_message_id \
         from tenants t left join conversations c on c.tenant_id = t.id and c.id = ?2 and ",
        visible!(),
        " where t.id = ?1"
    );

    const FIND_BY_NAME: &'static str = concat!(
        "select c.id from conversations c where c.tenant_id = ?1 and c.agent_id = ?2 \
         and coalesce(c.user_id, '') = ?3 and c.key = ?4 and c.deleted_at is null and ",
        visible!()
    );

    const LIST: &'static str = list!(among_agents!());
    const LIST_OF_AGENT: &'static str = list!(" and c.agent_id = ?5");
    const LIST_OF_USER: &'static str = list!(concat!(" and c.user_id = ?6", among_agents!()));
    const LIST_OF_STAFF: &'static str = list!(of_staff!());
    const LIST_WITHOUT_STAFF: &'static str = list!(concat!(
        " and c.handled_by is not 'staff' and ?6 is null and ?7 is null",
        among_agents!()
    ));
    const LIST_OF_USER_AND_HANDLER: &'static str = list!(concat!(
        " and c.user_id = ?6 and coalesce(c.handled_by, 'agent') = ?8 \
          and (?7 is null or c.assignee = ?7)",
        among_agents!()
    ));
    const LIST_WAITING: &'static str = list!(
        concat!(" and c.waiting_since is not null", of_staff!()),
        "(c.waiting_since, c.id) > (?3, ?4)",
        "c.waiting_since, c.id",
        "waiting_since, id"
    );
}
