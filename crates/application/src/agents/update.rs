//! Changes of existing agents.

use std::sync::Arc;

use domain::{
    Agent, AgentConfig, AgentDraft, AgentId, FaultCode, InputFault, Principal, Stamp, merge_patch,
};
use ports::RepositoryError;
use serde_json::Value;
use writes::UpdateAgent;

use super::{AgentError, AgentService, find_reachable};
use crate::VersionCondition;

/// The number of attempts at a change while other processes keep changing the same agent.
pub(super) const CHANGE_ATTEMPTS: usize = 100;

/// The member of an agent that a merge patch replaces as a whole.
const RESPONSE_SCHEMA: &str = "/config/responseSchema";

/// The body of `PUT …/config`: the whole configuration, and optional other members of the agent.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigReplacement {
    /// The new configuration.
    pub config: AgentConfig,
    /// A new name, if it changes too.
    pub name: Option<String>,
    /// A new personality, if it changes too.
    pub personality: Option<String>,
    /// New capabilities, if they change too.
    pub capabilities: Option<Vec<String>>,
}

impl AgentService {
    /// Applies a JSON merge patch that matches its schema.
    pub async fn patch(
        &self,
        caller: &Principal,
        id: AgentId,
        patch: &Value,
        condition: &VersionCondition,
    ) -> Result<Agent, AgentError> {
        self.change(caller, id, condition, |agent| {
            let mut document = serde_json::to_value(agent.draft()).unwrap_or_default();
            // A schema is one value: merged with another one it would describe neither.
            let schema = patch.pointer(RESPONSE_SCHEMA).filter(|it| it.is_object());
            merge_patch::apply(&mut document, patch.clone());
            if let (Some(schema), Some(merged)) = (schema, document.pointer_mut(RESPONSE_SCHEMA)) {
                *merged = schema.clone();
            }
            serde_json::from_value(document).map_err(|_shape| {
                // The patch matches its schema, so a result that does not fit mixes two kinds of a
                // member.
                let detail = "the patch does not fit the agent";
                vec![InputFault::new("", FaultCode::NotCombinable, detail)]
            })
        })
        .await
    }

    /// Replaces the configuration, and the other members that the body contains.
    pub async fn replace_config(
        &self,
        caller: &Principal,
        id: AgentId,
        replacement: &ConfigReplacement,
        condition: &VersionCondition,
    ) -> Result<Agent, AgentError> {
        let change = self.change(caller, id, condition, |agent| {
            let new = replacement.clone();
            Ok(AgentDraft {
                name: new.name.unwrap_or_else(|| agent.name.clone()),
                personality: new.personality.unwrap_or_else(|| agent.personality.clone()),
                capabilities: new
                    .capabilities
                    .unwrap_or_else(|| agent.capabilities.clone()),
                config: new.config,
            })
        });
        // The body of this call is the configuration itself, so its pointers begin inside it.
        change.await.map_err(AgentError::below_config)
    }

    /// Reads, computes and writes until no concurrent write intervenes, so that each change is
    /// atomic.
    async fn change(
        &self,
        caller: &Principal,
        id: AgentId,
        condition: &VersionCondition,
        compute: impl Fn(&Agent) -> Result<AgentDraft, Vec<InputFault>>,
    ) -> Result<Agent, AgentError> {
        // After a first conflict, the changes of this process run one after the other.
        let mut permit = None;
        for _ in 0..CHANGE_ATTEMPTS {
            let found = find_reachable(&*self.stored_agents, caller, id).await?;
            let current = found.value.ok_or(AgentError::NotFound)?;
            if !condition.accepts(current.version) {
                return Err(AgentError::VersionMismatch);
            }
            let draft = compute(&current).map_err(AgentError::Invalid)?.trimmed();
            let now = self.ports.clock.now();
            let Some(changed) = current.changed_to(draft, now) else {
                return Ok(Arc::unwrap_or_clone(current));
            };
            let changed = Arc::new(changed);
            self.check(caller, &changed, Some(&current)).await?;
            // Later attempts add no bytes to the log: the earlier ones were not stored.
            if permit.is_none() {
                self.take_log_bytes(caller, &changed).await?;
            }
            let stamp = Stamp {
                time: now,
                actor: caller.id.clone(),
            };
            let update = UpdateAgent {
                tenant: caller.tenant.clone(),
                agent: (*changed).clone(),
                stamp,
            };
            match self.ports.writes.write(update).await {
                Ok(Some(_)) => return Ok(Arc::unwrap_or_clone(changed)),
                Ok(None) => return Err(AgentError::NotFound),
                Err(RepositoryError::Stale { .. }) if permit.is_some() => {}
                Err(RepositoryError::Stale { .. }) => {
                    permit = Some(self.contended.acquire((caller.tenant.clone(), id)).await);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(AgentError::Contended)
    }
}
