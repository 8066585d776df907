//! Engines that answer if those before have failed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::UnknownMembers;

/// An engine that answers if those before have failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fallback {
    /// The name of an engine, with the operator's model.
    Engine(String),
    /// An engine with another model.
    WithModel(FallbackModel),
    /// A form that only a newer version knows. It is shown and kept, and has no effect.
    Unknown(Value),
}

/// An engine, and the model that answers there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FallbackModel {
    /// Name of the engine. It may be that of the agent.
    #[cfg_attr(feature = "schema", schema(value_type = EngineName))]
    pub engine: String,
    /// The model's name at the provider.
    #[cfg_attr(
        feature = "schema",
        schema(
            min_length = 1,
            max_length = 256,
            pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
        )
    )]
    pub model: String,
    /// The members that only a newer version knows.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub unknown: UnknownMembers,
}

impl Fallback {
    /// Returns the name of the engine, if this version knows the form.
    pub fn engine(&self) -> Option<&str> {
        match self {
            Self::Engine(engine) => Some(engine),
            Self::WithModel(fallback) => Some(&fallback.engine),
            Self::Unknown(_) => None,
        }
    }

    /// Returns the model, unless it is the operator's.
    pub fn model(&self) -> Option<&str> {
        match self {
            Self::WithModel(fallback) => Some(&fallback.model),
            Self::Engine(_) | Self::Unknown(_) => None,
        }
    }
}

impl From<&str> for Fallback {
    fn from(engine: &str) -> Self {
        Self::Engine(engine.to_owned())
    }
}

/// An engine that answers if those before have failed.
#[cfg(feature = "schema")]
#[derive(utoipa::ToSchema)]
#[schema(as = Fallback)]
#[serde(untagged)]
pub enum FallbackSchema {
    /// The name of an engine, with the operator's model.
    Engine(EngineName),
    /// An engine with another model.
    WithModel(FallbackModel),
}

/// The name of one of `fallbacks`.
#[cfg(feature = "schema")]
#[derive(utoipa::ToSchema)]
#[schema(value_type = String, min_length = 1, max_length = 64, pattern = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$")]
pub struct EngineName(#[expect(dead_code, reason = "exists only for its schema")] String);

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn every_form_is_kept_as_it_is() {
        for (json, engine, model) in [
            (json!("spare"), Some("spare"), None),
            (
                json!({"engine": "llm", "model": "small"}),
                Some("llm"),
                Some("small"),
            ),
            (
                json!({"engine": "llm", "model": "small", "weight": 1}),
                Some("llm"),
                Some("small"),
            ),
            (json!({"pool": "cheap"}), None, None),
            (json!(7), None, None),
        ] {
            let read: Fallback = from_value(json.clone()).unwrap();
            assert_eq!((read.engine(), read.model()), (engine, model), "{json}");
            assert_eq!(to_value(read).unwrap(), json);
        }
    }
}
