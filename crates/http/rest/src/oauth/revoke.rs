//! `POST /oauth2/revoke`.

use actix_web::{HttpResponse, web::Data};
use kit::problem::oauth::{OAuthErrorResponse, OAuthErrors};
use utoipa::ToSchema;

use super::{ClientForm, OAuthRequest};
use crate::RestState;

/// A request about a token. The client may also authenticate with `Authorization: Basic`.
#[derive(ToSchema)]
#[schema(as = AboutToken)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct TokenReferenceForm {
    /// The token.
    token: String,
    /// The type of the token; only one type exists.
    #[schema(nullable = false)]
    token_type_hint: Option<String>,
    #[serde(flatten)]
    client: ClientForm,
}

/// Revoke an access token of the client (RFC 7009). An invalid token counts as revoked.
#[utoipa::path(
    post, path = "/oauth2/revoke", operation_id = "revoke_token", tag = "OAuth",
    request_body(
        content = TokenReferenceForm, content_type = "application/x-www-form-urlencoded",
        example = json!({
            "token": "eyJhbGciOiJFUzI1NiJ9.…", "client_id": "3mP0aZ9kQx1T",
            "client_secret": "ags_3mP0aZ9kQx1T_…",
        }),
    ),
    responses(
        OAuthErrors,
        (status = 200, description = "The token is revoked. Every node rejects it within a second."),
        (status = 400, description = "The request violates OAuth, or the token belongs to another client."),
    ),
)]
pub async fn revoke_token(
    mut request: OAuthRequest,
    state: Data<RestState>,
) -> Result<HttpResponse, OAuthErrorResponse> {
    let token = request.take("token");
    state
        .oauth
        .revoke(&request.credentials, token.as_deref())
        .await?;
    Ok(HttpResponse::Ok().finish())
}
