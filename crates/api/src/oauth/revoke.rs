//! `POST /oauth2/revoke`.

use actix_web::{HttpResponse, web::Data};
use utoipa::ToSchema;

use super::{ClientForm, OAuthRefusal, OAuthRequest, Refusals};
use crate::state::ApiState;

/// A token that something is asked about. The client may show its secret in `Authorization: Basic`
/// instead.
#[derive(ToSchema)]
#[schema(as = AboutToken)]
#[expect(dead_code, reason = "stands for its schema alone")]
pub struct AboutTokenForm {
    /// The token.
    token: String,
    /// What kind of token it is: there is one kind.
    #[schema(nullable = false)]
    token_type_hint: Option<String>,
    #[serde(flatten)]
    client: ClientForm,
}

/// Revoke an access token of the client's own (RFC 7009). What is no good token is taken for
/// revoked.
#[utoipa::path(
    post, path = "/oauth2/revoke", operation_id = "revoke_token", tag = "OAuth",
    request_body(
        content = AboutTokenForm, content_type = "application/x-www-form-urlencoded",
        example = json!({
            "token": "eyJhbGciOiJFUzI1NiJ9.…", "client_id": "3mP0aZ9kQx1T",
            "client_secret": "ags_3mP0aZ9kQx1T_…",
        }),
    ),
    responses(
        Refusals,
        (status = 200, description = "It is refused from now on, by every node within a second."),
        (status = 400, description = "The request is not as OAuth wants it, or the token is another client's."),
    ),
)]
pub async fn revoke_token(
    mut request: OAuthRequest,
    state: Data<ApiState>,
) -> Result<HttpResponse, OAuthRefusal> {
    let token = request.take("token");
    state.oauth.revoke(&request.shown, token.as_deref()).await?;
    Ok(HttpResponse::Ok().finish())
}
