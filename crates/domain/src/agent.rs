//! Agents: what clients chat with.

use serde::{Deserialize, Serialize};

use crate::{
    AgentConfig, AgentId, FaultCode, InputFault, Sizes, Timestamp, UnknownMembers,
    fault::push_index,
};

/// An agent as clients receive it and as the event log stores it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    /// The agent's id, in paths and in chat.
    pub id: AgentId,
    /// Display name.
    pub name: String,
    /// The agent's personality, as free text.
    pub personality: String,
    /// The agent's capabilities. A capability with the name of a tool gives the agent that tool;
    /// any other only describes the agent.
    pub capabilities: Vec<String>,
    /// The agent's configuration.
    pub config: AgentConfig,
    /// 1, 2, 3 …: increases by one with every change that has an effect.
    pub version: i64,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
    /// The members that only a newer version knows.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub unknown: UnknownMembers,
}

/// The part of an agent that a client sets: the body of a creation, and the document that a merge
/// patch changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentDraft {
    /// Display name.
    #[cfg_attr(
        feature = "schema",
        schema(
            min_length = 1,
            max_length = 128,
            pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$",
            example = "Ada"
        )
    )]
    pub name: String,
    /// The agent's personality, as free text. Default: empty.
    #[serde(default)]
    #[cfg_attr(
        feature = "schema",
        schema(
            max_length = 8000,
            pattern = r"^[^\x00]*$",
            example = "Cheerful and brief."
        )
    )]
    pub personality: String,
    /// The agent's capabilities, each 1–64 characters after trimming. Default: none.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(max_items = 64, example = json!(["orders", "returns"]), value_type = Vec<Capability>))]
    pub capabilities: Vec<String>,
    /// The agent's configuration. Default: empty.
    #[serde(default)]
    pub config: AgentConfig,
}

/// The name of one capability, with at least one character that is not white space.
#[cfg(feature = "schema")]
#[derive(utoipa::ToSchema)]
#[schema(
    value_type = String,
    min_length = 1,
    max_length = 64,
    pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*[^\x00-\x20\x7f\x85\s][^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
)]
pub struct Capability(#[expect(dead_code, reason = "exists only for its schema")] String);

impl AgentDraft {
    /// Trims the capabilities. Call it before [`Self::check`].
    #[must_use]
    pub fn trimmed(mut self) -> Self {
        for capability in &mut self.capabilities {
            let trimmed = capability.trim();
            if trimmed.len() != capability.len() {
                *capability = trimmed.to_owned();
            }
        }
        self
    }

    /// Returns all faults that the schema cannot express.
    pub fn check(&self, sizes: &Sizes) -> Vec<InputFault> {
        let mut faults = Vec::new();
        for (index, capability) in self.capabilities.iter().enumerate() {
            let mut pointer = String::from("/capabilities");
            push_index(&mut pointer, index);
            if capability.is_empty() {
                faults.push(InputFault::new(
                    pointer,
                    FaultCode::TooShort,
                    "at least 1 character",
                ));
            } else if self.capabilities[..index].contains(capability) {
                faults.push(InputFault::new(
                    pointer,
                    FaultCode::DuplicateItem,
                    "stands here twice",
                ));
            }
        }
        let config = self.config.check(sizes);
        faults.extend(config.into_iter().map(|fault| fault.below("/config")));
        faults
    }

    /// Returns the new agent with the content of this draft.
    pub fn into_agent(self, id: AgentId, now: Timestamp) -> Agent {
        Agent {
            id,
            name: self.name,
            personality: self.personality,
            capabilities: self.capabilities,
            config: self.config,
            version: 1,
            created_at: now,
            updated_at: now,
            unknown: UnknownMembers::default(),
        }
    }
}

impl Agent {
    /// Returns the part of this agent that a client sets.
    pub fn draft(&self) -> AgentDraft {
        AgentDraft {
            name: self.name.clone(),
            personality: self.personality.clone(),
            capabilities: self.capabilities.clone(),
            config: self.config.clone(),
        }
    }

    /// Returns the next version of this agent, with the content of `draft`. Returns `None` if
    /// nothing changes; then nothing is written and no event is emitted.
    pub fn changed_to(&self, draft: AgentDraft, now: Timestamp) -> Option<Self> {
        if self.draft() == draft {
            return None;
        }
        Some(Self {
            version: self.version + 1,
            created_at: self.created_at,
            unknown: self.unknown.clone(),
            // The clock of the process that wrote the previous version may be ahead.
            ..draft.into_agent(self.id, now.max(self.updated_at))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(capabilities: &[&str]) -> AgentDraft {
        AgentDraft {
            name: "Ada".to_owned(),
            personality: String::new(),
            capabilities: capabilities.iter().map(ToString::to_string).collect(),
            config: AgentConfig::default(),
        }
    }

    #[test]
    fn capabilities_that_are_equal_after_trimming_are_duplicates() {
        let faults = draft(&["time", " time ", "  "])
            .trimmed()
            .check(&Sizes::default());
        assert_eq!(faults[0].pointer, "/capabilities/1");
        assert_eq!(faults[0].code, FaultCode::DuplicateItem);
        assert_eq!(faults[1].code, FaultCode::TooShort);
    }

    #[test]
    fn a_change_without_effect_is_none() {
        let agent = draft(&["time"]).into_agent(
            "019aa0c2-7f3e-7cc1-9a52-0b6d2f1c8e11".parse().unwrap(),
            Timestamp::from_milliseconds(1),
        );
        assert_eq!(
            agent.changed_to(agent.draft(), Timestamp::from_milliseconds(2)),
            None
        );
        let changed = agent
            .changed_to(draft(&[]), Timestamp::from_milliseconds(2))
            .unwrap();
        assert_eq!((changed.version, changed.updated_at.milliseconds()), (2, 2));
        assert_eq!(changed.created_at, agent.created_at);
    }
}
