//! `POST /ag-ui/agents/{id}/run`.

use actix_web::{HttpRequest, HttpResponse, http::header::HeaderName, web::Data};
use application::{
    ChatCommand, IdempotencyConflict, TurnError,
    chat::{AcceptedTurn, AttachedFile, ChatError, HeldMemory},
};
use domain::{
    AgentId, ClientTool, ConversationKey, IdempotencyKey, InputFault, Problem, ProblemCode,
    ResponseSchema, config::Metadata,
};
use kit::{
    auth::{Authorized, ChatWrite},
    layers::RequestId,
    problem::ApiError,
    request::{JsonWithFiles, PathId},
    state::HttpState,
};
use serde_json::json;

use super::{
    PROTOCOL, RUN_ID,
    cursor::{EventCursor, Received},
    input::{RunInput, SCHEMA, UserMessage},
    last_event_id,
    run_events::{Run, RunEvents},
    step::Step,
    stream,
};
use crate::{
    EndUser,
    answers::{AnsweredTurn, Seen},
    file_parts::{FileParts, Places},
    resend::resend_key,
    response_schema::with_schema_at,
};

/// The header of clients that can join a run again. They show the parts of a message in their order.
const X_RUN_ID: HeaderName = HeaderName::from_static("x-run-id");

/// Answers tool calls or sends the newest message of the user, and streams the run. A run that is
/// requested again is continued.
pub(super) async fn run(
    authorized: Authorized<ChatWrite>,
    state: Data<HttpState>,
    agent: PathId<AgentId>,
    user: EndUser,
    request: HttpRequest,
    JsonWithFiles {
        body: mut input,
        memory,
    }: JsonWithFiles<RunInput>,
) -> Result<HttpResponse, ApiError> {
    let files = input.take_files(&|url| authorized.files.file_of_address(url));
    let sender = Sender {
        authorized: &authorized,
        agent_id: agent.0,
        key: input.key()?,
        user_id: user.0,
        input: &input,
        request_id: RequestId::of(&request),
    };
    let run = Run {
        thread: input.thread_id.clone(),
        id: input.run_id.clone(),
        knows_outcomes: input.protocol_version.is_some(),
        is_one_message: request.headers().contains_key(&X_RUN_ID),
    };
    let step = sender.next_step(state.bodies.sizes.message_characters);
    let step = step.await?;
    input.check_run_id()?;
    let cursor = last_event_id(&request)?;
    // Opened before the message is stored: if the stream is rejected, the message has no effect.
    let slot = authorized.open_stream(&state).await?;
    let files = match &step {
        Step::Send(..) => Some(read_files(files, &state, memory).await?),
        Step::Answer(_) | Step::Refuse => None,
    };
    let Some(taken) = sender.take(step, files.unwrap_or_default(), cursor).await? else {
        let mut events = RunEvents::without_turn(run);
        events.fail(&Problem {
            detail: "Answer every open interrupt with `resume`.".into(),
            ..Problem::new(ProblemCode::ActionRequired)
        });
        return Ok(stream::respond_at_once(events));
    };
    let is_new = taken.received.is_none();
    let events = RunEvents::new(run, taken.turn.turn_id, taken.received);
    let mut events = events.without_seen(taken.seen);
    if is_new && !taken.ignored_tools.is_empty() {
        events.add_custom("tools_ignored", json!({ "tools": taken.ignored_tools }));
    }
    Ok(stream::respond(
        &state,
        &authorized,
        &request,
        slot,
        (events, taken.turn),
    ))
}

/// Files with their places in the body.
type LocatedFiles = (Vec<AttachedFile>, Places);

async fn read_files(
    files: Result<FileParts, InputFault>,
    state: &HttpState,
    memory: Option<HeldMemory>,
) -> Result<LocatedFiles, ApiError> {
    let files =
        files.map_err(|fault| ApiError::faults(ProblemCode::ValidationFailed, vec![fault]))?;
    files.read(state, memory).await
}

/// The turn of a run.
struct Taken {
    turn: AcceptedTurn,
    /// The part of it that the client has received on an earlier connection.
    received: Option<Received>,
    /// The part of its reply that the client has from earlier runs.
    seen: Seen,
    /// The tools of the client that cannot be added.
    ignored_tools: Vec<String>,
}

impl Taken {
    fn new(turn: AcceptedTurn, received: Option<Received>) -> Self {
        Self {
            turn,
            received,
            seen: Seen::default(),
            ignored_tools: Vec::new(),
        }
    }
}

/// A client with its agent, its conversation and its user.
pub(super) struct Sender<'a> {
    pub(super) authorized: &'a Authorized<ChatWrite>,
    pub(super) agent_id: AgentId,
    pub(super) key: ConversationKey,
    pub(super) user_id: Option<String>,
    pub(super) input: &'a RunInput,
    request_id: Option<String>,
}

