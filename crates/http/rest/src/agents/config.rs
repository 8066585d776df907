//! `/api/agents/{id}/config`.

use actix_web::{HttpRequest, HttpResponse};
use application::agents::ConfigReplacement;
use domain::{Agent, AgentConfig, AgentId};
use kit::{
    auth::{AgentsRead, AgentsWrite, Authorized},
    problem::ApiError,
    reads,
    request::{IfMatch, Json, JsonBody, PathId},
};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

/// A configuration, with members of the agent beside its own.
pub struct ConfigBody(ConfigReplacement);

impl JsonBody for ConfigBody {
    const SCHEMA: &'static str = "ConfigBody";
}

/// The members of the agent that may be beside those of the configuration.
#[derive(Deserialize)]
struct AgentMembers {
    name: Option<String>,
    personality: Option<String>,
    capabilities: Option<Vec<String>>,
}

impl<'de> Deserialize<'de> for ConfigBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = serde_json::Map::<String, Value>::deserialize(deserializer)?;
        let agent_members: serde_json::Map<String, Value> = kit::body::AGENT_MEMBERS
            .iter()
            .filter_map(|name| members.remove_entry(*name))
            .collect();
        let agent_members =
            AgentMembers::deserialize(Value::Object(agent_members)).map_err(D::Error::custom)?;
        let config = AgentConfig::deserialize(Value::Object(members)).map_err(D::Error::custom)?;
        Ok(Self(ConfigReplacement {
            config,
            name: agent_members.name,
            personality: agent_members.personality,
            capabilities: agent_members.capabilities,
        }))
    }
}

/// Read an agent's configuration.
#[utoipa::path(
    get, path = "/api/agents/{id}/config", operation_id = "get_agent_config", tag = "Agents",
    params(("id" = AgentId, Path, description = "The agent.")),
    responses(
        (status = 200, description = "The configuration, with the content that the client sent.", body = AgentConfig),
        (status = 304, description = "The agent has not changed since the version in `If-None-Match`."),
    ),
)]
pub async fn get_agent_config(
    authorized: Authorized<AgentsRead>,
    id: PathId<AgentId>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let found = authorized.agents.get(authorized.caller(), id.0).await?;
    let (etag, config) = (super::etag(found.value.version), &found.value.config);
    Ok(reads::single(&request, etag, found.position, config))
}

/// Replace the whole configuration of an agent. The body may also contain the agent's `name`,
/// `personality` and `capabilities`; they keep their values when absent.
#[utoipa::path(
    put, path = "/api/agents/{id}/config", operation_id = "put_agent_config", tag = "Agents",
    params(("id" = AgentId, Path, description = "The agent.")),
    request_body(content = serde_json::Value, example = json!({
        "fallbackReply": "Let me find somebody who knows.",
        "rules": [{"keywords": ["order"], "reply": "Which order do you mean, {{user.id}}?"}],
    })),
    responses((status = 200, description = "The changed agent.", body = Agent)),
)]
pub async fn put_agent_config(
    authorized: Authorized<AgentsWrite>,
    id: PathId<AgentId>,
    condition: IfMatch,
    body: Json<ConfigBody>,
) -> Result<HttpResponse, ApiError> {
    let caller = authorized.caller();
    let replacement = body.0.0;
    let agent = authorized
        .agents
        .replace_config(caller, id.0, &replacement, &condition.0)
        .await?;
    Ok(reads::written(
        HttpResponse::Ok(),
        super::etag(agent.version),
        &agent,
    ))
}
