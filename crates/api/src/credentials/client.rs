//! OAuth clients as callers send and read them.

use application::access::{MintedCredential, Rotation};
use domain::{
    Credential, CredentialDraft, CredentialId, CredentialKind, LimitOverrides, Scope, Scopes,
    Timestamp,
    credential::{Proof, PublicKeys},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{public_keys::PublicKeySet, view::View};
use crate::{problem::ApiError, request::JsonBody};

/// A client to be made. With `jwks` or `jwksUri` it signs with keys of its own
/// (`private_key_jwt`), without them it gets a secret.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClientDraft {
    /// What people call it.
    #[schema(min_length = 1, max_length = 128)]
    name: String,
    /// What its tokens may allow: nothing that the caller may not do.
    #[schema(value_type = Vec<Scope>, min_items = 1)]
    scopes: Scopes,
    /// The public keys of its own. Not with `jwksUri`.
    #[serde(default)]
    #[schema(value_type = Option<PublicKeySet>, nullable = false)]
    jwks: Option<Value>,
    /// Where its public keys are published. Not with `jwks`.
    #[serde(default)]
    #[schema(nullable = false, example = "https://client.example/jwks.json")]
    jwks_uri: Option<String>,
    /// The time from which it is refused; in the future. Default: never.
    #[serde(default)]
    expires_at: Option<Timestamp>,
    /// Rate limits of its own. Default: the server's.
    #[serde(default)]
    limits: Option<LimitOverrides>,
}

impl JsonBody for ClientDraft {
    const SCHEMA: &'static str = "ClientDraft";
}

impl From<ClientDraft> for CredentialDraft {
    fn from(draft: ClientDraft) -> Self {
        Self {
            expires_at: draft.expires_at,
            limits: draft.limits.unwrap_or_default(),
            jwks: draft.jwks,
            jwks_uri: draft.jwks_uri,
            ..Self::new(draft.name, draft.scopes)
        }
    }
}

/// How a client is rotated: one with a secret gets a new one, one with keys of its own (`jwks`)
/// hands in the new ones.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClientRotation {
    /// For how long the secret before stays good beside the new one. Default: not at all.
    #[serde(default)]
    #[schema(nullable = false)]
    overlap_seconds: Option<u32>,
    /// The new public keys; those before are forgotten at once.
    #[serde(default)]
    #[schema(value_type = Option<PublicKeySet>, nullable = false)]
    jwks: Option<Value>,
}

impl JsonBody for ClientRotation {
    const SCHEMA: &'static str = "ClientRotation";
}

impl From<ClientRotation> for Rotation {
    fn from(rotation: ClientRotation) -> Self {
        Self {
            overlap_seconds: rotation.overlap_seconds,
            jwks: rotation.jwks,
        }
    }
}

/// A client without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Client {
    /// Names it: its `client_id`.
    #[schema(value_type = String, example = "5nQwT0cLZb2y")]
    id: CredentialId,
    /// What people call it.
    name: String,
    /// The last four characters of its secret, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    last4: Option<String>,
    /// The public keys of its own, if it handed in some; without what is not understood here.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PublicKeySet>, nullable = false)]
    jwks: Option<Value>,
    /// Where its public keys are published, if they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    jwks_uri: Option<String>,
    /// What its tokens may allow.
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
    /// Rate limits of its own; what is absent is as the server has it.
    limits: LimitOverrides,
}

impl View for Client {
    const KIND: CredentialKind = CredentialKind::Client;
    const PATH: &'static str = "/api/oauth-clients";
    type WithSecret = ClientWithSecret;

    fn stored(client: Credential) -> Result<Self, ApiError> {
        let (last4, jwks, jwks_uri) = match client.proof {
            Proof::Secret(secret) => (Some(secret.last4), None, None),
            Proof::Keys(PublicKeys::Set(set)) => (None, Some(set), None),
            Proof::Keys(PublicKeys::At(address)) => (None, None, Some(address)),
        };
        Ok(Self {
            id: client.id,
            name: client.name,
            last4,
            jwks,
            jwks_uri,
            scopes: client.scopes,
            created_at: client.created_at,
            expires_at: client.expires_at,
            last_used_at: client.last_used_at,
            revoked_at: client.revoked_at,
            limits: client.limits,
        })
    }

    fn minted(minted: MintedCredential) -> Result<ClientWithSecret, ApiError> {
        Ok(ClientWithSecret {
            secret: minted.secret.map(|it| it.reveal().to_owned()),
            client: Self::stored(minted.credential)?,
        })
    }
}

/// A client that was just made or rotated, with its secret if it has one.
#[derive(Serialize, ToSchema)]
pub struct ClientWithSecret {
    #[serde(flatten)]
    client: Client,
    /// The whole `client_secret`; absent for a client with keys of its own. It is shown this once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "ags_5nQwT0cLZb2y_…")]
    secret: Option<String>,
}
