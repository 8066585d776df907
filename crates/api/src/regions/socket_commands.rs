//! Commands of sockets that a far region executes at home.

use access::AuthContext;
use bytes::{Bytes, BytesMut};
use domain::{ProblemCode, Turn, TurnId, problem::ProblemFault};
use futures::TryStreamExt as _;
use ports::{HomeRequest, HomeResponse};
use serde::Deserialize;

use super::{
    FarNode, X_CONSISTENCY,
    forward::{header, parse_position, problem},
};
use crate::{chat::ChatRequest, problem::ApiError, request::REPLAYED};

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

    async fn post(
        &self,
        caller: &AuthContext,
        path: &str,
        mut headers: Vec<(&str, String)>,
        body: Bytes,
        is_repeatable: bool,
    ) -> Result<HomeTurn, ApiError> {
        headers.push(("content-length", body.len().to_string()));
        let headers = headers.into_iter();
        let request = HomeRequest {
            method: "POST".to_owned(),
            path: path.to_owned(),
            headers: headers
                .map(|(name, value)| (name.to_owned(), value.into()))
                .collect(),
            body,
            caller: Some(caller.to_ticket()),
            client_address: None,
            is_repeatable,
        };
        let response = self.home.send(request).await.map_err(problem)?;
        let position = header(&response, X_CONSISTENCY.as_str());
        if let Some(position) = position.and_then(|value| parse_position(value)) {
            self.record_write(caller, position);
        }
        turn(response).await
    }
}

async fn turn(response: HomeResponse) -> Result<HomeTurn, ApiError> {
    let is_replayed = header(&response, REPLAYED.0.as_str()).is_some();
    let status = response.status;
    let body = response
        .body
        .try_collect::<BytesMut>()
        .await
        .map_err(problem)?;
    let unexpected =
        |error: serde_json::Error| ApiError::new(ProblemCode::StoreUnavailable).with_source(error);
    if (200..300).contains(&status) {
        let turn = serde_json::from_slice(&body).map_err(unexpected)?;
        return Ok(HomeTurn { turn, is_replayed });
    }
    let received: ReceivedProblem = serde_json::from_slice(&body).map_err(unexpected)?;
    Err(ApiError {
        detail: received.detail.map(Into::into),
        faults: received.errors,
        retry_after: received.retry_after,
        is_replayed,
        ..ApiError::new(received.code)
    })
}
