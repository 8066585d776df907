//! Rows of `agents` and `agent_capabilities`.

use domain::text::search_key;
use ports::RepositoryError;
use relational::AgentRow;
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

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[INSERT, INSERT_CAPABILITIES];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewAgent<'r> {
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
    sort_seq: i64,
}

#[derive(Serialize)]
struct AgentKey<'r> {
    tenant: &'r str,
    id: Simple,
}

/// Inserts new agents and their capabilities.
pub(super) fn insert(script: &mut Script, rows: &[AgentRow]) -> Result<(), RepositoryError> {
    script.add(INSERT, rows, |row| {
        let agent = &row.agent;
        Ok(NewAgent {
            tenant: row.tenant.as_str(),
            id: agent.id.uuid().simple(),
            name: &agent.name,
            name_key: search_key(&agent.name),
            personality: &agent.personality,
            capabilities: to_json(&agent.capabilities)?,
            config: to_json(&agent.config)?,
            version: agent.version,
            created: agent.created_at.milliseconds(),
            updated: agent.updated_at.milliseconds(),
            sort_seq: row.sort_seq.0,
        })
    })?;
    let capable = rows.iter().filter(|row| !row.agent.capabilities.is_empty());
    script.add(INSERT_CAPABILITIES, &capable.collect::<Vec<_>>(), |row| {
        Ok(AgentKey {
            tenant: row.tenant.as_str(),
            id: row.agent.id.uuid().simple(),
        })
    })
}
