//! `/api/users`.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use domain::{ErasureId, FaultCode, Page, User, UserDraft};
use kit::{
    auth::{Authorized, UsersAdmin},
    problem::ApiError,
    reads::{self, PageOf},
    request::{Json, JsonBody, MergePatch, PagePermit, QueryParameters},
    state::HttpState,
};

use crate::user_tokens::withdrawal_error;

impl JsonBody for UserBody {
    const SCHEMA: &'static str = "UserDraft";
}

/// The content of a user.
#[derive(serde::Deserialize)]
#[serde(transparent)]
pub struct UserBody(UserDraft);

/// The schema of a merge patch of a user.
pub struct UserPatch;

impl JsonBody for UserPatch {
    const SCHEMA: &'static str = "UserDraftPatch";
}

/// List the users of whom something is stored, the one that was stored last first.
#[utoipa::path(
    get, path = "/api/users", operation_id = "list_users", tag = "Users",
    params(
        ("userId" = Option<String>, Query, min_length = 1, max_length = 320, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$", description = "Only this user."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Maximum number of items in the page. A page also ends at about 1 MiB. Default 20."),
        ("cursor" = Option<String>, Query, pattern = "^[A-Za-z0-9_-]+$", description = "`nextCursor` of the previous page."),
    ),
    responses((status = 200, description = "A page of users.", body = PageOf<User>)),
)]
pub async fn list_users(
    authorized: Authorized<UsersAdmin>,
    state: Data<HttpState>,
    _permit: PagePermit,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let mut query = QueryParameters::read(&request, &["userId", "limit", "cursor"]);
    let user_id = read_user_id(&mut query, &state);
    let limit = query.limit();
    let cursor = query.text("cursor").map(ToOwned::to_owned);
    query.finish()?;
    let (users, caller) = (&authorized.users, authorized.caller());
    let page = match user_id {
        Some(user_id) => {
            let found = users.find(caller, &user_id).await?;
            let items = found.iter().map(|user| User::clone(user)).collect();
            (Page::from_one_more(items, 1), None)
        }
        None => users.list(caller, cursor.as_deref(), limit).await?,
    };
    Ok(reads::page_outside_log(&request, page))
}

/// Store a user, or replace what is stored.
#[utoipa::path(
    put, path = "/api/users", operation_id = "put_user", tag = "Users",
    params(("userId" = String, Query, min_length = 1, max_length = 320, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$", description = "The user.")),
    request_body(content = UserDraft, example = json!({"name": "Ada", "context": "A customer since 2019, on the plan \"Pro\"."})),
    responses(
        (status = 200, description = "The user, of whom something was stored before.", body = User),
        (status = 201, description = "The user.", body = User),
    ),
)]
pub async fn put_user(
    authorized: Authorized<UsersAdmin>,
    state: Data<HttpState>,
    request: HttpRequest,
    body: Json<UserBody>,
) -> Result<HttpResponse, ApiError> {
    let user_id = user_id(&request, &state)?;
    let (users, caller) = (&authorized.users, authorized.caller());
    let saved = users.put(caller, user_id, body.0.0).await?;
    let mut response = if saved.is_new {
        HttpResponse::Created()
    } else {
        HttpResponse::Ok()
    };
    Ok(response.json(saved.user))
}

/// Change what is stored about a user with a JSON merge patch (RFC 7396): absent members keep their
/// values, `null` removes a member.
#[utoipa::path(
    patch, path = "/api/users", operation_id = "patch_user", tag = "Users",
    params(("userId" = String, Query, min_length = 1, max_length = 320, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$", description = "The user.")),
    request_body(
        content(
            (serde_json::Value = "application/merge-patch+json", example = json!({"name": "Ada"})),
            (serde_json::Value = "application/json", example = json!({"context": null})),
        ),
    ),
    responses(
        (status = 200, description = "The changed user.", body = User),
        (status = 404, description = "Nothing is stored about the user."),
    ),
)]
pub async fn patch_user(
    authorized: Authorized<UsersAdmin>,
    state: Data<HttpState>,
    request: HttpRequest,
    patch: MergePatch<UserPatch>,
) -> Result<HttpResponse, ApiError> {
    let user_id = user_id(&request, &state)?;
    let (users, caller) = (&authorized.users, authorized.caller());
    let changed = users.patch(caller, user_id, patch.value).await?;
    Ok(HttpResponse::Ok().json(changed))
}

/// An erasure that has begun.
#[derive(serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BegunErasure {
    /// The id that the event `user.erased` contains once the erasure has ended.
    erasure_id: ErasureId,
}

/// Erase everything about a user.
///
/// The tokens of the user are withdrawn and what is stored about it is deleted before the response. Its
/// conversations are deleted within seconds, with an event `conversation.deleted` each; the event `user.erased` is
/// the last one. No text of them is left in the store after `ERASURE__WITHIN`.
#[utoipa::path(
    delete, path = "/api/users", operation_id = "erase_user", tag = "Users",
    params(("userId" = String, Query, min_length = 1, max_length = 320, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$", description = "The user.")),
    responses((status = 202, description = "The erasure has begun.", body = BegunErasure)),
)]
pub async fn erase_user(
    authorized: Authorized<UsersAdmin>,
    state: Data<HttpState>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let user_id = user_id(&request, &state)?;
    let caller = authorized.caller();
    let withdrawn = authorized.user_tokens.withdraw_of_erased(caller, &user_id);
    withdrawn.await.map_err(withdrawal_error)?;
    let erasure_id = authorized.users.erase(caller, user_id).await?;
    Ok(HttpResponse::Accepted().json(BegunErasure { erasure_id }))
}

/// Reads the required parameter `userId`.
pub(crate) fn user_id(request: &HttpRequest, state: &HttpState) -> Result<String, ApiError> {
    let mut query = QueryParameters::read(request, &["userId"]);
    let user_id = read_user_id(&mut query, state);
    if query.text("userId").is_none() {
        query.add_fault("userId", FaultCode::Required, "required");
    }
    query.finish()?;
    Ok(user_id.unwrap_or_default())
}

fn read_user_id(query: &mut QueryParameters, state: &HttpState) -> Option<String> {
    let user_id = query.bounded_text("userId", state.bodies.sizes.user_id_characters)?;
    if user_id.contains(char::is_control) {
        query.add_fault("userId", FaultCode::BadCharacter, "no control characters");
    }
    Some(user_id)
}