/// The tools that the client adds to a turn, and the schema of the reply.
type Demands<'a> = (&'a [ClientTool], Option<&'a ResponseSchema>);

impl Sender<'_> {
    /// Takes a step, or continues the turn of `cursor`. Returns `None` if the request is refused.
    async fn take(
        &self,
        step: Step,
        (files, places): LocatedFiles,
        cursor: Option<EventCursor>,
    ) -> Result<Option<Taken>, ApiError> {
        let (message, answered) = match step {
            Step::Refuse => return Ok(None),
            Step::Answer(answered) => return self.answer(answered, cursor).await.map(Some),
            Step::Send(message, answered) => (message, answered),
        };
        if let Some(cursor) = cursor
            && let Some(turn) = self.find_turn(cursor).await?
        {
            return Ok(Some(Taken::new(turn, Some(cursor.received))));
        }
        if let Some(answered) = answered {
            answered.give_before_message(self.authorized).await?;
        }
        let (tools, ignored_tools) = self.input.tools();
        let schema = self.input.response_schema()?;
        let turn = self.send(&message, &files, (&tools, schema.as_ref())).await;
        let turn = turn.map_err(|error| places.locate(with_schema_at(SCHEMA, error).into()))?;
        Ok(Some(Taken {
            ignored_tools,
            ..Taken::new(turn, None)
        }))
    }

    /// Answers calls, and follows their turn where the client has lost or left it.
    async fn answer(
        &self,
        answered: AnsweredTurn,
        cursor: Option<EventCursor>,
    ) -> Result<Taken, ApiError> {
        let cursor = cursor.filter(|cursor| cursor.turn_id == answered.id);
        let (turn, seen) = answered.follow(self.authorized).await?;
        let taken = Taken::new(turn, cursor.map(|cursor| cursor.received));
        Ok(match taken.received {
            Some(_) => taken,
            None => Taken { seen, ..taken },
        })
    }

    /// Returns the turn that the client has lost, if it is that of the requested run.
    async fn find_turn(&self, cursor: EventCursor) -> Result<Option<AcceptedTurn>, ApiError> {
        let (caller, authorized) = (self.authorized.caller(), self.authorized);
        let Some(conversation) = self.conversation().await? else {
            return Ok(None);
        };
        let turn = match authorized.turns.get(caller, cursor.turn_id).await {
            Err(TurnError::NotFound) => return Ok(None),
            found => found?.value,
        };
        let run_id = turn.metadata.get(RUN_ID).map(String::as_str);
        if turn.conversation_id != conversation || run_id != Some(&self.input.run_id) {
            return Ok(None);
        }
        let found = authorized.chat.find_turn(caller, turn.id).await?;
        Ok(found.filter(|turn| caller.may_follow(&turn.subject().started_by)))
    }

    /// Sends the message. If its run id was used for another message, its key also contains the thread,
    /// the text and the files.
    async fn send(
        &self,
        message: &UserMessage,
        files: &[AttachedFile],
        demands: Demands<'_>,
    ) -> Result<AcceptedTurn, ChatError> {
        let (user_id, run_id) = (self.user_id.as_deref(), &*self.input.run_id);
        let key = resend_key(&PROTOCOL, self.agent_id, user_id, &[run_id]);
        let sent = self.send_with(key, message, files, demands).await;
        if !matches!(
            sent,
            Err(ChatError::Idempotency(IdempotencyConflict::Reused))
        ) {
            return sent;
        }
        let identities: Vec<_> = files.iter().map(AttachedFile::identity).collect();
        let mut parts = vec![run_id, self.key.as_str(), &message.text];
        parts.extend(identities.iter().map(String::as_str));
        let key = resend_key(&PROTOCOL, self.agent_id, user_id, &parts);
        self.send_with(key, message, files, demands).await
    }

    async fn send_with(
        &self,
        key: IdempotencyKey,
        message: &UserMessage,
        files: &[AttachedFile],
        (tools, schema): Demands<'_>,
    ) -> Result<AcceptedTurn, ChatError> {
        let (key_of_thread, user_id) = (self.key.clone(), self.user_id.clone());
        let request_id = self.request_id.clone();
        let command = ChatCommand {
            message: Some(message.text.clone()),
            files: files.to_vec(),
            // Another run for the message that the conversation ends with generates its reply again.
            supersedes_itself: true,
            client_message_id: message.id.clone(),
            client_tools: tools.to_vec(),
            response_schema: schema.cloned(),
            metadata: Metadata::from([(RUN_ID.to_owned(), self.input.run_id.clone())]),
            ..ChatCommand::in_named_conversation(self.agent_id, key_of_thread, user_id, request_id)
        };
        let chat = &self.authorized.chat;
        chat.send(self.authorized.chat_caller(), command, Some(key))
            .await
    }
}
