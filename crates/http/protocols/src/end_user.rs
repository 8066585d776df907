//! The user in whose name a client of a protocol acts.

use std::{
    future::{Ready, ready},
    sync::Arc,
};

use access::AuthContext;
use actix_web::{FromRequest, HttpMessage as _, HttpRequest, dev::Payload, web::Data};
use domain::{ProblemCode, Sizes};
use kit::{auth::X_USER_ID, problem::ApiError, state::HttpState};

/// The user of a request: that of the credential or, for API keys and OAuth clients, that of the
/// header `X-User-Id`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndUser(pub Option<String>);

impl FromRequest for EndUser {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(end_user(request))
    }
}

impl EndUser {
    /// Returns the error of a request that names several users.
    pub fn named_twice() -> ApiError {
        ApiError::header("X-User-Id", "must be sent at most once")
    }

    /// Returns the user of a request on a socket of this user: the user of the socket or, if it has
    /// none, the one that the request names. The user of a credential is never replaced, and neither
    /// is one that a backend has named when it opened the socket for a page.
    pub fn on_socket(
        &self,
        is_of_credential: bool,
        named: Option<&str>,
        sizes: &Sizes,
    ) -> Result<Self, ApiError> {
        match (&self.0, named) {
            (Some(_), _) if is_of_credential => Ok(self.clone()),
            (Some(user), Some(named)) if user != named => {
                let detail = "must be that of the request that opened the socket";
                Err(ApiError::header("X-User-Id", detail))
            }
            (Some(_), _) => Ok(self.clone()),
            (None, Some(named)) => Ok(Self(Some(check(Some(named), sizes)?))),
            (None, None) => Ok(Self(None)),
        }
    }
}

fn end_user(request: &HttpRequest) -> Result<EndUser, ApiError> {
    let auth_context = request.extensions().get::<Arc<AuthContext>>().cloned();
    let own = auth_context.and_then(|it| it.principal.user_id.clone());
    if own.is_some() {
        return Ok(EndUser(own));
    }
    let mut values = request.headers().get_all(&X_USER_ID);
    let (Some(value), None) = (values.next(), values.next()) else {
        if request.headers().contains_key(&X_USER_ID) {
            return Err(EndUser::named_twice());
        }
        return Ok(EndUser(None));
    };
    let state = request
        .app_data::<Data<HttpState>>()
        .ok_or(ApiError::new(ProblemCode::Internal))?;
    let text = std::str::from_utf8(value.as_bytes()).ok();
    Ok(EndUser(Some(check(text, &state.bodies.sizes)?)))
}

/// Checks the name of a user; `None` is a text that is not UTF-8.
fn check(text: Option<&str>, sizes: &Sizes) -> Result<String, ApiError> {
    let max = sizes.user_id_characters as usize;
    let text = text.filter(|text| {
        let has_length = (1..=max).contains(&text.chars().count());
        has_length && !text.chars().any(char::is_control)
    });
    let detail = || format!("must be 1 to {max} characters of UTF-8 without control characters");
    let text = text.ok_or_else(|| ApiError::header("X-User-Id", detail()))?;
    Ok(text.to_owned())
}
