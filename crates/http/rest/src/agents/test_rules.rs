//! `POST /api/rules/test`.

use actix_web::HttpResponse;
use application::agents::RuleTestCommand;
use domain::{ProblemCode, Rule, RuleTest};
use kit::{
    auth::{AgentsWrite, Authorized},
    problem::ApiError,
    request::{Json, JsonBody},
};
use serde::Deserialize;
use utoipa::ToSchema;

/// A message, and the rules to test it with.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuleTestRequest {
    /// The agent whose rules are tested. Required, except with `rules`.
    #[serde(default)]
    #[schema(nullable = false)]
    agent_id: Option<String>,
    /// The rules to test. Default: those of the agent.
    #[serde(default)]
    #[schema(max_items = 200, nullable = false)]
    rules: Option<Vec<Rule>>,
    /// The reply if no rule matches. Default: that of the agent.
    #[serde(default)]
    #[schema(
        min_length = 1,
        max_length = 8000,
        pattern = r"^[^\x00]*$",
        nullable = false
    )]
    fallback_reply: Option<String>,
    /// The capabilities that rules can require. Default: those of the agent.
    #[serde(default)]
    #[schema(max_items = 64, nullable = false, value_type = Option<Vec<domain::agent::Capability>>)]
    capabilities: Option<Vec<String>>,
    /// The text of the message.
    #[schema(min_length = 1, max_length = 32000, pattern = r"^[^\x00]*$")]
    message: String,
    /// The user who sends the message, for `{{user.id}}`.
    #[serde(default)]
    #[schema(
        min_length = 1,
        max_length = 320,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]*$",
        nullable = false
    )]
    user_id: Option<String>,
    /// The number of the turn in its conversation, from 0, which selects one of several `replies`.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 1_000_000)]
    turn_number: i64,
}

impl JsonBody for RuleTestRequest {
    const SCHEMA: &'static str = "RuleTestRequest";
}

impl RuleTestRequest {
    /// Converts the body into a command. A malformed id is reported as not found.
    fn into_command(self) -> Result<RuleTestCommand, ApiError> {
        let id = self.agent_id.map(|id| id.parse()).transpose();
        Ok(RuleTestCommand {
            agent_id: id.map_err(|_malformed| ProblemCode::AgentNotFound)?,
            rules: self.rules,
            fallback_reply: self.fallback_reply,
            capabilities: self.capabilities,
            message: self.message,
            user_id: self.user_id,
            turn_number: self.turn_number,
        })
    }
}

/// Test rules: read the reply of the rule engine to a message, and the result of each rule.
///
/// The members `rules`, `fallbackReply` and `capabilities` replace those of the agent, to test
/// changes before they are saved. Nothing is stored, and no other engine is called. Rules are tried
/// in the order of their priority; `later` marks those that were not tried because another one
/// matched.
#[utoipa::path(
    post, path = "/api/rules/test", operation_id = "test_rules", tag = "Agents",
    request_body(content = RuleTestRequest, example = json!({
        "message": "When do you open?",
        "rules": [
            {"keywords": ["price"], "reply": "It is free."},
            {"pattern": "when .*open", "reply": "From 9 to 18."},
        ],
    })),
    responses(
        (status = 200, description = "The reply, and the result of each rule.", body = RuleTest),
        (status = 504, description = "The rules take too long to test."),
    ),
)]
pub async fn test_rules(
    authorized: Authorized<AgentsWrite>,
    body: Json<RuleTestRequest>,
) -> Result<HttpResponse, ApiError> {
    let command = body.0.into_command()?;
    let test = authorized
        .agents
        .test_rules(authorized.caller(), command)
        .await?;
    Ok(HttpResponse::Ok().json(test))
}
