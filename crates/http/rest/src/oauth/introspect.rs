//! `POST /oauth2/introspect`.

use access::tokens::{OwnToken, unix_seconds};
use actix_web::{HttpResponse, web::Data};
use domain::{AgentId, AgentReach};
use kit::problem::oauth::{OAuthErrorResponse, OAuthErrors};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{OAuthRequest, revoke::TokenReferenceForm};
use crate::RestState;

/// The result of an introspection.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum IntrospectionBody {
    /// The token is active.
    Active(ActiveToken),
    /// The token is not active; nothing else is disclosed.
    Inactive(InactiveToken),
}

/// A token that is not active.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NoToken)]
#[serde(deny_unknown_fields)]
pub struct InactiveToken {
    /// Always false.
    active: bool,
}

/// An active token.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = GoodToken)]
pub struct ActiveToken {
    /// Always true.
    active: bool,
    /// Its scopes, separated by spaces.
    scope: String,
    /// The client that it was issued to, or the key or client that issued it to a user.
    client_id: String,
    /// The same as `client_id`, or `user:<userId>`.
    sub: String,
    /// The type of the token.
    #[schema(value_type = String)]
    token_type: &'static str,
    /// The time at which it expires, in seconds since 1970.
    exp: i64,
    /// The time at which it was issued, in seconds since 1970.
    iat: i64,
    /// The issuer: this service.
    iss: String,
    /// The audience: this service.
    aud: String,
    /// Its id.
    #[schema(value_type = String)]
    jti: Uuid,
    /// The only agents that it can reach; absent for all.
    #[serde(skip_serializing_if = "AgentReach::is_all")]
    #[schema(value_type = Option<Vec<AgentId>>, nullable = false)]
    agent_ids: AgentReach,
}

impl ActiveToken {
    fn new(token: &OwnToken, issuer: &str) -> Self {
        let credential = token.credential.id.to_string();
        Self {
            active: true,
            scope: token.scopes.joined(" "),
            client_id: credential.clone(),
            sub: match &token.user {
                Some(_) => token.principal().as_str().to_owned(),
                None => credential,
            },
            token_type: "Bearer",
            exp: unix_seconds(token.ends_at),
            iat: token.issued_at,
            iss: issuer.to_owned(),
            aud: issuer.to_owned(),
            jti: token.id,
            agent_ids: token.agents().clone(),
        }
    }
}

/// Check an access token (RFC 7662). Tokens of other tenants and issuers are only reported as not
/// active.
#[utoipa::path(
    post, path = "/oauth2/introspect", operation_id = "introspect_token", tag = "OAuth",
    request_body(
        content = TokenReferenceForm, content_type = "application/x-www-form-urlencoded",
        example = json!({
            "token": "eyJhbGciOiJFUzI1NiJ9.…", "client_id": "3mP0aZ9kQx1T",
            "client_secret": "ags_3mP0aZ9kQx1T_…",
        }),
    ),
    responses(
        (status = 200, description = "The properties of the token, if it is active.", body = IntrospectionBody),
        OAuthErrors,
    ),
)]
pub async fn introspect_token(
    mut request: OAuthRequest,
    state: Data<RestState>,
) -> Result<HttpResponse, OAuthErrorResponse> {
    let token = request.take("token");
    let found = state
        .oauth
        .introspect(&request.credentials, token.as_deref());
    let body = match found.await? {
        Some(token) => IntrospectionBody::Active(ActiveToken::new(&token, state.oauth.issuer())),
        None => IntrospectionBody::Inactive(InactiveToken { active: false }),
    };
    Ok(HttpResponse::Ok().json(body))
}
