//! The statements on agents.

use relational::{agent_columns, page_budget, repositories::AgentSql};

use crate::{SqliteStore, fragments::version_content};

/// A page of agents joined to the tenant's head, so that both come from the same snapshot. The
/// content of agents that do not fit into the page is not read.
macro_rules! list {
    ($from:literal, $page_order:literal, $order:literal) => {
        concat!(
            "select t.head_seq, a.sort_seq, p.total, ",
            agent_columns!(),
            " from tenants t left join ",
            page_budget!(
                concat!(
                    "select a.rowid as agent, a.name_key, a.sort_seq, a.id, octet_length(a.personality) \
                     + octet_length(a.capabilities) + octet_length(a.config) as bytes from ",
                    $from,
                    " and a.deleted_at is null order by ",
                    $page_order,
                    " limit ?2"
                ),
                $order
            ),
            " p on true left join agents a on a.rowid = p.agent where t.id = ?1 order by p.place"
        )
    };
}

impl AgentSql for SqliteStore {
    const FIND: &'static str = concat!(
        "select t.head_seq, ",
        agent_columns!(),
        " from tenants t left join agents a \
         on a.tenant_id = t.id and a.id = ?2 and a.deleted_at is null \
         where t.id = ?1"
    );

    const FIND_VERSION: &'static str = concat!(
        "select a.id, ?3 as version, coalesce(v.agent, ",
        version_content!(),
        ") as agent, a.created_at, coalesce(v.created_at, a.updated_at) as updated_at \
         from agents a left join agent_versions v \
            on v.tenant_id = a.tenant_id and v.agent_id = a.id and v.version = ?3 \
         where a.tenant_id = ?1 and a.id = ?2 and a.deleted_at is null \
            and (a.version = ?3 or v.version is not null)"
    );

    const LIST_ALL: &'static str = list!(
        "agents a where a.tenant_id = ?1 and (a.sort_seq, a.id) < (?3, ?4)",
        "a.sort_seq desc, a.id desc",
        "sort_seq desc, id desc"
    );

    const LIST_BY_NAME: &'static str = list!(
        "agents a where a.tenant_id = ?1 and (a.name_key, a.id) > (?3, ?4) and a.name_key < ?5 \
         and (?6 is null or a.id in (select unhex(value) from json_each(?6)))",
        "a.name_key, a.id",
        "name_key, id"
    );

    const LIST_BY_CAPABILITY: &'static str = list!(
        "agent_capabilities c cross join agents a on a.tenant_id = c.tenant_id and a.id = c.agent_id \
         where c.tenant_id = ?1 and c.capability = ?5 and (c.sort_seq, c.agent_id) < (?3, ?4) \
         and (?6 is null or a.id in (select unhex(value) from json_each(?6)))",
        "c.sort_seq desc, c.agent_id desc",
        "sort_seq desc, id desc"
    );

    /// The look-up by key costs the same however many agents the tenant has.
    const LIST_BY_IDS: &'static str = list!(
        "json_each(?5) i cross join agents a on a.tenant_id = ?1 and a.id = unhex(i.value) \
         where (a.sort_seq, a.id) < (?3, ?4)",
        "a.sort_seq desc, a.id desc",
        "sort_seq desc, id desc"
    );
}
