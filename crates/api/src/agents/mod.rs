//! `/api/agents`.

mod config;
mod create;
mod delete;
mod get;
mod list;
mod patch;

use actix_web::{HttpResponse, HttpResponseBuilder, http::header};
use domain::Agent;

pub use config::{
    __path_get_agent_config, __path_put_agent_config, ConfigBody, get_agent_config,
    put_agent_config,
};
pub use create::{__path_create_agent, create_agent};
pub use delete::{__path_delete_agent, delete_agent};
pub use get::{__path_get_agent, get_agent};
pub use list::{__path_list_agents, list_agents};
pub use patch::{__path_patch_agent, patch_agent};

/// The entity tag of an agent and of its configuration.
fn etag(version: i64) -> String {
    format!("\"v{version}\"")
}

/// Answers an agent with its entity tag.
fn answer(mut response: HttpResponseBuilder, agent: &Agent) -> HttpResponse {
    response
        .insert_header((header::ETAG, etag(agent.version)))
        .insert_header((header::CACHE_CONTROL, "private, no-cache"))
        .json(agent)
}
