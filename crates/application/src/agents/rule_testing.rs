//! Tests of rules, which store nothing.

use std::sync::Arc;

use domain::{
    Agent, AgentDraft, AgentId, FaultCode, InputFault, Principal, Rule, RuleTest, ToolEntry, TurnId,
};
use ports::ModelRequest;

use super::{AgentError, AgentService};

/// The name of the agent in a test without `agent_id`.
const UNNAMED: &str = "Agent";

/// A message for a test of rules. Members of the agent that are absent are those of the stored
/// agent.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleTestCommand {
    /// The agent. Required, except with `rules`.
    pub agent_id: Option<AgentId>,
    /// The rules to test.
    pub rules: Option<Vec<Rule>>,
    /// The reply if no rule matches.
    pub fallback_reply: Option<String>,
    /// The capabilities of the agent.
    pub capabilities: Option<Vec<String>>,
    /// The tools of the agent.
    pub tools: Option<Vec<ToolEntry>>,
    /// The user's text.
    pub message: String,
    /// The user that sends the message.
    pub user_id: Option<String>,
    /// The number of the turn in its conversation, from 0.
    pub turn_number: i64,
}

impl AgentService {
    /// Returns the reply of the rule engine, and the result of every rule.
    pub async fn test_rules(
        &self,
        caller: &Principal,
        command: RuleTestCommand,
    ) -> Result<RuleTest, AgentError> {
        let agent = self.tested_agent(caller, &command).await?;
        let checked = self.check(caller, &agent, Some(&agent)).await;
        checked.map_err(AgentError::below_config)?;
        let turn_id = TurnId::new(self.ports.ids.next_id());
        let request = ModelRequest {
            turn_number: command.turn_number,
            user_id: command.user_id,
            ..ModelRequest::new(caller.tenant.clone(), agent, turn_id, command.message)
        };
        let tested = self.engines.test_rules(&request).await;
        tested.map_err(AgentError::Failed)
    }

    /// Returns the stored agent, or one with the members that the command replaces. That one has
    /// another id, so that engines do not mistake its content for that of a stored version.
    async fn tested_agent(
        &self,
        caller: &Principal,
        command: &RuleTestCommand,
    ) -> Result<Arc<Agent>, AgentError> {
        let stored = match command.agent_id {
            Some(id) => Some(self.get(caller, id).await?.value),
            None => None,
        };
        let mut draft = match (&stored, &command.rules) {
            (Some(agent), _) => agent.draft(),
            (None, Some(_)) => AgentDraft {
                name: UNNAMED.to_owned(),
                personality: String::new(),
                capabilities: Vec::new(),
                config: domain::AgentConfig::default(),
            },
            (None, None) => {
                let detail = "one of 'agentId' and 'rules'";
                let fault = InputFault::new("/agentId", FaultCode::Required, detail);
                return Err(AgentError::Invalid(vec![fault]));
            }
        };
        if let Some(rules) = &command.rules {
            draft.config.rules = Some(rules.clone());
        }
        if let Some(reply) = &command.fallback_reply {
            draft.config.fallback_reply = Some(reply.clone());
        }
        if let Some(capabilities) = &command.capabilities {
            draft.capabilities.clone_from(capabilities);
        }
        if let Some(tools) = &command.tools {
            draft.config.tools = Some(tools.clone());
        }
        let draft = draft.trimmed();
        Ok(match stored {
            Some(agent) if agent.draft() == draft => agent,
            _ => Arc::new(draft.into_agent(
                AgentId::new(self.ports.ids.next_id()),
                self.ports.clock.now(),
            )),
        })
    }
}
