//! `GET /ai-sdk/agents/{id}/ws`: chats over a WebSocket.

use std::{collections::HashMap, sync::Arc};

use actix_web::{
    HttpRequest, HttpResponse,
    web::{Data, Payload},
};
use bytestring::ByteString;
use domain::{AgentId, FaultCode, ProblemCode};
use kit::{
    auth::{Authorized, SealedServices, TurnsRead, check_socket_request, open_stream},
    problem::ApiError,
    request::PathId,
    state::HttpState,
};
use ports::StreamSlot;
use regions::Regions;
use socket::{CloseCode, Connection, End, Incoming, SocketTimeouts};
use tokio::{sync::mpsc, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{
    frames::{ClientFrame, ClientRequest},
    socket_request::{SocketContext, SocketRequest},
};
use crate::EndUser;

/// The maximum number of requests that are answered at the same time.
const MAX_REQUESTS: usize = 32;

/// Opens a socket.
pub(super) async fn open_socket(
    authorized: Authorized<TurnsRead>,
    state: Data<HttpState>,
    timeouts: Data<SocketTimeouts>,
    agent: PathId<AgentId>,
    user: EndUser,
    request: HttpRequest,
    payload: Payload,
) -> Result<HttpResponse, ApiError> {
    check_socket_request(&request, &state)?;
    let services = request.app_data::<SealedServices>().cloned();
    let regions = request.app_data::<Data<Regions>>().cloned();
    let (Some(services), Some(regions)) = (services, regions) else {
        return Err(ProblemCode::Internal.into());
    };
    let slot = open_stream(&state.rates.principals, authorized.auth_context()).await?;
    let limits = (**timeouts, state.closing.clone());
    let (response, connection) = Connection::open(&request, payload, limits, true).await?;
    let socket = Socket {
        context: SocketContext {
            state,
            regions,
            services,
            auth_context: Arc::clone(authorized.auth_context()),
            agent_id: agent.0,
            user,
        },
        connection,
        requests: HashMap::new(),
        answering: JoinSet::new(),
        events: mpsc::channel(1),
        _slot: slot,
    };
    actix_web::rt::spawn(socket.run());
    Ok(response)
}

/// An open socket.
struct Socket {
    context: SocketContext,
    connection: Connection,
    /// The requests that are being answered, by the client's ids.
    requests: HashMap<String, CancellationToken>,
    /// The tasks that answer them.
    answering: JoinSet<()>,
    /// The events of the tasks. One event waits at a time: a task whose frames are not sent waits.
    events: (mpsc::Sender<RequestEvent>, mpsc::Receiver<RequestEvent>),
    _slot: Option<StreamSlot>,
}

/// An event of a request.
pub(super) enum RequestEvent {
    /// The next frame of its answer.
    Frame(ByteString),
    /// The request with this id has ended.
    Ended(String),
}

impl Socket {
    /// Serves the socket until it ends. Turns continue without it.
    async fn run(mut self) {
        let end = match self.serve().await {
            // Whatever the client gives as its reason.
            End::Closed(_) => End::Closed(Some(CloseCode::Normal.into())),
            end => end,
        };
        self.answering.abort_all();
        self.connection.close(end, None).await;
    }

    async fn serve(&mut self) -> End {
        let auth_context = Arc::clone(&self.context.auth_context);
        let authenticator = Arc::clone(&self.context.state.authenticator);
        let mut watch = authenticator.watch_credential(auth_context);
        loop {
            // A client that does not read its frames is not read either, and no more frames are taken
            // from its requests: the text of a turn that arrives meanwhile is sent in one piece.
            let has_room = self.connection.send_queue.request_room();
            let served = tokio::select! {
                biased;
                end = watch.ended() => Err(End::Close(end.into())),
                // Before the next frame, whose id may be that of a request that has just ended.
                Some(event) = self.events.1.recv(), if has_room => {
                    self.apply(event);
                    Ok(())
                }
                incoming = self.connection.next(has_room) => {
                    incoming.and_then(|incoming| self.receive(incoming))
                }
            };
            if let Err(end) = served {
                return end;
            }
        }
    }

    fn apply(&mut self, event: RequestEvent) {
        match event {
            RequestEvent::Frame(frame) => self.connection.send_queue.push_any(frame),
            RequestEvent::Ended(id) => {
                self.requests.remove(&id);
                // Its task ends without another event.
                while self.answering.try_join_next().is_some() {}
            }
        }
    }

    fn receive(&mut self, incoming: Incoming) -> Result<(), End> {
        match incoming {
            Incoming::Text(text) => self.accept(&text),
            Incoming::Ping(payload) => {
                self.connection.send_queue.pong(payload);
                Ok(())
            }
            Incoming::PingSent | Incoming::Room => Ok(()),
        }
    }

    /// Starts to answer a request, or stops one.
    fn accept(&mut self, text: &str) -> Result<(), End> {
        let frame = ClientFrame::read(text).ok_or(End::Close(CloseCode::ProtocolError))?;
        let ClientFrame {
            request_id,
            request,
        } = frame;
        let open = self.requests.get(&request_id);
        if matches!(request, Ok(ClientRequest::Abort {})) {
            if let Some(stopped) = open {
                stopped.cancel();
            }
            return Ok(());
        }
        let stopped = CancellationToken::new();
        let context = self.context.clone();
        let events = self.events.0.clone();
        let answering = SocketRequest::new(context, request_id.clone(), stopped.clone(), events);
        let rejection = if open.is_some() {
            let detail = "names a request that has not ended";
            ApiError::invalid("/requestId", FaultCode::NotCombinable, detail)
        } else if self.requests.len() >= MAX_REQUESTS {
            ApiError::new(ProblemCode::TooManyStreams)
        } else {
            self.requests.insert(request_id, stopped);
            self.answering.spawn_local(answering.answer(request));
            return Ok(());
        };
        self.connection
            .send_queue
            .push_any(answering.rejected(&rejection));
        Ok(())
    }
}
