//! `/api/keys`.

use actix_web::{HttpRequest, HttpResponse};
use kit::{
    auth::{Authorized, KeysAdmin},
    problem::ApiError,
    reads::PageOf,
    request::{IdempotencyHeader, Json, OptionalJson, PathId},
};

use super::{CredentialPathId, Key, KeyDraft, KeyRotation, KeyWithSecret, operations};

/// Create an API key. Its secret is shown only once.
#[utoipa::path(
    post, path = "/api/keys", operation_id = "create_key", tag = "Access",
    request_body(content = KeyDraft, example = json!({
        "name": "web shop", "scopes": ["agents:read", "chat:write"],
        "allowedOrigins": ["https://shop.example"],
    })),
    responses((status = 201, description = "The key with its secret.", body = KeyWithSecret)),
)]
pub async fn create_key(
    authorized: Authorized<KeysAdmin>,
    key: IdempotencyHeader,
    draft: Json<KeyDraft>,
) -> Result<HttpResponse, ApiError> {
    operations::create::<Key>(authorized, key, draft.0).await
}

/// List API keys, newest first, including revoked and expired ones.
#[utoipa::path(
    get, path = "/api/keys", operation_id = "list_keys", tag = "Access",
    params(
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Maximum number of items in the page. A page also ends at about 1 MiB. Default 20."),
        ("cursor" = Option<String>, Query, pattern = "^[A-Za-z0-9_-]+$", description = "`nextCursor` of the previous page."),
    ),
    responses((status = 200, description = "A page of keys.", body = PageOf<Key>)),
)]
pub async fn list_keys(
    authorized: Authorized<KeysAdmin>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    operations::list::<Key>(authorized, request).await
}

/// Read an API key.
#[utoipa::path(
    get, path = "/api/keys/{id}", operation_id = "get_key", tag = "Access",
    params(("id" = String, Path, description = "The key.")),
    responses((status = 200, description = "The key.", body = Key)),
)]
pub async fn get_key(
    authorized: Authorized<KeysAdmin>,
    id: PathId<CredentialPathId<Key>>,
) -> Result<HttpResponse, ApiError> {
    operations::get(authorized, id).await
}

/// Rotate an API key: it receives a new secret, shown only once. The previous secret stays valid
/// for the overlap.
#[utoipa::path(
    post, path = "/api/keys/{id}/rotate", operation_id = "rotate_key", tag = "Access",
    params(("id" = String, Path, description = "The key.")),
    request_body(content = KeyRotation, example = json!({"overlapSeconds": 3600})),
    responses((status = 200, description = "The key with its new secret.", body = KeyWithSecret)),
)]
pub async fn rotate_key(
    authorized: Authorized<KeysAdmin>,
    key: IdempotencyHeader,
    id: PathId<CredentialPathId<Key>>,
    rotation: OptionalJson<KeyRotation>,
) -> Result<HttpResponse, ApiError> {
    operations::rotate(authorized, key, id, rotation.0).await
}

/// Revoke an API key. It is rejected from now on.
#[utoipa::path(
    delete, path = "/api/keys/{id}", operation_id = "revoke_key", tag = "Access",
    params(("id" = String, Path, description = "The key.")),
    responses((status = 204, description = "The key is revoked.")),
)]
pub async fn revoke_key(
    authorized: Authorized<KeysAdmin>,
    id: PathId<CredentialPathId<Key>>,
) -> Result<HttpResponse, ApiError> {
    operations::revoke(authorized, id).await
}
