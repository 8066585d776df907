//! A request on a socket.

use std::{collections::HashMap, sync::Arc};

use access::AuthContext;
use actix_web::web::Data;
use application::chat::AcceptedTurn;
use bytestring::ByteString;
use domain::{AgentId, ProblemCode, TurnEvent};
use kit::{
    auth::{ChatWrite, SealedServices, TurnsRead, X_USER_ID, count_request, open_stream},
    operations::{CHAT_COST, ONE_REQUEST},
    problem::{ApiError, problem, store_problem},
    state::HttpState,
    turn_stream::{EncodedTurn, TurnEncoder},
};
use regions::{RegionRole, Regions};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    error,
    follow::current_turn,
    frames::{ClientRequest, ServerFrame},
    part_converter::PartConverter,
    path::Chat,
    request::ChatBody,
    requested_turn::Submission,
    send::{accept, named_chat},
    socket::RequestEvent,
};
use crate::{EndUser, answers::Seen};

/// The context of all requests of a socket.
#[derive(Clone)]
pub(super) struct SocketContext {
    pub(super) state: Data<HttpState>,
    pub(super) regions: Data<Regions>,
    pub(super) services: SealedServices,
    pub(super) auth_context: Arc<AuthContext>,
    pub(super) agent_id: AgentId,
    /// The user that the upgrade names.
    pub(super) user: EndUser,
}

/// A request on a socket, which ends with its turn.
pub(super) struct SocketRequest {
    pub(super) context: SocketContext,
    /// The client's id of the request.
    pub(super) id: String,
    /// Cancelled when the client stops the turn.
    pub(super) stopped: CancellationToken,
    /// The users that the headers of the request name: at most one, if they are valid.
    pub(super) named_users: Vec<String>,
    /// The events for the socket.
    pub(super) events: mpsc::Sender<RequestEvent>,
}

/// An error that ends a request before its turn.
pub(super) enum Failure {
    Rejected(ApiError),
    /// The home region has rejected the request with this text.
    RejectedAtHome(String),
}

impl<E: Into<ApiError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Rejected(error.into())
    }
}

/// The chunks of a request, which are numbered.
pub(super) struct Chunks {
    request_id: String,
    sequence: u64,
}

impl Chunks {
    /// Returns the frame of the next chunk.
    pub(super) fn next<C: Serialize>(&mut self, chunk: &C) -> ByteString {
        let sequence = self.sequence;
        self.sequence += 1;
        ServerFrame::encode(&ServerFrame::Chunk {
            request_id: &self.request_id,
            sequence,
            chunk,
        })
    }
}

/// Sends the parts of a turn as chunks.
struct PartChunks(PartConverter, Chunks);

impl TurnEncoder for PartChunks {
    type Output = Vec<ByteString>;

    async fn add(&mut self, event: TurnEvent, frames: &mut Vec<ByteString>) {
        let Self(converter, chunks) = self;
        converter.convert(event, &mut |part| frames.push(chunks.next(&part)));
    }
}

/// Returns the users that the headers of a request name. Names of headers are not case-sensitive.
fn named_users(headers: HashMap<String, String>) -> Vec<String> {
    let is_user = |name: &String| name.eq_ignore_ascii_case(X_USER_ID.as_str());
    let users = headers.into_iter().filter(|(name, _)| is_user(name));
    users.map(|(_, user)| user).collect()
}

impl SocketRequest {
    /// Creates a request with the client's id.
    pub(super) fn new(
        context: SocketContext,
        id: String,
        stopped: CancellationToken,
        events: mpsc::Sender<RequestEvent>,
    ) -> Self {
        Self {
            context,
            id,
            stopped,
            named_users: Vec::new(),
            events,
        }
    }

    /// Answers the request. `Abort` is not answered: it stops another one.
    pub(super) async fn answer(mut self, request: Result<ClientRequest, ApiError>) {
        let answered = match request {
            Ok(ClientRequest::Send { headers, body }) => {
                self.named_users = named_users(headers);
                self.send(body).await
            }
            Ok(ClientRequest::Resume { id, headers }) => {
                self.named_users = named_users(headers);
                self.resume(&id).await
            }
            Ok(ClientRequest::Abort {}) => Ok(()),
            Err(error) => Err(error.into()),
        };
        self.report(answered).await;
        self.pass_on(RequestEvent::Ended(self.id.clone())).await;
    }

    async fn send(&mut self, body: ChatBody) -> Result<(), Failure> {
        let chat = self.chat(&body.id)?;
        let SocketContext {
            state,
            regions,
            services,
            auth_context,
            ..
        } = self.context.clone();
        let authorized = services.open::<ChatWrite>(self.reader())?;
        count_request(&self.context.state, &self.context.auth_context, CHAT_COST).await?;
        if let RegionRole::Far(far) = &regions.role {
            let _slot = open_stream(&state.rates.principals, &auth_context).await?;
            return self.send_home(far, &chat, body).await;
        }
        let submission = Submission {
            authorized: &authorized,
            chat: chat.clone(),
            request_id: Some(self.request_id()),
            memory: None,
        };
        let requested = submission.resolve(body, &state).await?;
        let _slot = open_stream(&state.rates.principals, &auth_context).await?;
        let turn = accept(&authorized, requested).await?;
        self.stream(turn, &chat).await
    }

