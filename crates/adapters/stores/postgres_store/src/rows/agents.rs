//! Rows of `agents`, `agent_capabilities` and `agent_versions`.

use domain::{Agent, PrincipalId, TenantId, text::search_key};
use ports::write_store::{AgentDeletion, AgentRow, AgentUpdate};
use relational::stored::VersionContent;
use sqlx::types::Json;

use crate::{
    cte_batch::{CteBatch, Parameters},
    fragments::{unnest, version_content},
};

relational::statements! {
    const INSERT: &str = concat!(
        "insert into agents (tenant_id, id, name, name_key, personality, capabilities, config, \
            version, updated_at, created_at, sort_seq) \
        select * from ",
        unnest!(
            1 text, 2 uuid, 3 text, 4 text, 5 text, 6 jsonb, 7 jsonb, 8 bigint, 9 timestamptz,
            10 timestamptz, 11 bigint
        ),
        " as n where true"
    );

    const INSERT_CAPABILITIES: &str = concat!(
        "insert into agent_capabilities (tenant_id, capability, agent_id, sort_seq) \
        select n.tenant, c.capability, n.agent, n.sort_seq \
        from ",
        unnest!(1 text, 2 uuid, 3 jsonb, 4 bigint),
        " as n (tenant, agent, capabilities, sort_seq) \
        cross join lateral jsonb_array_elements_text(n.capabilities) as c (capability) \
        where true"
    );

    const INSERT_VERSIONS: &str = concat!(
        "insert into agent_versions (tenant_id, agent_id, version, created_at, actor, agent) \
        select * from ",
        unnest!(1 text, 2 uuid, 3 bigint, 4 timestamptz, 5 text, 6 jsonb),
        " as n where true"
    );

    const UPDATE: &str = concat!(
        "update agents set name = n.name, name_key = n.name_key, personality = n.personality, \
            capabilities = n.capabilities, config = n.config, version = n.version, \
            updated_at = n.updated \
        from ",
        unnest!(
            1 text, 2 uuid, 3 text, 4 text, 5 text, 6 jsonb, 7 jsonb, 8 bigint, 9 timestamptz
        ),
        " as n (tenant, id, name, name_key, personality, capabilities, config, version, updated) \
        where agents.tenant_id = n.tenant and agents.id = n.id"
    );

    const DELETE_LOST_CAPABILITIES: &str = concat!(
        "delete from agent_capabilities c \
        using ",
        unnest!(1 text, 2 uuid, 3 jsonb),
        " as n (tenant, agent, capabilities) \
        where c.tenant_id = n.tenant and c.agent_id = n.agent \
            and not n.capabilities ? c.capability"
    );

    /// The capabilities that an agent had before are neither deleted nor inserted.
    const INSERT_NEW_CAPABILITIES: &str = concat!(
        "insert into agent_capabilities (tenant_id, capability, agent_id, sort_seq) \
        select a.tenant_id, c.capability, a.id, a.sort_seq \
        from ",
        unnest!(1 text, 2 uuid, 3 jsonb),
        " as n (tenant, agent, capabilities) \
        cross join lateral jsonb_array_elements_text(n.capabilities) as c (capability) \
        join agents a on a.tenant_id = n.tenant and a.id = n.agent \
        where c.capability <> all (array(select p.capability from agent_capabilities p \
            where p.tenant_id = n.tenant and p.agent_id = n.agent))"
    );

    /// Keeps the next versions, and those that they replace unless these are kept.
    const KEEP_VERSIONS: &str = concat!(
        "insert into agent_versions (tenant_id, agent_id, version, created_at, actor, agent) \
        select n.tenant, n.agent, v.* \
        from ",
        unnest!(1 text, 2 uuid, 3 bigint, 4 timestamptz, 5 text, 6 jsonb),
        " as n (tenant, agent, version, at, actor, content) \
        cross join lateral (select n.version, n.at, n.actor, n.content \
            union all \
            select a.version, a.updated_at, null, ",
        version_content!(),
        " from agents a where a.tenant_id = n.tenant and a.id = n.agent \
                and (select k.version from agent_versions k where k.tenant_id = a.tenant_id \
                    and k.agent_id = a.id and k.version = a.version) is null) v \
        where true"
    );

    const DELETE: &str = concat!(
        "update agents set deleted_at = n.at from ",
        unnest!(1 text, 2 uuid, 3 timestamptz),
        " as n (tenant, id, at) where agents.tenant_id = n.tenant and agents.id = n.id"
    );

    const DELETE_ALL_CAPABILITIES: &str = concat!(
        "delete from agent_capabilities c using ",
        unnest!(1 text, 2 uuid),
        " as n (tenant, agent) where c.tenant_id = n.tenant and c.agent_id = n.agent"
    );
}

