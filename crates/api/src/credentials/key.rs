//! Keys as clients send and read them.

use application::access::{MintedCredential, Rotation};
use domain::{
    Credential, CredentialDraft, CredentialId, CredentialKind, LimitOverrides, ProblemCode, Scope,
    Scopes, Timestamp, credential::Proof,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::view::View;
use crate::{problem::ApiError, request::JsonBody};

/// A key to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyDraft {
    /// What people call it.
    #[schema(min_length = 1, max_length = 128)]
    name: String,
    /// What it may do: nothing that the caller may not.
    #[schema(value_type = Vec<Scope>, min_items = 1)]
    scopes: Scopes,
    /// The time from which it is refused; in the future. Default: never.
    #[serde(default)]
    expires_at: Option<Timestamp>,
    /// Browser origins that alone may use it. Default: any.
    #[serde(default)]
    #[schema(value_type = Vec<Origin>)]
    allowed_origins: Vec<String>,
    /// Rate limits of its own. Default: the server's.
    #[serde(default)]
    limits: Option<LimitOverrides>,
}

/// An origin exactly as browsers send it: without path, and without the scheme's own port.
#[derive(ToSchema)]
#[schema(
    value_type = String,
    max_length = 268,
    example = "https://shop.example:8443"
)]
pub struct Origin(#[expect(dead_code, reason = "stands for its schema alone")] String);

impl JsonBody for KeyDraft {
    const SCHEMA: &'static str = "KeyDraft";
}

impl From<KeyDraft> for CredentialDraft {
    fn from(draft: KeyDraft) -> Self {
        Self {
            expires_at: draft.expires_at,
            allowed_origins: draft.allowed_origins,
            limits: draft.limits.unwrap_or_default(),
            ..Self::new(draft.name, draft.scopes)
        }
    }
}

/// How a key is rotated.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyRotation {
    /// For how long the secret before stays good beside the new one. Default: not at all.
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

/// A key without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    /// Names it; also the part of its value between `agk_` and the next underscore.
    #[schema(value_type = String, example = "74RKAhxVi44o")]
    id: CredentialId,
    /// What people call it.
    name: String,
    /// The last four characters of its whole value.
    last4: String,
    /// What it may do.
    #[schema(value_type = Vec<Scope>)]
    scopes: Scopes,
    /// When it was made.
    created_at: Timestamp,
    /// From when on it is refused; null for never.
    expires_at: Option<Timestamp>,
    /// When it was last used, to the minute; null for never.
    last_used_at: Option<Timestamp>,
    /// Since when it is refused because it was revoked; null if it was not.
    revoked_at: Option<Timestamp>,
    /// Browser origins that alone may use it; empty for any.
    allowed_origins: Vec<String>,
    /// Rate limits of its own; what is absent is as the server has it.
    limits: LimitOverrides,
}

impl View for Key {
    const KIND: CredentialKind = CredentialKind::Key;
    const PATH: &'static str = "/api/keys";
    type WithSecret = KeyWithSecret;

    fn stored(key: Credential) -> Result<Self, ApiError> {
        let Proof::Secret(secret) = key.proof else {
            return Err(without_secret());
        };
        Ok(Self {
            last4: secret.last4,
            id: key.id,
            name: key.name,
            scopes: key.scopes,
            created_at: key.created_at,
            expires_at: key.expires_at,
            last_used_at: key.last_used_at,
            revoked_at: key.revoked_at,
            allowed_origins: key.allowed_origins,
            limits: key.limits,
        })
    }

    fn minted(minted: MintedCredential) -> Result<KeyWithSecret, ApiError> {
        let secret = minted.secret.ok_or_else(without_secret)?;
        Ok(KeyWithSecret {
            key: Self::stored(minted.credential)?,
            secret: secret.reveal().to_owned(),
        })
    }
}

/// Nothing but a broken store has such a key.
fn without_secret() -> ApiError {
    ApiError::new(ProblemCode::Internal).because("a key has no secret")
}

/// A key that was just made or rotated, with its secret.
#[derive(Serialize, ToSchema)]
pub struct KeyWithSecret {
    #[serde(flatten)]
    key: Key,
    /// The whole value, to be sent as `X-API-Key`. It is shown this once.
    #[schema(example = "agk_74RKAhxVi44o_…")]
    secret: String,
}