    async fn resume(&mut self, chat: &str) -> Result<(), Failure> {
        let SocketContext {
            state,
            regions,
            services,
            auth_context,
            ..
        } = self.context.clone();
        let authorized = services.open::<TurnsRead>(self.reader())?;
        count_request(&self.context.state, &self.context.auth_context, ONE_REQUEST).await?;
        let _slot = open_stream(&state.rates.principals, &auth_context).await?;
        let chat = match self.chat(chat) {
            Ok(chat) => Some(chat),
            Err(error) if error.code == ProblemCode::InvalidHeader => return Err(error.into()),
            // An id that can be no chat's is that of a chat without turns.
            Err(_) => None,
        };
        if let (RegionRole::Far(far), Some(chat)) = (&regions.role, &chat) {
            return self.resume_home(far, chat).await;
        }
        let turn = match &chat {
            Some(chat) => current_turn(&authorized, chat).await?,
            None => None,
        };
        let (Some(turn), Some(chat)) = (turn, chat) else {
            self.send_no_active().await;
            return Ok(());
        };
        self.stream((turn, Seen::default()), &chat).await
    }

    /// Sends the parts of a turn that the client has not seen, and cancels the turn when the client stops it.
    async fn stream(&self, (turn, seen): (AcceptedTurn, Seen), chat: &Chat) -> Result<(), Failure> {
        let converter = PartConverter::new(Some(self.request_id()), seen);
        let encoder = PartChunks(converter, self.send_start().await);
        let mut turn = EncodedTurn::new(turn, encoder, Vec::new());
        while !turn.has_ended() {
            tokio::select! {
                advanced = turn.advance() => {
                    advanced.map_err(|error| ApiError::new(store_problem(&error)))?;
                }
                () = self.stopped.cancelled() => return self.stop(chat).await,
            }
            for frame in turn.output.drain(..) {
                self.push_frame(frame).await;
            }
        }
        self.send_end().await;
        Ok(())
    }

    /// Cancels the open turns of a chat. The client has already ended the request.
    async fn stop(&self, chat: &Chat) -> Result<(), Failure> {
        let (services, auth_context) = (&self.context.services, &self.context.auth_context);
        let authorized = services.open::<ChatWrite>(Arc::clone(auth_context))?;
        let caller = authorized.caller();
        if let Some(conversation) = chat.find(&authorized.conversations, caller).await? {
            authorized.turns.cancel_open(caller, conversation).await?;
        }
        Ok(())
    }

    /// Returns the caller, who sees what the user sees that the request names.
    fn reader(&self) -> Arc<AuthContext> {
        let auth_context = &self.context.auth_context;
        if self.named_users.is_empty() {
            Arc::clone(auth_context)
        } else {
            auth_context.naming_user()
        }
    }

    fn chat(&self, id: &str) -> Result<Chat, ApiError> {
        let context = &self.context;
        let named = match &*self.named_users {
            [] => None,
            [named] => Some(named.as_str()),
            _ => return Err(EndUser::named_twice()),
        };
        let is_of_credential = context.auth_context.principal.user_id.is_some();
        let sizes = &context.state.bodies.sizes;
        let user = context.user.on_socket(is_of_credential, named, sizes)?;
        named_chat(context.agent_id, user, id)
    }

    async fn report(&self, answered: Result<(), Failure>) {
        let error_text = match answered {
            Err(Failure::Rejected(error)) => self.describe(&error),
            Err(Failure::RejectedAtHome(text)) => text,
            Ok(()) => return,
        };
        self.push(&self.error(&error_text)).await;
    }

    /// Returns the frame that rejects the request.
    pub(super) fn rejected(&self, error: &ApiError) -> ByteString {
        let error_text = self.describe(error);
        self.error(&error_text).encode()
    }

    fn error<'a>(&'a self, error_text: &'a str) -> ServerFrame<'a> {
        let request_id = &self.id;
        ServerFrame::Error {
            request_id,
            error_text,
        }
    }

    /// Returns the text of an error for the client, and logs a failure of the server.
    fn describe(&self, error: &ApiError) -> String {
        let request_id = self.request_id();
        let status = error.code.status();
        if error.is_failure() {
            let cause = error.source.as_ref();
            let cause = cause.map(|it| ports::error::one_line(&**it));
            tracing::error!(request_id, status, cause, "request on a chat socket failed");
        }
        error::text(&problem(error, None, Some(request_id)))
    }

    /// Begins the chunks of the answer.
    pub(super) async fn send_start(&self) -> Chunks {
        let request_id = &self.id;
        self.push(&ServerFrame::Start { request_id }).await;
        Chunks {
            request_id: request_id.clone(),
            sequence: 0,
        }
    }

    /// Ends the chunks of the answer.
    pub(super) async fn send_end(&self) {
        let request_id = &self.id;
        self.push(&ServerFrame::End { request_id }).await;
    }

    /// Answers that the chat has no turn to follow.
    pub(super) async fn send_no_active(&self) {
        let request_id = &self.id;
        self.push(&ServerFrame::NoActive { request_id }).await;
    }

    async fn push(&self, frame: &ServerFrame<'_>) {
        self.push_frame(frame.encode()).await;
    }

    /// Sends a frame, and waits until the socket has taken the one before it.
    pub(super) async fn push_frame(&self, frame: ByteString) {
        self.pass_on(RequestEvent::Frame(frame)).await;
    }

    /// Passes on an event. Without the socket, nobody needs it.
    async fn pass_on(&self, event: RequestEvent) {
        let _ = self.events.send(event).await;
    }

    /// Returns the id of the request in the log and in errors.
    pub(super) fn request_id(&self) -> String {
        self.id
            .chars()
            .filter(char::is_ascii_graphic)
            .take(64)
            .collect()
    }
}
