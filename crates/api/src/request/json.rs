//! JSON bodies.

use std::sync::Arc;

use actix_web::{
    FromRequest, HttpMessage as _, HttpRequest,
    dev::Payload,
    http::header,
    web::{Bytes, Data},
};
use application::access::Entrant;
use cpu_pool::PoolError;
use domain::ProblemCode;
use futures::{FutureExt, future::LocalBoxFuture};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{access::unauthenticated, body, problem::ApiError, state::ApiState};

/// Longest body, in bytes, that is checked on the request's thread: the worst takes some
/// milliseconds.
const INLINE_BYTES: usize = 16 * 1024;

/// A type that is a request's body.
pub trait JsonBody {
    /// The component of the OpenAPI document that describes it.
    const SCHEMA: &'static str;
}

/// A body that was checked against its schema.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<T: JsonBody + DeserializeOwned + 'static> FromRequest for Json<T> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let received = receive(request, payload, &["application/json"]);
        async move {
            let received = received.await?;
            let value = received.check(T::SCHEMA).await?;
            Ok(Self(body::typed(value, T::SCHEMA)?))
        }
        .boxed_local()
    }
}

/// A body that may be left out, and then says nothing.
#[derive(Debug)]
pub struct OptionalJson<T>(pub T);

impl<T: JsonBody + DeserializeOwned + Default + 'static> FromRequest for OptionalJson<T> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let checked = check_media_type(request, &["application/json"]);
        let received = whole_body(request, payload);
        async move {
            let received = received.await?;
            if received.bytes.is_empty() {
                return Ok(Self(T::default()));
            }
            checked?;
            let value = received.check(T::SCHEMA).await?;
            Ok(Self(body::typed(value, T::SCHEMA)?))
        }
        .boxed_local()
    }
}

/// A JSON merge patch (RFC 7396), checked against the patch schema of what it changes.
#[derive(Debug)]
pub struct MergePatch<T> {
    /// The patch.
    pub value: Value,
    target: std::marker::PhantomData<T>,
}

impl<T: JsonBody + 'static> FromRequest for MergePatch<T> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let media_types = ["application/merge-patch+json", "application/json"];
        let received = receive(request, payload, &media_types);
        async move {
            let received = received.await?;
            Ok(Self {
                value: received.check(T::SCHEMA).await?,
                target: std::marker::PhantomData,
            })
        }
        .boxed_local()
    }
}

/// A whole body, and what checks it.
struct Received {
    bytes: Bytes,
    state: Data<ApiState>,
    entrant: Arc<Entrant>,
}

impl Received {
    /// Reads and checks the body; a long one off the request threads, which serve other callers
    /// meanwhile.
    async fn check(self, schema: &'static str) -> Result<Value, ApiError> {
        let Self {
            bytes,
            state,
            entrant,
        } = self;
        if bytes.len() <= INLINE_BYTES {
            return Ok(body::parse_value(&bytes, schema, &state.schemas)?);
        }
        let pool = Arc::clone(&state.cpu_pool);
        let job = move || body::parse_value(&bytes, schema, &state.schemas);
        match pool.run_once(&entrant.principal.tenant, job).await {
            Ok(checked) => Ok(checked?),
            Err(PoolError::Overloaded) => Err(ApiError::new(ProblemCode::Overloaded)),
            Err(error) => Err(ApiError::new(ProblemCode::Internal).because(error)),
        }
    }
}

fn receive(
    request: &HttpRequest,
    payload: &mut Payload,
    media_types: &[&str],
) -> LocalBoxFuture<'static, Result<Received, ApiError>> {
    let checked = check_media_type(request, media_types);
    let received = whole_body(request, payload);
    async move {
        checked?;
        received.await
    }
    .boxed_local()
}

fn whole_body(
    request: &HttpRequest,
    payload: &mut Payload,
) -> LocalBoxFuture<'static, Result<Received, ApiError>> {
    let state = request.app_data::<Data<ApiState>>().cloned();
    let entrant = request.extensions().get::<Arc<Entrant>>().cloned();
    // The layer in front has read the whole body: these bytes are there already.
    let body = Bytes::from_request(request, payload);
    async move {
        let state = state.ok_or(ApiError::new(ProblemCode::Internal))?;
        let entrant = entrant.ok_or_else(unauthenticated)?;
        let bytes = body.await.map_err(|error| {
            ApiError::new(ProblemCode::MalformedJson).because(error.to_string())
        })?;
        Ok(Received {
            bytes,
            state,
            entrant,
        })
    }
    .boxed_local()
}

fn check_media_type(request: &HttpRequest, media_types: &[&str]) -> Result<(), ApiError> {
    let mut values = request.headers().get_all(header::CONTENT_TYPE);
    let named = match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().unwrap_or_default(),
        _ => "",
    };
    let essence = named.split(';').next().unwrap_or_default().trim();
    if media_types
        .iter()
        .any(|accepted| essence.eq_ignore_ascii_case(accepted))
    {
        return Ok(());
    }
    let detail = format!("the body must be {}", media_types.join(" or "));
    Err(ApiError::new(ProblemCode::UnsupportedMediaType).with_detail(detail))
}
