//! JSON bodies.

use std::sync::Arc;

use access::AuthContext;
use actix_web::{
    FromRequest, HttpMessage as _, HttpRequest,
    dev::Payload,
    http::header,
    web::{Bytes, Data},
};
use application::{TakenMemory, chat::HeldMemory};
use cpu_pool::PoolError;
use domain::{AgentDraft, ConversationKey, FaultCode, ProblemCode};
use futures::{FutureExt, StreamExt as _, future::LocalBoxFuture};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    auth::unauthenticated,
    body::{self, BodyError},
    problem::ApiError,
    state::HttpState,
};

/// The maximum size in bytes of a body that is checked on the request's thread, where the slowest
/// one takes some milliseconds.
const MAX_INLINE_BYTES: usize = 16 * 1024;

/// A type of request bodies.
pub trait JsonBody {
    /// The component of the OpenAPI document that describes the body.
    const SCHEMA: &'static str;
}

impl JsonBody for AgentDraft {
    const SCHEMA: &'static str = "AgentDraft";
}

/// A body that was validated against its schema.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<T: JsonBody + DeserializeOwned + 'static> FromRequest for Json<T> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let received = receive_body(request, payload, &["application/json"]);
        async move {
            let received = received.await?;
            let value = received.validate(T::SCHEMA).await?;
            Ok(Self(body::typed(value, T::SCHEMA)?))
        }
        .boxed_local()
    }
}

/// A body that may be absent; then it has the default value.
#[derive(Debug)]
pub struct OptionalJson<T>(pub T);

impl<T: JsonBody + DeserializeOwned + Default + 'static> FromRequest for OptionalJson<T> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let checked = check_media_type(request, &["application/json"]);
        let received = read_bytes(request, payload);
        async move {
            let received = received.await?;
            if received.bytes.is_empty() {
                return Ok(Self(T::default()));
            }
            checked?;
            let value = received.validate(T::SCHEMA).await?;
            Ok(Self(body::typed(value, T::SCHEMA)?))
        }
        .boxed_local()
    }
}

/// A body of a protocol, which may have unknown members.
#[derive(Debug)]
pub struct LenientJson<T>(pub T);

impl<T: DeserializeOwned + 'static> FromRequest for LenientJson<T> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let received = receive_body(request, payload, &["application/json"]);
        async move { typed_leniently(received.await?.parse().await?).map(Self) }.boxed_local()
    }
}

/// A body of a protocol that may contain files.
pub struct JsonWithFiles<T> {
    /// The body.
    pub body: T,
    /// The memory of a long one, to be held as long as its files are in memory.
    pub memory: Option<HeldMemory>,
}

impl<T: DeserializeOwned + 'static> FromRequest for JsonWithFiles<T> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let received = receive_body(request, payload, &["application/json"]);
        let memory = request.extensions_mut().remove::<TakenMemory>();
        async move {
            let received = received.await?;
            let read = |bytes: &[u8], state: &HttpState| {
                let max = state.bodies.sizes.body_bytes as usize;
                body::read_with_files(bytes, max)?.without_schema()
            };
            let value = received.read(read).await?;
            Ok(Self {
                body: typed_leniently(value)?,
                memory: memory.map(|memory| Arc::new(memory) as HeldMemory),
            })
        }
        .boxed_local()
    }
}

/// Converts JSON of a protocol, which may have unknown members, into its type.
pub fn typed_leniently<T: DeserializeOwned>(value: Value) -> Result<T, ApiError> {
    // Structs can be read from lists as well.
    if !value.is_object() {
        return Err(ApiError::invalid(
            "",
            FaultCode::WrongType,
            "must be an object",
        ));
    }
    serde_json::from_value(value).map_err(|error| {
        ApiError::invalid("", FaultCode::BadFormat, error.to_string())
            .with_detail(format!("The body cannot be used: {error}."))
    })
}

