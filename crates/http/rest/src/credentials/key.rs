//! Keys as clients send and read them.

use access::{IssuedCredential, Rotation};
use domain::{
    AgentId, AgentReach, Credential, CredentialDraft, CredentialId, CredentialKind, LimitOverrides,
    ProblemCode, Scope, Scopes, Timestamp, credential::Proof,
};
use kit::{problem::ApiError, request::JsonBody};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::view::View;

/// An API key to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyDraft {
    /// A name for people.
    #[schema(min_length = 1, max_length = 128)]
    name: String,
    /// Its scopes: only scopes that the caller has.
    #[schema(value_type = Vec<Scope>, min_items = 1)]
    scopes: Scopes,
    /// The only agents that it can reach: to it, others do not exist. Agents of the caller. Default: those of
    /// the caller, usually all.
    #[serde(default)]
    #[schema(value_type = Option<Vec<AgentId>>, min_items = 1, max_items = 50, nullable = false)]
    agent_ids: AgentReach,
    /// The time at which it expires; must be in the future. Default: never.
    #[serde(default)]
    expires_at: Option<Timestamp>,
    /// The only browser origins that may use it. Default: any.
    #[serde(default)]
    #[schema(value_type = Vec<Origin>)]
    allowed_origins: Vec<String>,
    /// Rate limits of this key. Default: those of the server.
    #[serde(default)]
    limits: Option<LimitOverrides>,
}

/// An origin exactly as browsers send it: without a path, and without the default port of its
/// scheme.
#[derive(ToSchema)]
#[schema(
    value_type = String,
    max_length = 268,
    example = "https://shop.example:8443"
)]
pub struct Origin(#[expect(dead_code, reason = "only its schema is used")] String);

impl JsonBody for KeyDraft {
    const SCHEMA: &'static str = "KeyDraft";
}

impl From<KeyDraft> for CredentialDraft {
    fn from(draft: KeyDraft) -> Self {
        Self {
            expires_at: draft.expires_at,
            allowed_origins: draft.allowed_origins,
            limits: draft.limits.unwrap_or_default(),
            agents: draft.agent_ids,
            ..Self::new(draft.name, draft.scopes)
        }
    }
}

/// The schema of a merge patch of a key.
pub struct KeyPatch;

impl JsonBody for KeyPatch {
    const SCHEMA: &'static str = "KeyDraftPatch";
}

/// The rotation of a key.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyRotation {
    /// The time in seconds for which the previous secret stays valid beside the new one. Default:
    /// 0.
    #[serde(default)]
    #[schema(nullable = false)]
    overlap_seconds: Option<u32>,
}

impl JsonBody for KeyRotation {
    const SCHEMA: &'static str = "KeyRotation";
}

impl From<KeyRotation> for Rotation {
    fn from(rotation: KeyRotation) -> Self {
        Self {
            overlap_seconds: rotation.overlap_seconds,
            jwks: None,
        }
    }
}

/// An API key, without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    /// The id of the key: the part of its value between `agk_` and the next underscore.
    #[schema(value_type = String, example = "74RKAhxVi44o")]
    id: CredentialId,
    /// A name for people.
    name: String,
    /// The last four characters of its value.
    last4: String,
    /// Its scopes.
    #[schema(value_type = Vec<Scope>)]
    scopes: Scopes,
    /// The only agents that it can reach; absent for all.
    #[serde(skip_serializing_if = "AgentReach::is_all")]
    #[schema(value_type = Option<Vec<AgentId>>, nullable = false)]
    agent_ids: AgentReach,
    /// The time of creation.
    created_at: Timestamp,
    /// The time at which it expires; null for never.
    expires_at: Option<Timestamp>,
    /// The time of its last use, to the minute; null for never.
    last_used_at: Option<Timestamp>,
    /// The time at which it was revoked; null if it was not.
    revoked_at: Option<Timestamp>,
    /// The only browser origins that may use it; empty for any.
    allowed_origins: Vec<String>,
    /// Rate limits of this key. An absent limit is that of the server.
    limits: LimitOverrides,
}

impl View for Key {
    const KIND: CredentialKind = CredentialKind::Key;
    const PATH: &'static str = "/api/keys";
    type WithSecret = KeyWithSecret;

    fn from_stored(key: Credential) -> Result<Self, ApiError> {
        let Proof::Secret(secret) = key.proof else {
            return Err(missing_secret());
        };
        Ok(Self {
            last4: secret.last4,
            id: key.id,
            name: key.name,
            scopes: key.scopes,
            agent_ids: key.agents,
            created_at: key.created_at,
            expires_at: key.expires_at,
            last_used_at: key.last_used_at,
            revoked_at: key.revoked_at,
            allowed_origins: key.allowed_origins,
            limits: key.limits,
        })
    }

    fn from_issued(issued: IssuedCredential) -> Result<KeyWithSecret, ApiError> {
        let secret = issued.secret.ok_or_else(missing_secret)?;
        Ok(KeyWithSecret {
            key: Self::from_stored(issued.credential)?,
            secret: secret.reveal().to_owned(),
        })
    }
}

/// Such a key can only exist in a corrupt store.
fn missing_secret() -> ApiError {
    ApiError::new(ProblemCode::Internal).with_source("a key has no secret")
}

/// A key that was just created or rotated, with its secret.
#[derive(Serialize, ToSchema)]
pub struct KeyWithSecret {
    #[serde(flatten)]
    key: Key,
    /// The whole value, to be sent as `X-API-Key`. It is shown only once.
    #[schema(example = "agk_74RKAhxVi44o_…")]
    secret: String,
}
