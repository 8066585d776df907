//! Profiles: the public part of agents, for pages.

use serde::{Deserialize, Serialize};

use crate::{
    Agent, AgentId, InputFault, UnknownMembers,
    config::{Metadata, check_metadata},
};

/// The public description of an agent, in addition to its name and greeting.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProfileConfig {
    /// A short description of the agent for visitors. Default: empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(max_length = 500, pattern = r"^[^\x00]*$", nullable = false)
    )]
    pub description: Option<String>,
    /// Messages that a page can offer to send. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(max_items = 8, nullable = false, value_type = Option<Vec<Suggestion>>))]
    pub suggestions: Option<Vec<String>>,
    /// String pairs for pages, which every visitor can read. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false, value_type = Option<crate::config::MetadataSchema>))]
    pub metadata: Option<Metadata>,
    /// The members that only a newer version knows.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub unknown: UnknownMembers,
}

/// A message that a page can offer to send.
#[cfg(feature = "schema")]
#[derive(utoipa::ToSchema)]
#[schema(value_type = String, min_length = 1, max_length = 200, pattern = r"^[^\x00]*$")]
pub struct Suggestion(#[expect(dead_code, reason = "exists only for its schema")] String);

impl ProfileConfig {
    /// Returns the faults that the schema of a single member cannot express.
    pub(crate) fn check(&self) -> Vec<InputFault> {
        let metadata = self.metadata.iter().flat_map(check_metadata);
        metadata.map(|fault| fault.below("/metadata")).collect()
    }
}

/// A profile in events, without the greeting, which can be another for each user.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct EventProfile {
    /// The agent's id, in paths and in chat.
    pub id: AgentId,
    /// Display name.
    pub name: String,
    /// A short description of the agent for visitors; empty if it has none.
    pub description: String,
    /// Messages that a page can offer to send.
    pub suggestions: Vec<String>,
    /// String pairs for pages.
    #[cfg_attr(feature = "schema", schema(value_type = crate::config::MetadataSchema))]
    pub metadata: Metadata,
}

/// The public part of an agent: all that callers without `agents:read` see of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Profile {
    /// The profile.
    #[serde(flatten)]
    pub profile: EventProfile,
    /// The first message of a conversation; null if the agent waits for the user's.
    pub greeting: Option<String>,
}

impl Agent {
    /// Returns the profile of the agent as events contain it.
    pub fn event_profile(&self) -> EventProfile {
        let config = self.config.profile.clone().unwrap_or_default();
        EventProfile {
            id: self.id,
            name: self.name.clone(),
            description: config.description.unwrap_or_default(),
            suggestions: config.suggestions.unwrap_or_default(),
            metadata: config.metadata.unwrap_or_default(),
        }
    }

    /// Returns the profile of the agent, with its greeting for the reader.
    pub fn profile(&self, greeting: Option<String>) -> Profile {
        Profile {
            profile: self.event_profile(),
            greeting,
        }
    }
}
