//! The operations on keys and on OAuth clients.

use access::Rotation;
use actix_web::{HttpRequest, HttpResponse};
use domain::{CredentialDraft, Page};
use kit::{
    auth::{Authorized, KeysAdmin},
    problem::ApiError,
    reads,
    request::{IdempotencyHeader, PathId, QueryParameters, created_response, mark_replayed},
};
use serde_json::Value;

use super::{CredentialPathId, view::View};

type HandlerResult = Result<HttpResponse, ApiError>;

pub(super) async fn create<V: View>(
    authorized: Authorized<KeysAdmin>,
    key: IdempotencyHeader,
    draft: impl Into<CredentialDraft>,
) -> HandlerResult {
    let created = authorized
        .credentials
        .create(authorized.caller(), V::KIND, draft.into(), key.0)
        .await?;
    let path = format!("{}/{}", V::PATH, created.value.credential.id);
    Ok(created_response(path, created.is_replayed).json(V::from_issued(created.value)?))
}

pub(super) async fn list<V: View>(
    authorized: Authorized<KeysAdmin>,
    request: HttpRequest,
) -> HandlerResult {
    let mut query = QueryParameters::read(&request, &["limit", "cursor"]);
    let limit = query.limit();
    let cursor = query.text("cursor").map(ToOwned::to_owned);
    query.finish()?;
    let (page, next_cursor) = authorized
        .credentials
        .list(authorized.caller(), V::KIND, cursor.as_deref(), limit)
        .await?;
    let items: Result<Vec<V>, ApiError> = page.items.into_iter().map(V::from_stored).collect();
    let page = Page {
        items: items?,
        has_more: page.has_more,
    };
    Ok(reads::page_outside_log(&request, (page, next_cursor)))
}

pub(super) async fn get<V: View>(
    authorized: Authorized<KeysAdmin>,
    id: PathId<CredentialPathId<V>>,
) -> HandlerResult {
    let found = authorized
        .credentials
        .get(authorized.caller(), V::KIND, &id.0.id)
        .await?;
    Ok(HttpResponse::Ok().json(V::from_stored(found)?))
}

pub(super) async fn patch<V: View>(
    authorized: Authorized<KeysAdmin>,
    id: PathId<CredentialPathId<V>>,
    patch: &Value,
) -> HandlerResult {
    let changed = authorized
        .credentials
        .patch(authorized.caller(), V::KIND, &id.0.id, patch)
        .await?;
    Ok(HttpResponse::Ok().json(V::from_stored(changed)?))
}

pub(super) async fn rotate<V: View>(
    authorized: Authorized<KeysAdmin>,
    key: IdempotencyHeader,
    id: PathId<CredentialPathId<V>>,
    rotation: impl Into<Rotation>,
) -> HandlerResult {
    let rotated = authorized
        .credentials
        .rotate(
            authorized.caller(),
            V::KIND,
            &id.0.id,
            rotation.into(),
            key.0,
        )
        .await?;
    let response = HttpResponse::Ok().json(V::from_issued(rotated.value)?);
    mark_replayed(Ok(response), rotated.is_replayed)
}

pub(super) async fn revoke<V: View>(
    authorized: Authorized<KeysAdmin>,
    id: PathId<CredentialPathId<V>>,
) -> HandlerResult {
    authorized
        .credentials
        .revoke(authorized.caller(), V::KIND, &id.0.id)
        .await?;
    Ok(HttpResponse::NoContent().finish())
}
