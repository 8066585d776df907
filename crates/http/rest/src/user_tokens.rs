//! `/api/user-tokens`.

use access::{
    UserTokenError, UserTokenRequest,
    user_tokens::{DEFAULT_LIFETIME_SECONDS, MAX_ALLOWED_ORIGINS, MAX_LIFETIME_SECONDS},
};
use actix_web::{HttpRequest, HttpResponse, web::Data};
use domain::{AgentId, AgentReach, Scope, Scopes};
use kit::{
    auth::{Authorized, UserTokensIssue},
    problem::ApiError,
    request::{Json, JsonBody},
    state::HttpState,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{credentials::Origin, users::user_id};

const _: () = assert!(
    MAX_LIFETIME_SECONDS == 86_400 && MAX_ALLOWED_ORIGINS == 8,
    "the schema contains these limits"
);

/// A request for a token of a user.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UserTokenDraft {
    /// Your own id of the user, without control characters. It must not have the form of the user
    /// ids of a configured identity provider (`<issuer id>~…`).
    #[schema(
        min_length = 1,
        max_length = 320,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]*$",
        example = "grace"
    )]
    user_id: String,
    /// The scopes of the token: only scopes that the caller has. Default: those of `chat:write`,
    /// `conversations:read`, `conversations:write` and `events:read` that the caller has.
    #[serde(default)]
    #[schema(value_type = Option<Vec<UserScope>>, min_items = 1, nullable = false)]
    scopes: Option<Scopes>,
    /// The lifetime in seconds. It is shortened to that of the caller's key or client. Default:
    /// 3600.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 86_400, nullable = false)]
    expires_in: Option<u32>,
    /// The only browser origins that may use the token. If the caller's key has `allowedOrigins`, a
    /// selection of them. Default: those of the key, otherwise any.
    #[serde(default)]
    #[schema(value_type = Vec<Origin>, max_items = 8)]
    allowed_origins: Vec<String>,
    /// The only agents that the token can reach: to it, others do not exist. Agents of the caller. Default: those of
    /// the caller, usually all.
    #[serde(default)]
    #[schema(value_type = Option<Vec<AgentId>>, min_items = 1, max_items = 50, nullable = false)]
    agent_ids: AgentReach,
}

/// A scope that tokens of users can have.
pub struct UserScope;

impl utoipa::PartialSchema for UserScope {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::schema::{ObjectBuilder, Type};
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("A scope that tokens of users can have."))
            .enum_values(Some(Scopes::of_user_tokens().iter().map(Scope::as_str)))
            .build()
            .into()
    }
}

impl ToSchema for UserScope {}

impl JsonBody for UserTokenDraft {
    const SCHEMA: &'static str = "UserTokenDraft";
}

impl From<UserTokenDraft> for UserTokenRequest {
    fn from(draft: UserTokenDraft) -> Self {
        Self {
            user_id: draft.user_id,
            scopes: draft.scopes,
            expires_in: draft.expires_in.unwrap_or(DEFAULT_LIFETIME_SECONDS),
            allowed_origins: draft.allowed_origins,
            agents: draft.agent_ids,
        }
    }
}

/// A token of a user.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserToken {
    /// The token, to be sent as `Authorization: Bearer`.
    #[schema(example = "eyJhbGciOiJFUzI1NiJ9.…")]
    token: String,
    /// Seconds until the token expires.
    #[schema(example = 3600)]
    expires_in: i64,
}

/// Issue a token to a user, for frontends without an identity provider.
///
/// The user reads and writes only its own conversations, has its own rate limits, and appears in
/// events as `user:<userId>`. The token ends when it expires, when the tokens of the user are
/// withdrawn, and when the key or client that issued it is revoked or expires. A rotation does not
/// end it. The response is not stored, so there is no `Idempotency-Key`: a token that was not
/// received expires.
#[utoipa::path(
    post, path = "/api/user-tokens", operation_id = "create_user_token", tag = "Access",
    request_body(content = UserTokenDraft, example = json!({"userId": "grace"})),
    responses((status = 201, description = "The token.", body = UserToken)),
)]
pub async fn create_user_token(
    authorized: Authorized<UserTokensIssue>,
    draft: Json<UserTokenDraft>,
) -> Result<HttpResponse, ApiError> {
    let caller = authorized.auth_context();
    let issued = authorized.user_tokens.issue(caller, draft.0.into()).await?;
    Ok(HttpResponse::Created().json(UserToken {
        token: issued.text,
        expires_in: issued.expires_in,
    }))
}

/// Withdraw all tokens of a user that were issued so far.
///
/// Every process rejects them within one second, and closes the sockets and streams that were opened
/// with them. Tokens that are issued later are valid.
#[utoipa::path(
    delete, path = "/api/user-tokens", operation_id = "withdraw_user_tokens", tag = "Access",
    params(("userId" = String, Query, min_length = 1, max_length = 320, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$", description = "The user.")),
    responses((status = 204, description = "The tokens are withdrawn.")),
)]
pub async fn withdraw_user_tokens(
    authorized: Authorized<UserTokensIssue>,
    state: Data<HttpState>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let user_id = user_id(&request, &state)?;
    let withdrawn = authorized
        .user_tokens
        .withdraw(authorized.caller(), &user_id);
    withdrawn.await.map_err(withdrawal_error)?;
    Ok(HttpResponse::NoContent().finish())
}

/// Returns the response to a withdrawal that failed.
pub(crate) fn withdrawal_error(error: UserTokenError) -> ApiError {
    match error {
        UserTokenError::InvalidUserId(fault) => {
            ApiError::parameter("userId", fault.code, fault.detail)
        }
        error => error.into(),
    }
}
