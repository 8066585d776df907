//! `POST /oauth2/introspect`.

use actix_web::{HttpResponse, web::Data};
use application::access::server::{OwnToken, seconds};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{OAuthRefusal, OAuthRequest, Refusals, revoke::AboutTokenForm};
use crate::state::ApiState;

/// What a token is worth.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum IntrospectionBody {
    /// It is good.
    Good(GoodToken),
    /// Nothing, and nothing more is told.
    Nothing(NoToken),
}

/// No token that is good here.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NoToken {
    /// Always false.
    active: bool,
}

/// A good token.
#[derive(Debug, Serialize, ToSchema)]
pub struct GoodToken {
    /// Always true.
    active: bool,
    /// What it allows, separated by spaces.
    scope: String,
    /// The client that it was issued to.
    client_id: String,
    /// The same.
    sub: String,
    /// How it is sent.
    #[schema(value_type = String)]
    token_type: &'static str,
    /// When it ends, in seconds since 1970.
    exp: i64,
    /// When it was issued, in seconds since 1970.
    iat: i64,
    /// Who issued it: this service.
    iss: String,
    /// Whom it is for: this service.
    aud: String,
    /// Its id.
    #[schema(value_type = String)]
    jti: Uuid,
}

impl GoodToken {
    fn new(token: &OwnToken, issuer: &str) -> Self {
        let client = token.client.id.to_string();
        Self {
            active: true,
            scope: token.scopes.joined(" "),
            client_id: client.clone(),
            sub: client,
            token_type: "Bearer",
            exp: seconds(token.ends_at),
            iat: token.issued_at,
            iss: issuer.to_owned(),
            aud: issuer.to_owned(),
            jti: token.id,
        }
    }
}

/// Ask what an access token is worth (RFC 7662). Of tokens of other tenants and issuers nothing is
/// told but that they are not active here.
#[utoipa::path(
    post, path = "/oauth2/introspect", operation_id = "introspect_token", tag = "OAuth",
    request_body(
        content = AboutTokenForm, content_type = "application/x-www-form-urlencoded",
        example = json!({
            "token": "eyJhbGciOiJFUzI1NiJ9.…", "client_id": "3mP0aZ9kQx1T",
            "client_secret": "ags_3mP0aZ9kQx1T_…",
        }),
    ),
    responses(
        (status = 200, description = "What it is worth.", body = IntrospectionBody),
        Refusals,
    ),
)]
pub async fn introspect_token(
    mut request: OAuthRequest,
    state: Data<ApiState>,
) -> Result<HttpResponse, OAuthRefusal> {
    let token = request.take("token");
    let found = state.oauth.introspect(&request.shown, token.as_deref());
    let body = match found.await? {
        Some(token) => IntrospectionBody::Good(GoodToken::new(&token, state.oauth.issuer())),
        None => IntrospectionBody::Nothing(NoToken { active: false }),
    };
    Ok(HttpResponse::Ok().json(body))
}
