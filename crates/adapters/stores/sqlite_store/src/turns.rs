//! The statements on turns.

use relational::{page_budget, reply_columns, repositories::TurnSql, turn_columns, turn_status};

use crate::{
    SqliteStore,
    fragments::{join_reply, turn_bytes, visible},
};

/// Hides a turn `r` once its agent or conversation is deleted, unless the deletion itself cancelled
/// the turn. `ERASED_AT` is 0.
macro_rules! unless_deleted {
    () => {
        "and not exists ( \
            select 1 from conversations d \
            where d.tenant_id = r.tenant_id and d.id = r.conversation_id \
                and (d.deleted_at = 0 or case when r.status = 'cancelled' then r.finished_at else -1 end \
                    < coalesce(d.deleted_at, (select a.deleted_at from agents a \
                        where a.tenant_id = d.tenant_id and a.id = d.agent_id)))) "
    };
}

/// The open turns of an agent.
macro_rules! open {
    ($filter:literal) => {
        concat!(
            "select r.id, r.conversation_id, r.agent_id, c.user_id, \
                coalesce(r.started_at, r.created_at) as latest_time \
             from turns r indexed by turns_open left join conversations c \
                on c.tenant_id = r.tenant_id and c.id = r.conversation_id \
             where r.tenant_id = ?1 and r.agent_id = ?2 ",
            $filter,
            " and r.status in ('queued', 'in_progress') order by r.id"
        )
    };
}

/// A page of turns joined to the tenant's head and to their conversation, if it exists.
macro_rules! list {
    ($filter:expr, $after:literal, $order:literal) => {
        concat!(
            "select t.head_seq, c.id is not null as is_found, p.total, ",
            turn_columns!(),
            ", ",
            reply_columns!(),
            " from tenants t left join conversations c on c.tenant_id = t.id and c.id = ?2 and ",
            visible!(),
            " left join ",
            page_budget!(
                concat!(
                    "select r.rowid as turn, r.sort_seq, ",
                    turn_bytes!(),
                    " as bytes from turns r where r.tenant_id = ?1 and r.conversation_id = ?2 \
                     and r.sort_seq ",
                    $after,
                    " ?3 ",
                    $filter,
                    " order by r.sort_seq ",
                    $order,
                    " limit ?4"
                ),
                concat!("sort_seq ", $order)
            ),
            " p on c.id is not null left join turns r on r.rowid = p.turn ",
            join_reply!(),
            " where t.id = ?1 order by p.place"
        )
    };
}

impl TurnSql for SqliteStore {
    const FIND: &'static str = concat!(
        "select t.head_seq, c.user_id as owner, ",
        turn_columns!(),
        ", ",
        reply_columns!(),
        " from tenants t left join turns r on r.tenant_id = t.id and r.id = ?2 ",
        unless_deleted!(),
        join_reply!(),
        "left join conversations c on c.tenant_id = r.tenant_id and c.id = r.conversation_id \
         where t.id = ?1"
    );

    const OPEN_OF_AGENT: &'static str = open!("");
    const OPEN_OF_CONVERSATION: &'static str = open!("and r.conversation_id = ?3");
    const LIST_ASCENDING: &'static str = list!("", ">", "asc");
    const LIST_DESCENDING: &'static str = list!("", "<", "desc");

    const LIST_OPEN_ASCENDING: &'static str =
        list!("and r.status in ('queued', 'in_progress')", ">", "asc");

    const LIST_OPEN_DESCENDING: &'static str =
        list!("and r.status in ('queued', 'in_progress')", "<", "desc");

    const LIST_WAITING_ASCENDING: &'static str =
        list!("and r.action_expires_at is not null", ">", "asc");
    const LIST_WAITING_DESCENDING: &'static str =
        list!("and r.action_expires_at is not null", "<", "desc");

    const LIST_OF_STATUS_ASCENDING: &'static str =
        list!(concat!("and ", turn_status!("r"), " = ?5"), ">", "asc");
    const LIST_OF_STATUS_DESCENDING: &'static str =
        list!(concat!("and ", turn_status!("r"), " = ?5"), "<", "desc");

    /// The running turn, or else the first queued one, or else the newest.
    const FIND_CURRENT: &'static str = concat!(
        "select c.user_id as owner, ",
        turn_columns!(),
        ", ",
        reply_columns!(),
        " from conversations c join turns r on r.rowid = coalesce( \
            (select o.rowid from turns o where o.tenant_id = c.tenant_id \
                and o.agent_id = c.agent_id and o.conversation_id = c.id \
                and o.status in ('queued', 'in_progress') order by o.queued_seq limit 1), \
            (select n.rowid from turns n where n.tenant_id = c.tenant_id \
                and n.conversation_id = c.id order by n.sort_seq desc limit 1)) ",
        join_reply!(),
        " where c.tenant_id = ?1 and c.id = ?2 and ",
        visible!()
    );
}
