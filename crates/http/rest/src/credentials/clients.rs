//! `/api/oauth-clients`.

use actix_web::{HttpRequest, HttpResponse};
use kit::{
    auth::{Authorized, KeysAdmin},
    problem::ApiError,
    reads::PageOf,
    request::{IdempotencyHeader, Json, MergePatch, OptionalJson, PathId},
};

use super::{
    Client, ClientDraft, ClientPatch, ClientRotation, ClientWithSecret, CredentialPathId,
    operations,
};

/// Create an OAuth client, which requests access tokens at `/oauth2/token`. Its secret is shown
/// only once.
#[utoipa::path(
    post, path = "/api/oauth-clients", operation_id = "create_oauth_client", tag = "Access",
    request_body(content = ClientDraft, example = json!({
        "name": "nightly import", "scopes": ["agents:read", "agents:write"],
    })),
    responses((
        status = 201, description = "The client, with its secret if it has one.",
        body = ClientWithSecret,
    )),
)]
pub async fn create_oauth_client(
    authorized: Authorized<KeysAdmin>,
    key: IdempotencyHeader,
    draft: Json<ClientDraft>,
) -> Result<HttpResponse, ApiError> {
    operations::create::<Client>(authorized, key, draft.0).await
}

/// List OAuth clients, newest first, including revoked and expired ones.
#[utoipa::path(
    get, path = "/api/oauth-clients", operation_id = "list_oauth_clients", tag = "Access",
    params(
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Maximum number of items in the page. A page also ends at about 1 MiB. Default 20."),
        ("cursor" = Option<String>, Query, pattern = "^[A-Za-z0-9_-]+$", description = "`nextCursor` of the previous page."),
    ),
    responses((status = 200, description = "A page of clients.", body = PageOf<Client>)),
)]
pub async fn list_oauth_clients(
    authorized: Authorized<KeysAdmin>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    operations::list::<Client>(authorized, request).await
}

/// Read an OAuth client.
#[utoipa::path(
    get, path = "/api/oauth-clients/{id}", operation_id = "get_oauth_client", tag = "Access",
    params(("id" = String, Path, description = "The client.")),
    responses((status = 200, description = "The client.", body = Client)),
)]
pub async fn get_oauth_client(
    authorized: Authorized<KeysAdmin>,
    id: PathId<CredentialPathId<Client>>,
) -> Result<HttpResponse, ApiError> {
    operations::get(authorized, id).await
}

/// Change an OAuth client with a JSON merge patch (RFC 7396): absent members keep their values,
/// `null` restores the default of a member. Its secret or public keys and its scopes stay.
#[utoipa::path(
    patch, path = "/api/oauth-clients/{id}", operation_id = "patch_oauth_client", tag = "Access",
    params(("id" = String, Path, description = "The client.")),
    request_body(
        content(
            (serde_json::Value = "application/merge-patch+json", example = json!({"limits": {"requestsPerMinute": 60}})),
            (serde_json::Value = "application/json", example = json!({"expiresAt": null})),
        ),
    ),
    responses((status = 200, description = "The changed client.", body = Client)),
)]
pub async fn patch_oauth_client(
    authorized: Authorized<KeysAdmin>,
    id: PathId<CredentialPathId<Client>>,
    patch: MergePatch<ClientPatch>,
) -> Result<HttpResponse, ApiError> {
    operations::patch(authorized, id, &patch.value).await
}

/// Rotate an OAuth client: it receives a new secret, shown only once, or its public keys are
/// replaced. Keys published at a `jwksUri` are rotated there.
#[utoipa::path(
    post, path = "/api/oauth-clients/{id}/rotate", operation_id = "rotate_oauth_client",
    tag = "Access",
    params(("id" = String, Path, description = "The client.")),
    request_body(content = ClientRotation, example = json!({"overlapSeconds": 3600})),
    responses((
        status = 200, description = "The client, with its new secret if it has one.",
        body = ClientWithSecret,
    )),
)]
pub async fn rotate_oauth_client(
    authorized: Authorized<KeysAdmin>,
    key: IdempotencyHeader,
    id: PathId<CredentialPathId<Client>>,
    rotation: OptionalJson<ClientRotation>,
) -> Result<HttpResponse, ApiError> {
    operations::rotate(authorized, key, id, rotation.0).await
}

/// Revoke an OAuth client. It receives no more tokens, and its tokens are rejected from now on.
#[utoipa::path(
    delete, path = "/api/oauth-clients/{id}", operation_id = "revoke_oauth_client", tag = "Access",
    params(("id" = String, Path, description = "The client.")),
    responses((status = 204, description = "The client is revoked.")),
)]
pub async fn revoke_oauth_client(
    authorized: Authorized<KeysAdmin>,
    id: PathId<CredentialPathId<Client>>,
) -> Result<HttpResponse, ApiError> {
    operations::revoke(authorized, id).await
}
