//! Commands of sockets that a far region executes at home.

use std::mem;

use access::AuthContext;
use bytes::{Bytes, BytesMut};
use domain::{Problem, ProblemCode, Seq, Turn, TurnId};
use futures::TryStreamExt as _;
use http::{Method, Request, Response, header::CONTENT_TYPE};
use kit::{
    actions::ActionsRequest,
    chat::{ChatRequest, RESPOND_ASYNC},
    layers::X_REQUEST_ID,
    problem::ApiError,
    request::{IDEMPOTENCY_KEY, REPLAYED},
};
use ports::{Forwarding, HomeBody, HomeError};
use serde::de::DeserializeOwned;

use super::{FarNode, forward::problem_of_read};

/// A turn that was started or found at home.
pub struct HomeTurn {
    /// The turn.
    pub turn: Turn,
    /// True if an earlier chat with the same idempotency key started it.
    pub is_replayed: bool,
}

impl FarNode {
    /// Starts a chat at home, without waiting for its reply.
    pub async fn chat(
        &self,
        caller: &AuthContext,
        chat: &ChatRequest,
        idempotency_key: Option<&str>,
        request_id: String,
    ) -> Result<HomeTurn, ApiError> {
        let body = serde_json::to_vec(chat);
        let body = body.map_err(|error| ApiError::new(ProblemCode::Internal).with_source(error))?;
        let mut request = Request::post("/api/chat")
            .header(CONTENT_TYPE, "application/json")
            .header("prefer", RESPOND_ASYNC)
            .header(X_REQUEST_ID, request_id);
        if let Some(key) = idempotency_key {
            request = request.header(IDEMPOTENCY_KEY, key);
        }
        turn(self.send(caller, request.body(body.into())).await?).await
    }

    /// Cancels a turn at home.
    pub async fn cancel(
        &self,
        caller: &AuthContext,
        id: TurnId,
        request_id: String,
    ) -> Result<Turn, ApiError> {
        let request = Request::post(format!("/api/turns/{id}/cancel"));
        let request = request.header(X_REQUEST_ID, request_id);
        let cancelled = self.send(caller, request.body(Bytes::new())).await?;
        Ok(turn(cancelled).await?.turn)
    }

    /// Answers tool calls of a turn at home, without waiting for its reply.
    pub async fn answer(
        &self,
        caller: &AuthContext,
        id: TurnId,
        actions: &ActionsRequest,
        request_id: String,
    ) -> Result<Turn, ApiError> {
        let body = serde_json::to_vec(actions);
        let body = body.map_err(|error| ApiError::new(ProblemCode::Internal).with_source(error))?;
        let request = Request::post(format!("/api/turns/{id}/actions"))
            .header(CONTENT_TYPE, "application/json")
            .header("prefer", RESPOND_ASYNC)
            .header(X_REQUEST_ID, request_id);
        let answered = self.send(caller, request.body(body.into())).await?;
        Ok(turn(answered).await?.turn)
    }

    /// Returns whether the log at home contains a position.
    pub async fn has_position(
        &self,
        caller: &AuthContext,
        position: Seq,
    ) -> Result<bool, ApiError> {
        let path = format!("/api/events?since={}&limit=1", position.0);
        match succeeded(self.get(caller, &path).await?).await {
            Ok(_page) => Ok(true),
            Err(error) if error.code == ProblemCode::CursorExpired => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads a resource at home; `None` if it does not exist.
    pub async fn find<T: DeserializeOwned>(
        &self,
        caller: &AuthContext,
        path: &str,
    ) -> Result<Option<T>, ApiError> {
        match succeeded(self.get(caller, path).await?).await {
            Ok(response) => read(response).await.map(Some),
            Err(error) if error.code.status() == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn get(&self, caller: &AuthContext, path: &str) -> Result<Response<HomeBody>, ApiError> {
        let response = self.send(caller, Request::get(path).body(Bytes::new()));
        response.await.map_err(problem_of_read)
    }

    /// Sends a request of a caller to the home region.
    pub async fn send(
        &self,
        caller: &AuthContext,
        request: http::Result<Request<Bytes>>,
    ) -> Result<Response<HomeBody>, HomeError> {
        let request = request?;
        let has_key = request.headers().contains_key(IDEMPOTENCY_KEY);
        let forwarding = Forwarding {
            caller: Some(caller.to_claims()),
            client_address: None,
            is_repeatable: request.method() == Method::GET || has_key,
        };
        let response = self
            .home
            .send(request.map(Into::into), Some(forwarding))
            .await?;
        self.record_position(caller, &response);
        Ok(response)
    }
}

async fn turn(response: Response<HomeBody>) -> Result<HomeTurn, ApiError> {
    let is_replayed = is_replayed(&response);
    let turn = read(succeeded(response).await?).await?;
    Ok(HomeTurn { turn, is_replayed })
}

fn is_replayed(response: &Response<HomeBody>) -> bool {
    response.headers().contains_key(REPLAYED.0.as_str())
}

/// Converts a response that is a problem.
async fn succeeded(response: Response<HomeBody>) -> Result<Response<HomeBody>, ApiError> {
    if response.status().is_success() {
        return Ok(response);
    }
    let is_replayed = is_replayed(&response);
    let mut received: Problem = read(response).await?;
    Err(ApiError {
        detail: Some(mem::take(&mut received.detail)),
        faults: mem::take(&mut received.errors),
        is_replayed,
        ..received.into()
    })
}

/// Reads a body.
async fn read<T: DeserializeOwned>(response: Response<HomeBody>) -> Result<T, ApiError> {
    let body = response.into_body().try_collect::<BytesMut>().await?;
    serde_json::from_slice(&body)
        .map_err(|error| ApiError::new(ProblemCode::StoreUnavailable).with_source(error))
}
