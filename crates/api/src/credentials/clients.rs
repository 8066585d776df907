//! `/api/oauth-clients`.

use actix_web::{HttpRequest, HttpResponse, http::header};
use domain::CredentialKind;

use super::{Client, ClientDraft, ClientId, ClientRotation, ClientWithSecret};
use crate::{
    access::{Authorized, KeysAdmin},
    problem::ApiError,
    reads::{self, PageOf},
    request::{IdempotencyHeader, Json, OptionalJson, PathId, QueryParameters},
};

const KIND: CredentialKind = CredentialKind::Client;

/// Make an OAuth client, which fetches tokens at `/oauth2/token`. Its secret is shown this once.
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
    let minted = authorized
        .credentials
        .create(authorized.caller(), KIND, draft.0.into(), key.0)
        .await?;
    let location = format!("/api/oauth-clients/{}", minted.credential.id);
    Ok(HttpResponse::Created()
        .insert_header((header::LOCATION, location))
        .json(ClientWithSecret::from(minted)))
}

/// List OAuth clients, newest first, revoked and expired ones included.
#[utoipa::path(
    get, path = "/api/oauth-clients", operation_id = "list_oauth_clients", tag = "Access",
    params(
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Items of a page. Default 20."),
        ("cursor" = Option<String>, Query, pattern = "^[A-Za-z0-9_-]+$", description = "`nextCursor` of the page before."),
    ),
    responses((status = 200, description = "A page of clients.", body = PageOf<Client>)),
)]
pub async fn list_oauth_clients(
    authorized: Authorized<KeysAdmin>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let mut query = QueryParameters::read(&request, &["limit", "cursor"]);
    let limit = query.limit();
    let cursor = query.text("cursor").map(ToOwned::to_owned);
    query.finish()?;
    let page = authorized
        .credentials
        .list(authorized.caller(), KIND, cursor.as_deref(), limit)
        .await?;
    Ok(reads::page_outside_log::<_, Client>(&request, page))
}

/// Read an OAuth client.
#[utoipa::path(
    get, path = "/api/oauth-clients/{id}", operation_id = "get_oauth_client", tag = "Access",
    params(("id" = String, Path, description = "The client.")),
    responses((status = 200, description = "The client.", body = Client)),
)]
pub async fn get_oauth_client(
    authorized: Authorized<KeysAdmin>,
    id: PathId<ClientId>,
) -> Result<HttpResponse, ApiError> {
    let client = authorized
        .credentials
        .get(authorized.caller(), KIND, &id.0.0)
        .await?;
    Ok(HttpResponse::Ok().json(Client::from(client)))
}

/// Give an OAuth client a new secret, shown this once, or its new public keys. Keys published at
/// a `jwksUri` are rotated there.
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
    id: PathId<ClientId>,
    rotation: OptionalJson<ClientRotation>,
) -> Result<HttpResponse, ApiError> {
    let minted = authorized
        .credentials
        .rotate(authorized.caller(), KIND, &id.0.0, rotation.0.into())
        .await?;
    Ok(HttpResponse::Ok().json(ClientWithSecret::from(minted)))
}

/// Revoke an OAuth client: it gets no more tokens, and those it has are refused from now on.
#[utoipa::path(
    delete, path = "/api/oauth-clients/{id}", operation_id = "revoke_oauth_client", tag = "Access",
    params(("id" = String, Path, description = "The client.")),
    responses((status = 204, description = "It is refused.")),
)]
pub async fn revoke_oauth_client(
    authorized: Authorized<KeysAdmin>,
    id: PathId<ClientId>,
) -> Result<HttpResponse, ApiError> {
    authorized
        .credentials
        .revoke(authorized.caller(), KIND, &id.0.0)
        .await?;
    Ok(HttpResponse::NoContent().finish())
}