/// Parses the member `pointer` of a body, which is a client's name of a conversation.
pub fn conversation_key(pointer: &str, text: &str) -> Result<ConversationKey, ApiError> {
    let key = text.parse::<ConversationKey>();
    key.map_err(|error| ApiError::invalid(pointer, FaultCode::BadFormat, error.to_string()))
}

/// A JSON merge patch (RFC 7396), validated against the patch schema of `T`.
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
        let received = receive_body(request, payload, &media_types);
        async move {
            let received = received.await?;
            Ok(Self {
                value: received.validate(T::SCHEMA).await?,
                target: std::marker::PhantomData,
            })
        }
        .boxed_local()
    }
}

/// A complete body, and what is needed to validate it.
struct ReceivedBody {
    bytes: Bytes,
    state: Data<HttpState>,
    auth_context: Arc<AuthContext>,
}

impl ReceivedBody {
    /// Parses and validates the body.
    async fn validate(self, schema: &'static str) -> Result<Value, ApiError> {
        self.read(move |bytes, state| body::parse_value(bytes, schema, &state.bodies.schemas))
            .await
    }

    /// Parses a body that has no schema.
    async fn parse(self) -> Result<Value, ApiError> {
        self.read(|bytes, _| body::read(bytes)?.without_schema())
            .await
    }

    /// Reads the body. A long one is processed by the CPU pool, so that the request threads can
    /// serve other callers meanwhile.
    async fn read(
        self,
        read: impl FnOnce(&[u8], &HttpState) -> Result<Value, BodyError> + Send + 'static,
    ) -> Result<Value, ApiError> {
        let Self {
            bytes,
            state,
            auth_context,
        } = self;
        if bytes.len() <= MAX_INLINE_BYTES {
            return Ok(read(&bytes, &state)?);
        }
        let pool = Arc::clone(&state.bodies.cpu_pool);
        let job = move || read(&bytes, &state);
        match pool.run_once(&auth_context.principal.tenant, job).await {
            Ok(checked) => Ok(checked?),
            Err(PoolError::Overloaded) => Err(ApiError::new(ProblemCode::Overloaded)),
            Err(error) => Err(ApiError::new(ProblemCode::Internal).with_source(error)),
        }
    }
}

fn receive_body(
    request: &HttpRequest,
    payload: &mut Payload,
    media_types: &[&str],
) -> LocalBoxFuture<'static, Result<ReceivedBody, ApiError>> {
    let checked = check_media_type(request, media_types);
    let received = read_bytes(request, payload);
    async move {
        checked?;
        received.await
    }
    .boxed_local()
}

fn read_bytes(
    request: &HttpRequest,
    payload: &mut Payload,
) -> LocalBoxFuture<'static, Result<ReceivedBody, ApiError>> {
    let state = request.app_data::<Data<HttpState>>().cloned();
    let auth_context = request.extensions().get::<Arc<AuthContext>>().cloned();
    // The layer `read_body` has already read the whole body, which is now one part.
    let mut payload = payload.take();
    async move {
        let state = state.ok_or(ApiError::new(ProblemCode::Internal))?;
        let auth_context = auth_context.ok_or_else(unauthenticated)?;
        let part = payload.next().await;
        let bytes = part.unwrap_or(Ok(Bytes::new())).map_err(|error| {
            ApiError::new(ProblemCode::MalformedJson).with_source(error.to_string())
        })?;
        Ok(ReceivedBody {
            bytes,
            state,
            auth_context,
        })
    }
    .boxed_local()
}

fn check_media_type(request: &HttpRequest, media_types: &[&str]) -> Result<(), ApiError> {
    let mut values = request.headers().get_all(header::CONTENT_TYPE);
    let media_type = match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().unwrap_or_default(),
        _ => "",
    };
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    if media_types
        .iter()
        .any(|accepted| essence.eq_ignore_ascii_case(accepted))
    {
        return Ok(());
    }
    let detail = format!("Send the body as {}.", media_types.join(" or "));
    Err(ApiError::new(ProblemCode::UnsupportedMediaType).with_detail(detail))
}
