//! `POST /v1/chat/completions`.

use actix_web::{HttpRequest, HttpResponse, web::Data};
use application::{
    ChatCommand, ChatError,
    chat::{AcceptedTurn, AttachedFile, EphemeralChat},
};
use domain::{
    AgentId, ChatReply, ClientTool, FaultCode, IdempotencyKey, ProblemCode, ResponseSchema,
};
use futures::TryFutureExt as _;
use kit::{
    auth::{Authorized, ChatWrite},
    layers::RequestId,
    problem::ApiError,
    request::{IdempotencyHeader, JsonWithFiles, mark_replayed},
    state::HttpState,
    turn_stream::{respond, whole_reply},
};
use ports::{IdSource, ToolUse};

use super::{
    approvals::deny_approvals,
    models,
    request::{CompletionBody, CompletionRequest, SCHEMA, StoredConversation},
    resend::{MessageId, SentMessage},
    response::{Chunks, Completion, Head},
    stream,
};
use crate::{EndUser, answers::Seen, file_parts::Places, response_schema::with_schema_at};

/// Replies to the newest message of the user. Nothing is stored, unless the request names a
/// conversation.
pub(super) async fn create(
    authorized: Authorized<ChatWrite>,
    state: Data<HttpState>,
    request: HttpRequest,
    user: EndUser,
    key: IdempotencyHeader,
    JsonWithFiles { body, memory }: JsonWithFiles<CompletionBody>,
) -> Result<HttpResponse, ApiError> {
    let mut completion = body.read(&state.bodies.sizes, &|url| {
        authorized.files.file_of_address(url)
    })?;
    let agent = models::find(&authorized, &completion.model).await?;
    let files = std::mem::take(&mut completion.files);
    let (files, places) = files.read(&state, memory).await?;
    // Opened before the message is stored: if the stream is rejected, the message has no effect.
    let slot = if completion.stream {
        authorized.open_stream(&state).await?
    } else {
        None
    };
    let stored = completion.stored.take();
    let is_stored = stored.is_some();
    let sender = Submission {
        authorized: &authorized,
        request: &request,
        ids: &*state.ids,
        agent,
        user: user.0,
        files,
        places,
        tools: std::mem::take(&mut completion.tools),
        tool_use: std::mem::take(&mut completion.tool_use),
        response_schema: completion.response_schema.take(),
    };
    let (accepted, seen) = match stored {
        Some(conversation) => {
            let message = std::mem::take(&mut completion.texts.message);
            sender.answer_or_send(conversation, message, key.0).await?
        }
        None => (
            sender.send_ephemeral(&mut completion, key.0).await?,
            Seen::default(),
        ),
    };
    let is_replayed = accepted.is_replayed && !seen.has_calls();
    let head = Head::new(accepted.turn_id, completion.model);
    let response = if completion.stream {
        let chunks = Chunks {
            head,
            include_usage: completion.include_usage,
        };
        let request_id = RequestId::of(&request);
        let begun = stream::begin((accepted, seen), chunks, request_id, authorized.clone()).await;
        begun.map(|turn| respond(&state, &authorized, &request, slot, turn))
    } else {
        let completed = completed(&authorized, &request, accepted, is_stored).await;
        completed.map(|reply| HttpResponse::Ok().json(Completion::new(head, &reply, &seen)))
    };
    mark_replayed(response, is_replayed)
}

/// Waits for the reply of a turn, whose calls are denied if they need approval.
async fn completed(
    authorized: &Authorized<ChatWrite>,
    request: &HttpRequest,
    mut accepted: AcceptedTurn,
    is_stored: bool,
) -> Result<ChatReply, ApiError> {
    loop {
        let reply = whole_reply(request, accepted, is_stored).await?.reply;
        match deny_approvals(authorized, reply.turn_id, &reply.tool_calls).await? {
            Some(turn) => accepted = turn,
            None => return Ok(reply),
        }
    }
}

/// A client that sends a message to an agent.
struct Submission<'a> {
    authorized: &'a Authorized<ChatWrite>,
    request: &'a HttpRequest,
    ids: &'a dyn IdSource,
    agent: AgentId,
    user: Option<String>,
    files: Vec<AttachedFile>,
    /// The places of the files in the body.
    places: Places,
    tools: Vec<ClientTool>,
    tool_use: ToolUse,
    response_schema: Option<ResponseSchema>,
}

