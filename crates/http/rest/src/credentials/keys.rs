//! `/api/keys`.

use actix_web::{HttpRequest, HttpResponse};
use kit::{
    auth::{Authorized, KeysAdmin},
    problem::ApiError,
    reads::PageOf,
    request::{IdempotencyHeader, Json, MergePatch, OptionalJson, PathId},
};

use super::{CredentialPathId, Key, KeyDraft, KeyPatch, KeyRotation, KeyWithSecret, operations};

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

/// Change an API key with a JSON merge patch (RFC 7396): absent members keep their values, `null`
/// restores the default of a member. Its secret and its scopes stay.
#[utoipa::path(
    patch, path = "/api/keys/{id}", operation_id = "patch_key", tag = "Access",
    params(("id" = String, Path, description = "The key.")),
    request_body(
        content(
            (serde_json::Value = "application/merge-patch+json", example = json!({"allowedOrigins": ["https://shop.example"]})),
            (serde_json::Value = "application/json", example = json!({"limits": {"chatPerMinute": null}})),
        ),
    ),
    responses((status = 200, description = "The changed key.", body = Key)),
)]
pub async fn patch_key(
    authorized: Authorized<KeysAdmin>,
    id: PathId<CredentialPathId<Key>>,
    patch: MergePatch<KeyPatch>,
) -> Result<HttpResponse, ApiError> {
    operations::patch(authorized, id, &patch.value).await
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
