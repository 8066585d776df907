//! `POST /oauth2/token`.

use access::oauth_server::TokenRequest;
use actix_web::{HttpResponse, web::Data};
use kit::problem::oauth::{OAuthErrorResponse, OAuthErrors};
use serde::Serialize;
use utoipa::ToSchema;

use super::{ClientForm, OAuthRequest};
use crate::RestState;

/// A request for a token. The client may also authenticate with `Authorization: Basic`.
#[derive(ToSchema)]
#[schema(as = TokenRequest)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct TokenForm {
    /// Always `client_credentials`.
    #[schema(pattern = "^client_credentials$")]
    grant_type: String,
    /// The requested scopes, separated by spaces; all scopes of the client when absent.
    #[schema(nullable = false)]
    scope: Option<String>,
    /// The service that the token is for (RFC 8707): the public URL of this one.
    #[schema(nullable = false)]
    resource: Option<String>,
    #[serde(flatten)]
    client: ClientForm,
}

/// An access token.
#[derive(Debug, Serialize, ToSchema)]
pub struct TokenBody {
    /// The token, opaque to clients.
    access_token: String,
    /// The type of the token, which is sent in `Authorization: Bearer`.
    #[schema(value_type = String)]
    token_type: &'static str,
    /// The time in whole seconds until it expires.
    expires_in: i64,
    /// Its scopes, separated by spaces.
    scope: String,
}

/// Request an access token (RFC 6749, client credentials).
#[utoipa::path(
    post, path = "/oauth2/token", operation_id = "issue_token", tag = "OAuth",
    request_body(
        content = TokenForm, content_type = "application/x-www-form-urlencoded",
        example = json!({
            "grant_type": "client_credentials", "client_id": "3mP0aZ9kQx1T",
            "client_secret": "ags_3mP0aZ9kQx1T_…",
        }),
    ),
    responses(
        (status = 200, description = "A token.", body = TokenBody),
        OAuthErrors,
    ),
)]
pub async fn issue_token(
    mut request: OAuthRequest,
    state: Data<RestState>,
) -> Result<HttpResponse, OAuthErrorResponse> {
    let request_parameters = TokenRequest {
        grant_type: request.take("grant_type"),
        scope: request.take("scope"),
        resource: request.take("resource"),
    };
    let issued = state
        .oauth
        .token(&request.credentials, &request_parameters)
        .await?;
    Ok(HttpResponse::Ok().json(TokenBody {
        access_token: issued.text,
        token_type: "Bearer",
        expires_in: issued.expires_in,
        scope: issued.scopes.joined(" "),
    }))
}