impl Submission<'_> {
    /// Gives the results of tools of the client, and sends the message after them, if there is one.
    /// Returns what the client has of the reply, too.
    async fn answer_or_send(
        self,
        mut conversation: StoredConversation,
        message: String,
        own_key: Option<IdempotencyKey>,
    ) -> Result<(AcceptedTurn, Seen), ApiError> {
        let calls = std::mem::take(&mut conversation.calls);
        let answered = if calls.answers.is_empty() {
            None
        } else {
            let (caller, user) = (self.authorized.caller(), self.user.as_deref());
            let (conversations, key) = (&self.authorized.conversations, &conversation.key);
            let named = conversations.find_named(caller, self.agent, user, key.clone());
            calls.find_turn(self.authorized, named.await?).await?
        };
        if conversation.continues {
            let answered = answered.ok_or(ApiError::new(ProblemCode::ActionNotFound))?;
            return answered.follow(self.authorized).await;
        }
        if let Some(answered) = answered {
            answered.give_before_message(self.authorized).await?;
        }
        let accepted = self.send(conversation, message, own_key).await?;
        Ok((accepted, Seen::default()))
    }

    /// Sends a message to a stored conversation.
    async fn send(
        self,
        conversation: StoredConversation,
        message: String,
        own_key: Option<IdempotencyKey>,
    ) -> Result<AcceptedTurn, ApiError> {
        let (authorized, caller) = (self.authorized, self.authorized.chat_caller());
        let command = self.command(&conversation, &message);
        if own_key.is_some() {
            // The client can repeat the request with its own key.
            let sent = authorized.chat.send(caller, command, own_key).await;
            return sent.map_err(|error| self.places.locate(rejection(error)));
        }
        let sent = SentMessage {
            agent: self.agent,
            user: self.user.as_deref(),
            conversation: &conversation.key,
            text: &message,
            files: &self.files,
        };
        let start = |id: String| {
            let key = sent.key(&id);
            let client_message_id = Some(id);
            let command = ChatCommand {
                client_message_id,
                ..command.clone()
            };
            let sending = authorized.chat.send(caller, command, Some(key));
            sending.map_err(|error| self.places.locate(rejection(error)))
        };
        match sent
            .id(authorized, self.request.headers(), self.ids)
            .await?
        {
            MessageId::Known(id) => Ok(start(id).await?),
            MessageId::New(id) => {
                let accepted = start(id).await?;
                if !accepted.is_replayed {
                    return Ok(accepted);
                }
                let other = sent.other_id(authorized, accepted.turn_id, self.ids);
                match other.await? {
                    Some(id) => Ok(start(id).await?),
                    None => Ok(accepted),
                }
            }
        }
    }

    fn command(&self, conversation: &StoredConversation, message: &str) -> ChatCommand {
        let (key, user_id) = (conversation.key.clone(), self.user.clone());
        let request_id = RequestId::of(self.request);
        ChatCommand {
            message: Some(message.to_owned()),
            files: self.files.clone(),
            metadata: conversation.metadata.clone(),
            client_tools: self.tools.clone(),
            tool_use: self.tool_use.clone(),
            response_schema: self.response_schema.clone(),
            ..ChatCommand::in_named_conversation(self.agent, key, user_id, request_id)
        }
    }

    /// Sends a message of which nothing is stored.
    async fn send_ephemeral(
        self,
        completion: &mut CompletionRequest,
        key: Option<IdempotencyKey>,
    ) -> Result<AcceptedTurn, ApiError> {
        let texts = std::mem::take(&mut completion.texts);
        let chat = EphemeralChat {
            agent_id: self.agent,
            message: texts.message,
            files: self.files,
            history: texts.history,
            steps: texts.steps,
            client_tools: self.tools,
            tool_use: self.tool_use,
            response_schema: self.response_schema,
            omits_refused_messages: true,
            user_id: self.user,
            request_id: RequestId::of(self.request),
        };
        let caller = self.authorized.chat_caller();
        let sending = self.authorized.chat.send_ephemeral(caller, chat, key);
        let sent = sending.await;
        sent.map_err(|error| self.places.locate(rejection(error)))
    }
}

/// Names the member of the request that a rejection is about.
fn rejection(error: ChatError) -> ApiError {
    match error {
        ChatError::ToolNotOffered { detail } => {
            ApiError::invalid("/tool_choice", FaultCode::UnknownValue, detail)
        }
        other => with_schema_at(SCHEMA, other).into(),
    }
}
