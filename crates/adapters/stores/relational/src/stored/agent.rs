//! An agent as it is stored.

use domain::{Agent, AgentConfig, AgentId, UnknownMembers};
use serde::{Deserialize, Serialize};
use sqlx::types::Json;
use uuid::Uuid;

use crate::column::StoredTime;

/// The columns of an agent `a`.
#[macro_export]
macro_rules! agent_columns {
    () => {
        "a.id, a.name, a.personality, a.capabilities, a.config, a.version, a.created_at, \
         a.updated_at"
    };
}

/// An agent as it is stored.
#[derive(sqlx::FromRow)]
pub struct StoredAgent {
    id: Uuid,
    name: String,
    personality: String,
    capabilities: Json<Vec<String>>,
    config: Json<AgentConfig>,
    version: i64,
    created_at: StoredTime,
    updated_at: StoredTime,
}

impl From<StoredAgent> for Agent {
    fn from(row: StoredAgent) -> Self {
        Self {
            id: AgentId::new(row.id),
            name: row.name,
            personality: row.personality,
            capabilities: row.capabilities.0,
            config: row.config.0,
            version: row.version,
            created_at: row.created_at.0,
            updated_at: row.updated_at.0,
            unknown: UnknownMembers::default(),
        }
    }
}

/// The content of a version of an agent, as JSON.
#[derive(Debug, Serialize)]
pub struct VersionContent<'a> {
    name: &'a str,
    personality: &'a str,
    capabilities: &'a [String],
    config: &'a AgentConfig,
}

impl<'a> VersionContent<'a> {
    /// Returns the content of an agent.
    pub fn of(agent: &'a Agent) -> Self {
        Self {
            name: &agent.name,
            personality: &agent.personality,
            capabilities: &agent.capabilities,
            config: &agent.config,
        }
    }
}

/// A [`VersionContent`] that is read.
#[derive(Deserialize)]
struct StoredContent {
    name: String,
    personality: String,
    capabilities: Vec<String>,
    config: AgentConfig,
}

/// A version of an agent as it is stored, with the time of the agent's creation.
#[derive(sqlx::FromRow)]
pub struct StoredAgentVersion {
    id: Uuid,
    version: i64,
    agent: Json<StoredContent>,
    created_at: StoredTime,
    updated_at: StoredTime,
}

impl From<StoredAgentVersion> for Agent {
    fn from(row: StoredAgentVersion) -> Self {
        let Json(content) = row.agent;
        Self {
            id: AgentId::new(row.id),
            name: content.name,
            personality: content.personality,
            capabilities: content.capabilities,
            config: content.config,
            version: row.version,
            created_at: row.created_at.0,
            updated_at: row.updated_at.0,
            unknown: UnknownMembers::default(),
        }
    }
}
