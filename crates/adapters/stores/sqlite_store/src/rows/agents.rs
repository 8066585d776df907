//! Rows of `agents` and `agent_capabilities`.

use domain::{Agent, AgentId, TenantId, text::search_key};
use ports::{
    RepositoryError,
    write_store::{AgentDeletion, AgentRow, AgentUpdate},
};

use super::change::{Changes, Parameter};

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

    const DELETE_CAPABILITIES: &str = "\
        delete from agent_capabilities indexed by agent_capabilities_by_agent \
        where tenant_id = ? and agent_id = ?";

    const DELETE: &str = "update agents set deleted_at = ? where tenant_id = ? and id = ?";
}

/// Inserts a new agent and its capabilities.
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
    Ok(())
}

/// Updates an agent and its capabilities.
pub(super) fn update<'r>(
    changes: &mut Changes<'r>,
    row: &'r AgentUpdate,
) -> Result<(), RepositoryError> {
    let agent = &row.agent;
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
    Ok(())
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

fn key(tenant: &TenantId, agent: AgentId) -> [Parameter<'_>; 2] {
    [tenant.as_str().into(), agent.into()]
}
