//! Commands of sockets that a far region executes at home.

use access::AuthContext;
use bytes::{Bytes, BytesMut};
use domain::{ProblemCode, Seq, Turn, TurnId, problem::ProblemFault};
use futures::TryStreamExt as _;
use kit::{chat::ChatRequest, problem::ApiError, region::X_CONSISTENCY, request::REPLAYED};
use ports::{HomeRequest, HomeResponse};
use serde::{Deserialize, de::DeserializeOwned};

use super::{
    FarNode,
    forward::{header, parse_position, problem, problem_of_read},
};

/// A command of a socket, as a request to the home region.
pub struct HomeCommand {
    /// The HTTP method, in capitals.
    pub method: &'static str,
    /// The path and the query.
    pub path: String,
    /// The headers, with names in lower case, without `content-length`.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Bytes,
    /// True if the command has no other effect when it is sent twice.
    pub is_repeatable: bool,
}

/// A turn that was started or found at home.
pub struct HomeTurn {
    /// The turn.
    pub turn: Turn,
    /// True if an earlier chat with the same idempotency key started it.
    pub is_replayed: bool,
}

/// The members of a problem that are passed on.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReceivedProblem {
    code: ProblemCode,
    detail: Option<String>,
    #[serde(default)]
    errors: Vec<ProblemFault>,
    retry_after: Option<u32>,
}

impl FarNode {
    /// Starts a chat at home, without waiting for its reply.
    pub async fn chat(
        &self,
        caller: &AuthContext,
        request: &ChatRequest,
        idempotency_key: Option<&str>,
        request_id: String,
    ) -> Result<HomeTurn, ApiError> {
        let body = serde_json::to_vec(request);
        let body = body.map_err(|error| ApiError::new(ProblemCode::Internal).with_source(error))?;
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("prefer", "respond-async".to_owned()),
            ("x-request-id", request_id),
        ];
        headers.extend(idempotency_key.map(|key| ("idempotency-key", key.to_owned())));
        self.post(
            caller,
            "/api/chat",
            headers,
            body.into(),
            idempotency_key.is_some(),
        )
        .await
    }

    /// Cancels a turn at home.
    pub async fn cancel(
        &self,
        caller: &AuthContext,
        id: TurnId,
        request_id: String,
    ) -> Result<Turn, ApiError> {
        let path = format!("/api/turns/{id}/cancel");
        let headers = vec![("x-request-id", request_id)];
        let cancelled = self.post(caller, &path, headers, Bytes::new(), false).await;
        Ok(cancelled?.turn)
    }

    /// Returns whether the log at home contains a position.
    pub async fn has_position(
        &self,
        caller: &AuthContext,
        position: Seq,
    ) -> Result<bool, ApiError> {
        let path = format!("/api/events?since={}&limit=1", position.0);
        match succeeded(self.get(caller, path).await?).await {
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
        match succeeded(self.get(caller, path.to_owned()).await?).await {
            Ok(response) => read(response).await.map(Some),
            Err(error) if error.code.status() == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn get(&self, caller: &AuthContext, path: String) -> Result<HomeResponse, ApiError> {
        let request = HomeRequest {
            method: "GET".to_owned(),
            path,
            headers: Vec::new(),
            body: Bytes::new(),
            caller: Some(caller.to_ticket()),
            client_address: None,
            is_repeatable: true,
        };
        self.home.send(request).await.map_err(problem_of_read)
    }

    async fn post(
        &self,
        caller: &AuthContext,
        path: &str,
        headers: Vec<(&'static str, String)>,
        body: Bytes,
        is_repeatable: bool,
    ) -> Result<HomeTurn, ApiError> {
        let command = HomeCommand {
            method: "POST",
            path: path.to_owned(),
            headers,
            body,
            is_repeatable,
        };
        turn(self.send(caller, command).await?).await
    }

    /// Sends a command of a caller to the home region.
    pub async fn send(
        &self,
        caller: &AuthContext,
        command: HomeCommand,
    ) -> Result<HomeResponse, ApiError> {
        let mut headers = command.headers;
        headers.push(("content-length", command.body.len().to_string()));
        let headers = headers.into_iter();
        let request = HomeRequest {
            method: command.method.to_owned(),
            path: command.path,
            headers: headers
                .map(|(name, value)| (name.to_owned(), value.into()))
                .collect(),
            body: command.body,
            caller: Some(caller.to_ticket()),
            client_address: None,
            is_repeatable: command.is_repeatable,
        };
        let response = self.home.send(request).await.map_err(problem)?;
        let position = header(&response, X_CONSISTENCY.as_str());
        if let Some(position) = position.and_then(|value| parse_position(value)) {
            self.record_write(caller, position);
        }
        Ok(response)
    }
}

async fn turn(response: HomeResponse) -> Result<HomeTurn, ApiError> {
    let is_replayed = header(&response, REPLAYED.0.as_str()).is_some();
    let turn = read(succeeded(response).await?).await?;
    Ok(HomeTurn { turn, is_replayed })
}

/// Converts a response that is a problem.
async fn succeeded(response: HomeResponse) -> Result<HomeResponse, ApiError> {
    if (200..300).contains(&response.status) {
        return Ok(response);
    }
    let is_replayed = header(&response, REPLAYED.0.as_str()).is_some();
    let received: ReceivedProblem = read(response).await?;
    Err(ApiError {
        detail: received.detail.map(Into::into),
        faults: received.errors,
        retry_after: received.retry_after,
        is_replayed,
        ..ApiError::new(received.code)
    })
}

/// Reads a body.
async fn read<T: DeserializeOwned>(response: HomeResponse) -> Result<T, ApiError> {
    let body = response.body.try_collect::<BytesMut>();
    let body = body.await.map_err(problem)?;
    serde_json::from_slice(&body)
        .map_err(|error| ApiError::new(ProblemCode::StoreUnavailable).with_source(error))
}
