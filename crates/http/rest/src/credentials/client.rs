//! The JSON of OAuth clients.

use access::{IssuedCredential, Rotation};
use domain::{
    AgentId, AgentReach, Credential, CredentialDraft, CredentialId, CredentialKind, LimitOverrides,
    Scope, Scopes, Timestamp,
    credential::{Proof, PublicKeys},
};
use kit::{problem::ApiError, request::JsonBody};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{public_keys::PublicKeySet, view::View};

/// An OAuth client to create. With `jwks` or `jwksUri` it authenticates with its own keys
/// (`private_key_jwt`); otherwise it receives a secret.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClientDraft {
    /// A name for people.
    #[schema(min_length = 1, max_length = 128)]
    name: String,
    /// The scopes that its tokens can have: only scopes that the caller has.
    #[schema(value_type = Vec<Scope>, min_items = 1)]
    scopes: Scopes,
    /// The only agents that it can reach: to it, others do not exist. Agents of the caller. Default: those of
    /// the caller, usually all.
    #[serde(default)]
    #[schema(value_type = Option<Vec<AgentId>>, min_items = 1, max_items = 50, nullable = false)]
    agent_ids: AgentReach,
    /// The client's public keys. Cannot be combined with `jwksUri`.
    #[serde(default)]
    #[schema(value_type = Option<PublicKeySet>, nullable = false)]
    jwks: Option<Value>,
    /// The address at which the client publishes its public keys. Cannot be combined with `jwks`.
    #[serde(default)]
    #[schema(nullable = false, example = "https://client.example/jwks.json")]
    jwks_uri: Option<String>,
    /// The time at which it expires; must be in the future. Default: never.
    #[serde(default)]
    expires_at: Option<Timestamp>,
    /// Rate limits of this client. Default: those of the server.
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
            agents: draft.agent_ids,
            ..Self::new(draft.name, draft.scopes)
        }
    }
}

/// The schema of a merge patch of an OAuth client.
pub struct ClientPatch;

impl JsonBody for ClientPatch {
    const SCHEMA: &'static str = "ClientDraftPatch";
}

/// The rotation of a client. A client with a secret receives a new one; a client with its own keys
/// (`jwks`) sends the new keys.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClientRotation {
    /// The time in seconds for which the previous secret stays valid beside the new one. Default:
    /// 0.
    #[serde(default)]
    #[schema(nullable = false)]
    overlap_seconds: Option<u32>,
    /// The new public keys. They replace the previous ones at once.
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

/// An OAuth client, without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Client {
    /// The id of the client: its `client_id`.
    #[schema(value_type = String, example = "5nQwT0cLZb2y")]
    id: CredentialId,
    /// A name for people.
    name: String,
    /// The last four characters of its secret, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    last4: Option<String>,
    /// The client's public keys, if it has sent some; members that this service does not use are
    /// removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PublicKeySet>, nullable = false)]
    jwks: Option<Value>,
    /// The address at which the client publishes its public keys, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    jwks_uri: Option<String>,
    /// The scopes that its tokens can have.
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
    /// Rate limits of this client. An absent limit is that of the server.
    limits: LimitOverrides,
}

impl View for Client {
    const KIND: CredentialKind = CredentialKind::Client;
    const PATH: &'static str = "/api/oauth-clients";
    type WithSecret = ClientWithSecret;

    fn from_stored(client: Credential) -> Result<Self, ApiError> {
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
            agent_ids: client.agents,
            created_at: client.created_at,
            expires_at: client.expires_at,
            last_used_at: client.last_used_at,
            revoked_at: client.revoked_at,
            limits: client.limits,
        })
    }

    fn from_issued(issued: IssuedCredential) -> Result<ClientWithSecret, ApiError> {
        Ok(ClientWithSecret {
            secret: issued.secret.map(|it| it.reveal().to_owned()),
            client: Self::from_stored(issued.credential)?,
        })
    }
}

/// A client that was just created or rotated, with its secret if it has one.
#[derive(Serialize, ToSchema)]
pub struct ClientWithSecret {
    #[serde(flatten)]
    client: Client,
    /// The whole `client_secret`. It is shown only once. Absent for a client with its own keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "ags_5nQwT0cLZb2y_…")]
    secret: Option<String>,
}
