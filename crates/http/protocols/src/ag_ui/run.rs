//! `POST /ag-ui/agents/{id}/run`.

use actix_web::{HttpRequest, HttpResponse, http::header::HeaderName, web::Data};
use application::{
    ChatCommand, IdempotencyConflict, TurnError,
    chat::{AcceptedTurn, ChatError},
};
use domain::{AgentId, ConversationKey, IdempotencyKey, config::Metadata};
use kit::{
    auth::{Authorized, ChatWrite},
    layers::RequestId,
    problem::ApiError,
    request::{LenientJson, PathId},
    state::HttpState,
};
use serde_json::json;

use super::{
    PROTOCOL, RUN_ID,
    cursor::{EventCursor, Received},
    input::{RunInput, UserMessage},
    last_event_id,
    run_events::{Run, RunEvents},
    stream,
};
use crate::{EndUser, resend::resend_key};

/// The header of clients that can join a run again. They show the parts of a message in their order.
const X_RUN_ID: HeaderName = HeaderName::from_static("x-run-id");

/// Sends the newest message of the user, and streams the run that replies to it. A run that is
/// requested again is continued.
pub(super) async fn run(
    authorized: Authorized<ChatWrite>,
    state: Data<HttpState>,
    agent: PathId<AgentId>,
    user: EndUser,
    request: HttpRequest,
    input: LenientJson<RunInput>,
) -> Result<HttpResponse, ApiError> {
    let input = input.0;
    let sending = Submission {
        authorized: &authorized,
        agent_id: agent.0,
        key: input.key()?,
        user_id: user.0,
        message: input.newest_message(state.bodies.sizes.message_characters)?,
        run_id: &input.run_id,
        request_id: RequestId::of(&request),
    };
    input.check_run_id()?;
    let cursor = last_event_id(&request)?;
    // Opened before the message is stored: if the stream is rejected, the message has no effect.
    let slot = authorized.open_stream(&state).await?;
    let (turn, received) = sending.send_or_continue(cursor).await?;
    let run = Run {
        thread: input.thread_id.clone(),
        id: input.run_id.clone(),
        knows_outcomes: input.protocol_version.is_some(),
        is_one_message: request.headers().contains_key(&X_RUN_ID),
    };
    let mut events = RunEvents::new(run, turn.turn_id, received);
    let tools = input.tool_names();
    if received.is_none() && !tools.is_empty() {
        events.add_custom("tools_ignored", json!({ "tools": tools }));
    }
    Ok(stream::respond(
        &state,
        &authorized,
        &request,
        slot,
        (events, turn),
    ))
}

/// A message with its agent, its conversation and its user.
struct Submission<'a> {
    authorized: &'a Authorized<ChatWrite>,
    agent_id: AgentId,
    key: ConversationKey,
    user_id: Option<String>,
    message: UserMessage,
    run_id: &'a str,
    request_id: Option<String>,
}

impl Submission<'_> {
    /// Continues the turn of `cursor`, or sends the message. Returns the part of the turn
    /// that the client has received, if it continues.
    async fn send_or_continue(
        &self,
        cursor: Option<EventCursor>,
    ) -> Result<(AcceptedTurn, Option<Received>), ApiError> {
        if let Some(cursor) = cursor
            && let Some(turn) = self.find_turn(cursor).await?
        {
            return Ok((turn, Some(cursor.received)));
        }
        Ok((self.send().await?, None))
    }

    /// Returns the turn that the client has lost, if it is that of the requested run.
    async fn find_turn(&self, cursor: EventCursor) -> Result<Option<AcceptedTurn>, ApiError> {
        let (caller, authorized) = (self.authorized.caller(), self.authorized);
        let user_id = self.user_id.as_deref();
        let conversations = &authorized.conversations;
        let named = conversations.find_named(caller, self.agent_id, user_id, self.key.clone());
        let Some(conversation) = named.await? else {
            return Ok(None);
        };
        let turn = match authorized.turns.get(caller, cursor.turn_id).await {
            Err(TurnError::NotFound) => return Ok(None),
            found => found?.value,
        };
        let run_id = turn.metadata.get(RUN_ID).map(String::as_str);
        if turn.conversation_id != conversation || run_id != Some(self.run_id) {
            return Ok(None);
        }
        let found = authorized.chat.find_turn(caller, turn.id).await?;
        Ok(found.filter(|turn| caller.may_follow(&turn.subject().started_by)))
    }

    /// Sends the message. If its run id was used for another message, its key also contains the thread
    /// and the text.
    async fn send(&self) -> Result<AcceptedTurn, ApiError> {
        let user_id = self.user_id.as_deref();
        let key = resend_key(&PROTOCOL, self.agent_id, user_id, &[self.run_id]);
        let sent = self.send_with(key).await;
        if !matches!(
            sent,
            Err(ChatError::Idempotency(IdempotencyConflict::Reused))
        ) {
            return Ok(sent?);
        }
        let parts = [self.run_id, self.key.as_str(), &self.message.text];
        let key = resend_key(&PROTOCOL, self.agent_id, user_id, &parts);
        Ok(self.send_with(key).await?)
    }

    async fn send_with(&self, key: IdempotencyKey) -> Result<AcceptedTurn, ChatError> {
        let (key_of_thread, user_id) = (self.key.clone(), self.user_id.clone());
        let request_id = self.request_id.clone();
        let command = ChatCommand {
            message: Some(self.message.text.clone()),
            // Another run for the message that the conversation ends with generates its reply again.
            supersedes_itself: true,
            client_message_id: self.message.id.clone(),
            metadata: Metadata::from([(RUN_ID.to_owned(), self.run_id.to_owned())]),
            ..ChatCommand::in_named_conversation(self.agent_id, key_of_thread, user_id, request_id)
        };
        let chat = &self.authorized.chat;
        chat.send(self.authorized.chat_caller(), command, Some(key))
            .await
    }
}
