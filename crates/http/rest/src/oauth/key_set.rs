//! `GET /.well-known/jwks.json`.

use actix_web::{HttpResponse, http::header, web::Data};
use kit::reads::PUBLIC;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::RestState;

/// A JWK set (RFC 7517).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KeySet)]
pub struct KeySetBody {
    /// The public keys with which tokens can be verified.
    #[schema(value_type = Vec<Object>)]
    keys: Vec<Value>,
}

/// Read the public keys that verify the access tokens of this service.
#[utoipa::path(
    get, path = "/.well-known/jwks.json", operation_id = "get_jwks", tag = "OAuth",
    responses((status = 200, description = "The keys.", body = KeySetBody)),
)]
pub async fn get_jwks(state: Data<RestState>) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, PUBLIC))
        .json(KeySetBody {
            keys: state.oauth.published_keys(),
        })
}
