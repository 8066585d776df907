//! Rows of `agents` and `agent_capabilities`.

use domain::{Agent, TenantId, text::search_key};
use ports::RepositoryError;
use relational::{AgentRow, AgentUpdate};
use serde::Serialize;
use uuid::fmt::Simple;

use crate::script::{Script, to_json};

const INSERT: &str = concat!(
    given!(),
    "insert into agents (tenant_id, id, name, name_key, personality, capabilities, config, \
        version, created_at, updated_at, sort_seq) \
    select entry ->> 'tenant', unhex(entry ->> 'id'), entry ->> 'name', entry ->> 'nameKey', \
        entry ->> 'personality', entry ->> 'capabilities', entry ->> 'config', \
        entry ->> 'version', entry ->> 'created', entry ->> 'updated', entry ->> 'sortSeq' \
    from given"
);
const INSERT_CAPABILITIES: &str = concat!(
    given!(),
    "insert into agent_capabilities (tenant_id, capability, agent_id, sort_seq) \
    select a.tenant_id, c.value, a.id, a.sort_seq \
    from given cross join agents a \
        on a.tenant_id = entry ->> 'tenant' and a.id = unhex(entry ->> 'id') \
    cross join json_each(a.capabilities) c"
);

const UPDATE: &str = concat!(
    given!(),
    "update agents set name = n.name, name_key = n.name_key, personality = n.personality, \
        capabilities = n.capabilities, config = n.config, version = n.version, \
        updated_at = n.updated \
    from (select entry ->> 'tenant' as tenant, unhex(entry ->> 'id') as id, \
        entry ->> 'name' as name, entry ->> 'nameKey' as name_key, \
        entry ->> 'personality' as personality, entry ->> 'capabilities' as capabilities, \
        entry ->> 'config' as config, entry ->> 'version' as version, \
        entry ->> 'updated' as updated \
        from given) n \
    where agents.tenant_id = n.tenant and agents.id = n.id"
);
const DELETE_CAPABILITIES: &str = concat!(
    given!(),
    "delete from agent_capabilities where (tenant_id, capability, agent_id) in ( \
        select c.tenant_id, c.capability, c.agent_id from given \
        cross join agent_capabilities c indexed by agent_capabilities_by_agent \
            on c.tenant_id = entry ->> 'tenant' and c.agent_id = unhex(entry ->> 'id'))"
);

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[INSERT, INSERT_CAPABILITIES, UPDATE, DELETE_CAPABILITIES];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AgentColumns<'r> {
    tenant: &'r str,
    id: Simple,
    name: &'r str,
    name_key: String,
    personality: &'r str,
    capabilities: String,
    config: String,
    version: i64,
    created: i64,
    updated: i64,
    sort_seq: Option<i64>,
}

#[derive(Serialize)]
struct AgentKey<'r> {
    tenant: &'r str,
    id: Simple,
}

/// Inserts new agents and their capabilities.
pub(super) fn insert(script: &mut Script, rows: &[AgentRow]) -> Result<(), RepositoryError> {
    script.add(INSERT, rows, |row| {
        columns(&row.tenant, &row.agent, Some(row.sort_seq.0))
    })?;
    let capable = rows.iter().filter(|row| !row.agent.capabilities.is_empty());
    script.add(INSERT_CAPABILITIES, &capable.collect::<Vec<_>>(), |row| {
        Ok(key(&row.tenant, &row.agent))
    })
}

/// Updates agents and their capabilities.
pub(super) fn update(script: &mut Script, rows: &[AgentUpdate]) -> Result<(), RepositoryError> {
    script.add(UPDATE, rows, |row| columns(&row.tenant, &row.agent, None))?;
    script.add(DELETE_CAPABILITIES, rows, |row| {
        Ok(key(&row.tenant, &row.agent))
    })?;
    script.add(INSERT_CAPABILITIES, rows, |row| {
        Ok(key(&row.tenant, &row.agent))
    })
}

fn columns<'r>(
    tenant: &'r TenantId,
    agent: &'r Agent,
    sort_seq: Option<i64>,
) -> Result<AgentColumns<'r>, RepositoryError> {
    Ok(AgentColumns {
        tenant: tenant.as_str(),
        id: agent.id.uuid().simple(),
        name: &agent.name,
        name_key: search_key(&agent.name),
        personality: &agent.personality,
        capabilities: to_json(&agent.capabilities)?,
        config: to_json(&agent.config)?,
        version: agent.version,
        created: agent.created_at.milliseconds(),
        updated: agent.updated_at.milliseconds(),
        sort_seq,
    })
}

fn key<'r>(tenant: &'r TenantId, agent: &Agent) -> AgentKey<'r> {
    AgentKey {
        tenant: tenant.as_str(),
        id: agent.id.uuid().simple(),
    }
}