/// An agent and its tenant.
type OwnedAgent<'r> = (&'r TenantId, &'r Agent);

/// Inserts new agents, their capabilities and their first versions.
pub(super) fn insert(batch: &mut CteBatch, rows: &[AgentRow]) {
    let agents: Vec<OwnedAgent<'_>> = rows.iter().map(|row| (&row.tenant, &row.agent)).collect();
    batch.add(INSERT, rows, |insert, rows| {
        bind_agents(insert, &agents)
            .column(rows, |row| row.agent.created_at.date_time())
            .column(rows, |row| row.sort_seq.0)
    });
    let capable = rows.iter().filter(|row| !row.agent.capabilities.is_empty());
    let capable: Vec<_> = capable.collect();
    let agents = capable.iter().map(|row| (&row.tenant, &row.agent));
    let agents: Vec<OwnedAgent<'_>> = agents.collect();
    batch.add(INSERT_CAPABILITIES, &capable, |insert, rows| {
        bind_capabilities(insert, &agents).column(rows, |row| row.sort_seq.0)
    });
    let versions: Vec<_> = rows
        .iter()
        .map(|row| (&row.tenant, &row.agent, &row.actor))
        .collect();
    batch.add(INSERT_VERSIONS, &versions, bind_versions);
}

/// Updates agents and their capabilities, and keeps their versions.
pub(super) fn update(batch: &mut CteBatch, rows: &[AgentUpdate]) {
    let agents: Vec<OwnedAgent<'_>> = rows.iter().map(|row| (&row.tenant, &row.agent)).collect();
    batch.add(UPDATE, &agents, bind_agents);
    batch.add(DELETE_LOST_CAPABILITIES, &agents, bind_capabilities);
    batch.add(INSERT_NEW_CAPABILITIES, &agents, bind_capabilities);
    let versions: Vec<_> = rows
        .iter()
        .map(|row| (&row.tenant, &row.agent, &row.actor))
        .collect();
    batch.add(KEEP_VERSIONS, &versions, bind_versions);
}

/// Marks agents as deleted, and removes their capabilities.
pub(super) fn delete(batch: &mut CteBatch, rows: &[AgentDeletion]) {
    let bind = |parameters: Parameters, rows: &[AgentDeletion]| {
        parameters
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.id.uuid())
    };
    batch.add(DELETE, rows, |delete, rows| {
        bind(delete, rows).column(rows, |row| row.deleted_at.date_time())
    });
    batch.add(DELETE_ALL_CAPABILITIES, rows, bind);
}

fn bind_agents(parameters: Parameters, agents: &[OwnedAgent<'_>]) -> Parameters {
    parameters
        .column(agents, |(tenant, _)| tenant.as_str())
        .column(agents, |(_, agent)| agent.id.uuid())
        .column(agents, |(_, agent)| agent.name.as_str())
        .column(agents, |(_, agent)| search_key(&agent.name))
        .column(agents, |(_, agent)| agent.personality.as_str())
        .column(agents, |(_, agent)| Json(&agent.capabilities))
        .column(agents, |(_, agent)| Json(&agent.config))
        .column(agents, |(_, agent)| agent.version)
        .column(agents, |(_, agent)| agent.updated_at.date_time())
}

fn bind_capabilities(parameters: Parameters, agents: &[OwnedAgent<'_>]) -> Parameters {
    parameters
        .column(agents, |(tenant, _)| tenant.as_str())
        .column(agents, |(_, agent)| agent.id.uuid())
        .column(agents, |(_, agent)| Json(&agent.capabilities))
}

fn bind_versions(
    parameters: Parameters,
    versions: &[(&TenantId, &Agent, &PrincipalId)],
) -> Parameters {
    parameters
        .column(versions, |(tenant, ..)| tenant.as_str())
        .column(versions, |(_, agent, _)| agent.id.uuid())
        .column(versions, |(_, agent, _)| agent.version)
        .column(versions, |(_, agent, _)| agent.updated_at.date_time())
        .column(versions, |(.., actor)| actor.as_str())
        .column(versions, |(_, agent, _)| Json(VersionContent::of(agent)))
}
