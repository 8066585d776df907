//! An agent as it is stored.

use domain::{Agent, AgentConfig, AgentId, UnknownMembers};
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
