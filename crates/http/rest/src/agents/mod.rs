//! `/api/agents` and `/api/rules`.

mod config;
mod create;
mod delete;
mod get;
mod list;
mod patch;
mod test_rules;

pub use config::{
    __path_get_agent_config, __path_put_agent_config, ConfigBody, get_agent_config,
    put_agent_config,
};
pub use create::{__path_create_agent, create_agent};
pub use delete::{__path_delete_agent, delete_agent};
pub use get::{__path_get_agent, get_agent};
pub use list::{__path_list_agents, list_agents};
pub use patch::{__path_patch_agent, patch_agent};
pub use test_rules::{__path_test_rules, RuleTestRequest, test_rules};

/// The entity tag of an agent and of its configuration.
fn etag(version: i64) -> String {
    format!("\"v{version}\"")
}
