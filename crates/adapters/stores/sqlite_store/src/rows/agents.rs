//! Rows of `agents`, `agent_capabilities` and `agent_versions`.

use domain::{Agent, AgentId, PrincipalId, TenantId, text::search_key};
use ports::{
    RepositoryError,
    write_store::{AgentDeletion, AgentRow, AgentUpdate},
};
use relational::stored::VersionContent;

use super::change::{Changes, Parameter};
use crate::fragments::version_content;

relational::statements! {
    const INSERT: &str = "\
        insert into agents (tenant_id, id, name, name_key, personality, capabilities, config, \
            version, created_at, updated_at, sort_seq) \
        values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

    const INSERT_CAPABILITIES: &str = "\
        insert into agent_capabilities (tenant_id, capability, agent_id, sort_seq) \
        select a.tenant_id, c.value, a.id, a.sort_seq \
        from agents a cross join json_each(a.capabilities) c where a.tenant_id = ? and a.id = ?";

    const UPDATE: &str = "\
        update agents set name = ?, name_key = ?, personality = ?, capabilities = ?, config = ?, \
            version = ?, updated_at = ? \
        where tenant_id = ? and id = ?";

    const INSERT_VERSION: &str = "\
        insert into agent_versions (tenant_id, agent_id, version, created_at, actor, agent) \
        values (?, ?, ?, ?, ?, ?)";

    /// Keeps the current version, unless it is kept.
    const KEEP_REPLACED: &str = concat!(
        "insert into agent_versions (tenant_id, agent_id, version, created_at, agent) \
        select a.tenant_id, a.id, a.version, a.updated_at, ",
        version_content!(),
        " from agents a where a.tenant_id = ? and a.id = ? \
            and not exists (select 1 from agent_versions k \
                where k.tenant_id = a.tenant_id and k.agent_id = a.id and k.version = a.version)"
    );

    const DELETE_CAPABILITIES: &str = "\
        delete from agent_capabilities indexed by agent_capabilities_by_agent \
        where tenant_id = ? and agent_id = ?";

    const DELETE: &str = "update agents set deleted_at = ? where tenant_id = ? and id = ?";
}

/// Inserts a new agent, its capabilities and its first version.
pub(super) fn insert<'r>(
    changes: &mut Changes<'r>,
    row: &'r AgentRow,
) -> Result<(), RepositoryError> {
    let agent = &row.agent;
    changes.add(
        INSERT,
        [
            row.tenant.as_str().into(),
            agent.id.into(),
            agent.name.as_str().into(),
            search_key(&agent.name).into(),
            agent.personality.as_str().into(),
            Parameter::json(&agent.capabilities)?,
            Parameter::json(&agent.config)?,
            agent.version.into(),
            agent.created_at.into(),
            agent.updated_at.into(),
            row.sort_seq.0.into(),
        ],
    );
    insert_capabilities(changes, &row.tenant, agent);
    insert_version(changes, &row.tenant, agent, &row.actor)
}

/// Updates an agent and its capabilities, and keeps its version.
pub(super) fn update<'r>(
    changes: &mut Changes<'r>,
    row: &'r AgentUpdate,
) -> Result<(), RepositoryError> {
    let agent = &row.agent;
    changes.add(KEEP_REPLACED, key(&row.tenant, agent.id));
    changes.add(
        UPDATE,
        [
            agent.name.as_str().into(),
            search_key(&agent.name).into(),
            agent.personality.as_str().into(),
            Parameter::json(&agent.capabilities)?,
            Parameter::json(&agent.config)?,
            agent.version.into(),
            agent.updated_at.into(),
            row.tenant.as_str().into(),
            agent.id.into(),
        ],
    );
    changes.add(DELETE_CAPABILITIES, key(&row.tenant, agent.id));
    insert_capabilities(changes, &row.tenant, agent);
    insert_version(changes, &row.tenant, agent, &row.actor)
}

/// Marks an agent as deleted, and removes its capabilities.
pub(super) fn delete<'r>(changes: &mut Changes<'r>, row: &'r AgentDeletion) {
    let tenant = row.tenant.as_str();
    changes.add(
        DELETE,
        [row.deleted_at.into(), tenant.into(), row.id.into()],
    );
    changes.add(DELETE_CAPABILITIES, key(&row.tenant, row.id));
}

fn insert_capabilities<'r>(changes: &mut Changes<'r>, tenant: &'r TenantId, agent: &Agent) {
    if !agent.capabilities.is_empty() {
        changes.add(INSERT_CAPABILITIES, key(tenant, agent.id));
    }
}

fn insert_version<'r>(
    changes: &mut Changes<'r>,
    tenant: &'r TenantId,
    agent: &Agent,
    actor: &'r PrincipalId,
) -> Result<(), RepositoryError> {
    changes.add(
        INSERT_VERSION,
        [
            tenant.as_str().into(),
            agent.id.into(),
            agent.version.into(),
            agent.updated_at.into(),
            actor.as_str().into(),
            Parameter::json(&VersionContent::of(agent))?,
        ],
    );
    Ok(())
}

fn key(tenant: &TenantId, agent: AgentId) -> [Parameter<'_>; 2] {
    [tenant.as_str().into(), agent.into()]
}
