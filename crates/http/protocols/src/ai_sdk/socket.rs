//! `GET /ai-sdk/agents/{id}/ws`: chats over a WebSocket.

use std::{collections::HashMap, sync::Arc, time::Duration};

use actix_web::{
    HttpRequest, HttpResponse,
    web::{Data, Payload},
};
use actix_ws::{AggregatedMessage, AggregatedMessageStream, CloseReason};
use domain::{AgentId, FaultCode, ProblemCode};
use futures::StreamExt as _;
use kit::{
    auth::{Authorized, SUBPROTOCOL, SealedServices, TurnsRead, check_socket_request, open_stream},
    problem::ApiError,
    request::PathId,
    state::HttpState,
};
use ports::StreamSlot;
use regions::Regions;
use socket::{CloseCode, MAX_MESSAGE_BYTES, close_code_for, guard_payload};
use tokio::{task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    frames::{ClientFrame, ClientRequest},
    socket_request::{SocketContext, SocketRequest},
};
use crate::EndUser;

/// The maximum number of requests that are answered at the same time.
const MAX_REQUESTS: usize = 32;
/// The maximum number of rejections that a client has not read.
const MAX_REJECTIONS: usize = 32;
/// The time between two pings.
const PING_INTERVAL: Duration = Duration::from_secs(25);
/// The time without a frame after which the connection is considered lost.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// Opens a socket.
pub(super) async fn open_socket(
    authorized: Authorized<TurnsRead>,
    state: Data<HttpState>,
    regions: Data<Regions>,
    agent: PathId<AgentId>,
    user: EndUser,
    request: HttpRequest,
    payload: Payload,
) -> Result<HttpResponse, ApiError> {
    check_socket_request(&request, &state)?;
    let services = request
        .app_data::<SealedServices>()
        .cloned()
        .ok_or(ApiError::new(ProblemCode::Internal))?;
    let slot = open_stream(&state.rates.principals, authorized.auth_context()).await?;
    let failed = |error: actix_web::Error| {
        ApiError::new(ProblemCode::Internal).with_source(error.to_string())
    };
    let payload = guard_payload(&request, payload).await.map_err(failed)?;
    let opened = actix_ws::handle_with_protocols(&request, payload, &[SUBPROTOCOL]);
    let (response, session, messages) = opened.map_err(failed)?;
    let max_bytes = usize::try_from(MAX_MESSAGE_BYTES).unwrap_or(usize::MAX);
    let socket = Socket {
        context: SocketContext {
            state,
            regions,
            services,
            auth_context: Arc::clone(authorized.auth_context()),
            agent_id: agent.0,
            user,
            session,
        },
        messages: messages
            .aggregate_continuations()
            .max_continuation_size(max_bytes),
        requests: HashMap::new(),
        tasks: JoinSet::new(),
        _slot: slot,
    };
    actix_web::rt::spawn(socket.run());
    Ok(response)
}

/// An open socket.
struct Socket {
    context: SocketContext,
    messages: AggregatedMessageStream,
    /// The requests that are being answered, by the client's ids.
    requests: HashMap<String, CancellationToken>,
    /// The tasks that answer. They return the ids of the requests that end with them; none if the id
    /// is that of another request.
    tasks: JoinSet<Option<String>>,
    _slot: Option<StreamSlot>,
}

impl Socket {
    /// Serves the socket until it ends. Turns continue without it.
    async fn run(mut self) {
        let code = self.serve().await;
        self.tasks.abort_all();
        if let Some(code) = code {
            let reason = CloseReason {
                code: code.number().into(),
                description: Some(code.reason().to_owned()),
            };
            // A client that does not read is not waited for.
            let closing = self.context.session.close(Some(reason));
            let _ = tokio::time::timeout(Duration::from_secs(1), closing).await;
        }
    }

    /// Returns the reason for which the server closes the socket; `None` if the client has closed it.
    async fn serve(&mut self) -> Option<CloseCode> {
        let SocketContext {
            state,
            auth_context,
            ..
        } = &self.context;
        let auth_context = Arc::clone(auth_context);
        let mut watch = state.authenticator.watch_credential(auth_context);
        let closing = state.closing.clone();
        let mut pings = tokio::time::interval(PING_INTERVAL);
        let mut last_frame_at = Instant::now();
        loop {
            tokio::select! {
                // Before the next frame, whose id may be that of a request that has just ended.
                biased;
                Some(ended) = self.tasks.join_next() => {
                    if let Ok(Some(id)) = ended {
                        self.requests.remove(&id);
                    }
                }
                end = watch.ended() => return Some(end.into()),
                () = closing.cancelled() => return Some(CloseCode::Draining),
                _ = pings.tick() => {
                    if last_frame_at.elapsed() > IDLE_TIMEOUT {
                        return Some(CloseCode::NoPong);
                    }
                    self.context.session.ping(b"").await.ok()?;
                }
                // A client that does not read its rejections is not read either.
                message = self.messages.next(), if self.tasks.len() < MAX_REQUESTS + MAX_REJECTIONS => {
                    last_frame_at = Instant::now();
                    if let Err(code) = self.handle(message?).await {
                        return code;
                    }
                }
            }
        }
    }

    async fn handle(
        &mut self,
        message: Result<AggregatedMessage, actix_ws::ProtocolError>,
    ) -> Result<(), Option<CloseCode>> {
        let message = message.map_err(|error| close_code_for(&error))?;
        match message {
            AggregatedMessage::Text(text) => self.accept(&text),
            AggregatedMessage::Binary(_) => Err(Some(CloseCode::BinaryFrame)),
            AggregatedMessage::Ping(data) => {
                let answered = self.context.session.pong(&data).await;
                answered.map_err(|_closed| None)
            }
            AggregatedMessage::Pong(_) => Ok(()),
            AggregatedMessage::Close(_) => Err(Some(CloseCode::Normal)),
        }
    }

    /// Starts to answer a request, or stops one.
    fn accept(&mut self, text: &str) -> Result<(), Option<CloseCode>> {
        let frame = ClientFrame::read(text).ok_or(Some(CloseCode::ProtocolError))?;
        let ClientFrame {
            request_id,
            request,
        } = frame;
        if matches!(request, Ok(ClientRequest::Abort {})) {
            if let Some(stopped) = self.requests.get(&request_id) {
                stopped.cancel();
            }
            return Ok(());
        }
        let is_open = self.requests.contains_key(&request_id);
        let stopped = CancellationToken::new();
        let answering = SocketRequest {
            context: self.context.clone(),
            id: request_id.clone(),
            stopped: stopped.clone(),
            named_users: Vec::new(),
        };
        let rejection = if is_open {
            let detail = "names a request that has not ended";
            ApiError::invalid("/requestId", FaultCode::NotCombinable, detail)
        } else if self.requests.len() >= MAX_REQUESTS {
            ApiError::new(ProblemCode::TooManyStreams)
        } else {
            self.requests.insert(request_id.clone(), stopped);
            self.tasks.spawn_local(async move {
                answering.answer(request).await;
                Some(request_id)
            });
            return Ok(());
        };
        self.tasks.spawn_local(async move {
            answering.answer(Err(rejection)).await;
            None
        });
        Ok(())
    }
}
