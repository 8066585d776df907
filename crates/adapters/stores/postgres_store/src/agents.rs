//! The statements on agents.

use relational::{agent_columns, page_budget, repositories::AgentSql};

use crate::{PostgresStore, fragments::version_content};

/// A page of agents joined to the tenant's head, so that both come from the same snapshot.
macro_rules! list {
    ($from:literal, $page_order:literal, $order:literal) => {
        concat!(
            "select t.head_seq, a.sort_seq, a.total, ",
            agent_columns!(),
            " from tenants t left join ",
            page_budget!(
                concat!(
                    "select a.name_key, a.sort_seq, a.bytes, ",
                    agent_columns!(),
                    " from ",
                    $from,
                    " and a.deleted_at is null order by ",
                    $page_order,
                    " limit $2"
                ),
                $order
            ),
            " a on true where t.id = $1 order by a.place"
        )
    };
}

impl AgentSql for PostgresStore {
    const FIND: &'static str = concat!(
        "select t.head_seq, ",
        agent_columns!(),
        " from tenants t left join agents a \
         on a.tenant_id = t.id and a.id = $2 and num_nonnulls(a.deleted_at) = 0 \
         where t.id = $1"
    );

    /// `offset 0` makes the planner look up the version by its whole key, as in `join_reply`.
    const FIND_VERSION: &'static str = concat!(
        "select a.id, $3::bigint as version, coalesce(v.agent, ",
        version_content!(),
        ") as agent, a.created_at, coalesce(v.created_at, a.updated_at) as updated_at \
         from agents a left join lateral (select * from agent_versions v \
            where v.tenant_id = a.tenant_id and v.agent_id = a.id and v.version = $3 offset 0) v \
            on true \
         where a.tenant_id = $1 and a.id = $2 and num_nonnulls(a.deleted_at) = 0 \
            and (a.version = $3 or num_nonnulls(v.version) = 1)"
    );

    const LIST_ALL: &'static str = list!(
        "agents a where a.tenant_id = $1 and (a.sort_seq, a.id) < ($3, $4)",
        "a.sort_seq desc, a.id desc",
        "sort_seq desc, id desc"
    );

    const LIST_BY_NAME: &'static str = list!(
        "agents a where a.tenant_id = $1 and (a.name_key, a.id) > ($3, $4) and a.name_key < $5 \
         and ($6::uuid[] is null or a.id = any($6))",
        "a.name_key, a.id",
        "name_key, id"
    );

    /// `offset 0` makes the planner look up the agent by its whole key, as in `join_reply`.
    const LIST_BY_CAPABILITY: &'static str = list!(
        "agent_capabilities c cross join lateral (select * from agents a \
         where a.tenant_id = c.tenant_id and a.id = c.agent_id offset 0) a \
         where c.tenant_id = $1 and c.capability = $5 and (c.sort_seq, c.agent_id) < ($3, $4) \
         and ($6::uuid[] is null or a.id = any($6))",
        "c.sort_seq desc, c.agent_id desc",
        "sort_seq desc, id desc"
    );

    /// The look-up by key costs the same however many agents the tenant has.
    const LIST_BY_IDS: &'static str = list!(
        "unnest($5::uuid[]) i(id) cross join lateral (select * from agents a \
         where a.tenant_id = $1 and a.id = i.id offset 0) a \
         where (a.sort_seq, a.id) < ($3, $4)",
        "a.sort_seq desc, a.id desc",
        "sort_seq desc, id desc"
    );
}
