//! JSON bodies.

use std::{num::NonZero, sync::LazyLock, thread::available_parallelism};

use actix_web::{
    FromRequest, HttpRequest,
    dev::Payload,
    http::header,
    web::{Bytes, Data},
};
use domain::ProblemCode;
use futures::{FutureExt, future::LocalBoxFuture};
use ports::BoxError;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::{sync::Semaphore, task::spawn_blocking};

use crate::{body, problem::ApiError, state::ApiState};

/// Longest body, in bytes, that is checked on the request's thread: the worst takes some
/// milliseconds.
const INLINE_BYTES: usize = 16 * 1024;

/// Half of the cores: as many longer bodies are checked at a time.
static CHECKS: LazyLock<Semaphore> = LazyLock::new(|| {
    let cores = available_parallelism().map_or(1, NonZero::get);
    Semaphore::new((cores / 2).max(1))
});

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
            let (bytes, state) = received.await?;
            let value = check(bytes, T::SCHEMA, state).await?;
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
            let (bytes, state) = received.await?;
            if bytes.is_empty() {
                return Ok(Self(T::default()));
            }
            checked?;
            let value = check(bytes, T::SCHEMA, state).await?;
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
            let (bytes, state) = received.await?;
            Ok(Self {
                value: check(bytes, T::SCHEMA, state).await?,
                target: std::marker::PhantomData,
            })
        }
        .boxed_local()
    }
}

/// Reads and checks a body; a long one beside the request threads, which serve other callers
/// meanwhile.
async fn check(
    bytes: Bytes,
    schema: &'static str,
    state: Data<ApiState>,
) -> Result<Value, ApiError> {
    if bytes.len() <= INLINE_BYTES {
        return Ok(body::parse_value(&bytes, schema, &state.schemas)?);
    }
    let internal = |error: BoxError| ApiError::new(ProblemCode::Internal).because(error);
    let permit = CHECKS.acquire().await.map_err(|it| internal(it.into()))?;
    let checked = spawn_blocking(move || {
        let checked = body::parse_value(&bytes, schema, &state.schemas);
        drop(permit);
        checked
    });
    Ok(checked.await.map_err(|it| internal(it.into()))??)
}

fn receive(
    request: &HttpRequest,
    payload: &mut Payload,
    media_types: &[&str],
) -> LocalBoxFuture<'static, Result<(Bytes, Data<ApiState>), ApiError>> {
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
) -> LocalBoxFuture<'static, Result<(Bytes, Data<ApiState>), ApiError>> {
    let state = request.app_data::<Data<ApiState>>().cloned();
    // The layer in front has taken the whole body in: these bytes are there already.
    let body = Bytes::from_request(request, payload);
    async move {
        let state = state.ok_or(ApiError::new(ProblemCode::Internal))?;
        let bytes = body.await.map_err(|error| {
            ApiError::new(ProblemCode::MalformedJson).because(error.to_string())
        })?;
        Ok((bytes, state))
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
