//! `POST /ag-ui/agents/{id}/run`.

use actix_web::{HttpRequest, HttpResponse, http::header::HeaderName, web::Data};
use application::{
    ChatCommand, IdempotencyConflict,
    chat::{AcceptedTurn, ChatError, OnBusy},
};
use domain::{AgentId, ConversationKey, IdempotencyKey, MessageId, Role, config::Metadata};
use ports::ListingOrder;
use serde_json::json;

use super::{
    PROTOCOL,
    cursor::{EventCursor, Received},
    input::{RunInput, UserMessage},
    last_event_id,
    run_events::{Run, RunEvents},
    stream,
};
use crate::{
    auth::{Authorized, ChatWrite, open_stream},
    layers::RequestId,
    problem::ApiError,
    protocols::{EndUser, resend_key},
    request::{LenientJson, PathId},
    state::ApiState,
};

/// The header of clients that can join a run again. They show the parts of a message in their order.
const X_RUN_ID: HeaderName = HeaderName::from_static("x-run-id");
/// The key of a turn's metadata with the id of its run.
const RUN_ID: &str = "ag-ui.runId";

/// Sends the newest message of the user, and streams the run that replies to it. A run that is
/// requested again is continued.
pub(super) async fn run(
    authorized: Authorized<ChatWrite>,
    state: Data<ApiState>,
    agent: PathId<AgentId>,
    user: EndUser,
    request: HttpRequest,
    input: LenientJson<RunInput>,
) -> Result<HttpResponse, ApiError> {
    let input = input.0;
    let sending = Sending {
        authorized: &authorized,
        agent_id: agent.0,
        key: input.key()?,
        user_id: user.0,
        message: input.newest_message(state.sizes.message_characters)?,
        run_id: &input.run_id,
        request_id: RequestId::of(&request),
    };
    input.check_run_id()?;
    let cursor = last_event_id(&request)?;
    // Opened before the message is stored: if the stream is rejected, the message has no effect.
    let slot = open_stream(&state.limits, authorized.auth_context()).await?;
    let (turn, had) = sending.send_or_continue(cursor).await?;
    let run = Run {
        thread: input.thread_id.clone(),
        id: input.run_id.clone(),
        knows_outcomes: input.protocol_version.is_some(),
        is_one_message: request.headers().contains_key(&X_RUN_ID),
    };
    let mut events = RunEvents::new(run, turn.turn_id, had);
    let tools = input.tool_names();
    if had.is_none() && !tools.is_empty() {
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

/// A message, and where it goes.
struct Sending<'a> {
    authorized: &'a Authorized<ChatWrite>,
    agent_id: AgentId,
    key: ConversationKey,
    user_id: Option<String>,
    message: UserMessage,
    run_id: &'a str,
    request_id: Option<String>,
}

impl Sending<'_> {
    /// Continues the turn of `cursor`, or sends the message. Returns what the client has of the
    /// turn, if it continues.
    async fn send_or_continue(
        &self,
        cursor: Option<EventCursor>,
    ) -> Result<(AcceptedTurn, Option<Received>), ApiError> {
        if let Some(cursor) = cursor
            && let Some(turn) = self.find_turn(cursor).await?
        {
            return Ok((turn, Some(cursor.received)));
        }
        let supersedes = match self.find_sent_before().await? {
            Some(SentBefore::ByThisRun(turn)) => return Ok((turn, None)),
            Some(SentBefore::ByAnother(message)) => Some(message),
            None => None,
        };
        Ok((self.send(supersedes).await?, None))
    }

    /// Returns the turn that the client has lost.
    async fn find_turn(&self, cursor: EventCursor) -> Result<Option<AcceptedTurn>, ApiError> {
        let chat = &self.authorized.chat;
        let found = chat.find_turn(self.authorized.caller(), cursor.turn_id);
        Ok(found.await?.filter(|turn| {
            let subject = turn.subject();
            subject.agent_id == self.agent_id && subject.user_id == self.user_id
        }))
    }

    /// Returns how the message was sent before, if it is the newest of the conversation.
    async fn find_sent_before(&self) -> Result<Option<SentBefore>, ApiError> {
        let (caller, conversations) = (self.authorized.caller(), &self.authorized.conversations);
        let Some(message_id) = self.message.id.as_deref() else {
            return Ok(None);
        };
        let user_id = self.user_id.as_deref();
        let named = conversations.find_named(caller, self.agent_id, user_id, self.key.clone());
        let Some(conversation) = named.await? else {
            return Ok(None);
        };
        // The newest message of the user is the last one, or is followed by its reply.
        let newest = ListingOrder::Descending;
        let page = conversations.messages(caller, conversation, newest, None, 2, false);
        let (page, _) = page.await?.value;
        let sent = page.items.into_iter().find(|it| it.role == Role::User);
        let Some(sent) = sent.filter(|it| it.client_message_id.as_deref() == Some(message_id))
        else {
            return Ok(None);
        };
        let Some(turn_id) = sent.turn_id else {
            return Ok(Some(SentBefore::ByAnother(sent.id)));
        };
        let turn = self.authorized.turns.get(caller, turn_id).await?.value;
        if turn.metadata.get(RUN_ID).map(String::as_str) != Some(self.run_id) {
            return Ok(Some(SentBefore::ByAnother(sent.id)));
        }
        if turn.error.is_some_and(|error| error.retryable) {
            // The run is tried again: its key is free.
            return Ok(None);
        }
        let found = self.authorized.chat.find_turn(caller, turn_id).await?;
        Ok(found.map(SentBefore::ByThisRun))
    }

    /// Sends the message. A run id that has named another message before is no reason to reject it.
    async fn send(&self, supersedes: Option<MessageId>) -> Result<AcceptedTurn, ApiError> {
        let user_id = self.user_id.as_deref();
        let key = run_key(self.agent_id, user_id, self.run_id);
        let sent = self.send_with(supersedes, key).await;
        if !matches!(
            sent,
            Err(ChatError::Idempotency(IdempotencyConflict::Reused))
        ) {
            return Ok(sent?);
        }
        let agent_id = self.agent_id.to_string();
        let (user, key, text) = (
            user_id.unwrap_or_default(),
            self.key.as_str(),
            &*self.message.text,
        );
        let key = resend_key(PROTOCOL.name, &[&agent_id, user, self.run_id, key, text]);
        Ok(self.send_with(supersedes, key).await?)
    }

    async fn send_with(
        &self,
        supersedes: Option<MessageId>,
        key: Option<IdempotencyKey>,
    ) -> Result<AcceptedTurn, ChatError> {
        let command = ChatCommand {
            agent_id: Some(self.agent_id),
            message: Some(self.message.text.clone()),
            conversation_id: None,
            conversation_key: Some(self.key.clone()),
            supersedes,
            title: None,
            client_message_id: self.message.id.clone(),
            user_id: self.user_id.clone(),
            metadata: Metadata::from([(RUN_ID.to_owned(), self.run_id.to_owned())]),
            on_busy: OnBusy::Queue,
            request_id: self.request_id.clone(),
        };
        let chat = &self.authorized.chat;
        chat.send(self.authorized.caller(), command, key).await
    }
}

/// A message that is in the conversation already.
enum SentBefore {
    /// The same run is requested again.
    ByThisRun(AcceptedTurn),
    /// Another run has sent it: it is to be answered again.
    ByAnother(MessageId),
}

/// Returns the idempotency key of a run.
pub(super) fn run_key(
    agent_id: AgentId,
    user_id: Option<&str>,
    run_id: &str,
) -> Option<IdempotencyKey> {
    let parts = [&agent_id.to_string(), user_id.unwrap_or_default(), run_id];
    resend_key(PROTOCOL.name, &parts)
}
