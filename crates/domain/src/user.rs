//! Users: what operators store about the people who chat with agents.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    InputFault, Timestamp,
    config::{Metadata, check_metadata},
    merge_patch,
};

/// What is stored about a user. Users without it can chat, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct User {
    /// The user's id, as conversations have it.
    pub user_id: String,
    /// The name; null without one.
    pub name: Option<String>,
    /// What models are told about the user in all conversations; empty if they are told nothing.
    pub context: String,
    /// The client's own string pairs.
    #[cfg_attr(feature = "schema", schema(value_type = crate::config::MetadataSchema))]
    pub metadata: Metadata,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
}

impl User {
    /// Returns the part that a client sets.
    pub fn draft(&self) -> UserDraft {
        UserDraft {
            name: self.name.clone(),
            context: self.context.clone(),
            metadata: self.metadata.clone(),
        }
    }

    /// Returns this user with the content of `draft`; `None` if nothing changes.
    pub fn changed_to(&self, draft: UserDraft, now: Timestamp) -> Option<Self> {
        (self.draft() != draft).then(|| Self {
            name: draft.name,
            context: draft.context,
            metadata: draft.metadata,
            updated_at: now.max(self.updated_at),
            ..self.clone()
        })
    }
}

/// The part of a user that a client sets, and the document that a merge patch changes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UserDraft {
    /// The name, for `{{user.name}}` in texts of agents. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(
            min_length = 1,
            max_length = 128,
            pattern = r"^[^\x00-\x1f\x7f-\x9f]*$",
            nullable = false
        )
    )]
    pub name: Option<String>,
    /// What models are told about the user in all conversations. Users do not see it. Default: empty.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(max_length = 8000, pattern = r"^[^\x00]*$"))]
    pub context: String,
    /// The client's own string pairs. Default: none.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = crate::config::MetadataSchema))]
    pub metadata: Metadata,
}

impl UserDraft {
    /// Returns the faults that the schema cannot express.
    pub fn check(&self) -> Vec<InputFault> {
        let faults = check_metadata(&self.metadata).into_iter();
        faults.map(|fault| fault.below("/metadata")).collect()
    }

    /// Applies a JSON merge patch. Fails if the result is no draft, which a patch that matches its
    /// schema never causes.
    pub fn patched(&self, patch: &Value) -> Result<Self, serde_json::Error> {
        let mut document = serde_json::to_value(self)?;
        merge_patch::apply(&mut document, patch.clone());
        serde_json::from_value(document)
    }

    /// Returns a new user with this content.
    pub fn into_user(self, user_id: String, now: Timestamp) -> User {
        User {
            user_id,
            name: self.name,
            context: self.context,
            metadata: self.metadata,
            created_at: now,
            updated_at: now,
        }
    }
}
