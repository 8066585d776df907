//! The turn that a request wants: a new one, or the one of the request that it repeats.

use application::{
    ChatCommand,
    chat::{AttachedFile, HeldMemory},
};
use domain::{
    ConversationId, FaultCode, IdempotencyKey, InputFault, Message, ProblemCode, Role, TurnId,
    TurnStatus,
};
use kit::{
    auth::{Authorized, ChatWrite},
    body::Schemas,
    chat::ChatRequest,
    problem::ApiError,
    request::JsonBody as _,
    state::HttpState,
};
use ports::{FoundMessage, ListingOrder, MessageReference};
use serde_json::json;

use super::{
    PROTOCOL,
    path::Chat,
    request::{ChatBody, Newest, Trigger, UserMessage},
};
use crate::{
    answers::{AnsweredTurn, ClientCalls},
    file_parts::{FileParts, Places},
    resend::resend_key,
};

/// What a request wants.
pub(super) struct Requested {
    /// The turn to which the client had answers, before it sent a message.
    pub(super) answered: Option<AnsweredTurn>,
    /// The turn that is streamed.
    pub(super) turn: RequestedTurn,
    /// The places of the message's files in the body.
    pub(super) places: Places,
}

/// The turn that a request wants.
pub(super) enum RequestedTurn {
    /// A new turn, or the one that the idempotency key has started.
    New(Box<ChatCommand>, Option<IdempotencyKey>),
    /// This turn, which an equal request has started.
    Sent(TurnId),
    /// The turn that goes on with the answers.
    Answered(AnsweredTurn),
}

/// A request with the chat that it is for.
pub(super) struct Submission<'a> {
    pub(super) authorized: &'a Authorized<ChatWrite>,
    pub(super) chat: Chat,
    pub(super) request_id: Option<String>,
    /// The memory of the body.
    pub(super) memory: Option<HeldMemory>,
}

/// A user's message, with its files.
struct ReadMessage {
    id: Option<String>,
    text: String,
    files: Vec<AttachedFile>,
}

impl Submission<'_> {
    /// Decides what a request wants.
    pub(super) async fn resolve(
        self,
        mut body: ChatBody,
        state: &HttpState,
    ) -> Result<Requested, ApiError> {
        let (message, calls) = match body.take_newest()? {
            Newest::User(message, calls) => (message, calls),
            Newest::Reply(calls) => {
                let answered = self.find_answered(calls).await?;
                let answered = answered.ok_or(ApiError::new(ProblemCode::ActionNotFound))?;
                return Ok(Requested {
                    answered: None,
                    turn: RequestedTurn::Answered(answered),
                    places: Places::default(),
                });
            }
        };
        self.check(&message, &state.bodies.schemas)?;
        let (message, places) = self.read(message, state).await?;
        let tools = body.take_tools();
        let (is_new, answered) = match body.trigger {
            Trigger::SubmitMessage => (true, self.find_answered(calls).await?),
            Trigger::RegenerateMessage => (false, None),
        };
        let mut turn = match body.message_id {
            None if is_new => self.submitted(message),
            Some(edited) if is_new => self.edited(message, edited).await?,
            named => self.regenerated(message, named).await?,
        };
        if let RequestedTurn::New(command, _) = &mut turn {
            command.client_tools = tools;
        }
        Ok(Requested {
            answered: answered.filter(|turn| !turn.answers.is_empty()),
            turn,
            places,
        })
    }

    /// Reads the files of a message.
    async fn read(
        &self,
        message: UserMessage,
        state: &HttpState,
    ) -> Result<(ReadMessage, Places), ApiError> {
        let mut parts = FileParts::default();
        for (index, address) in message.files {
            let place = format!("{}/{index}", message.place);
            let pushed = parts.push_address(place, address, &|url| {
                self.authorized.files.file_of_address(url)
            });
            pushed.map_err(|fault| ApiError::faults(ProblemCode::ValidationFailed, vec![fault]))?;
        }
        let (files, places) = parts.read(state, self.memory.clone()).await?;
        let read = ReadMessage {
            id: message.id,
            text: message.text,
            files,
        };
        Ok((read, places))
    }

    async fn find_answered(&self, calls: ClientCalls) -> Result<Option<AnsweredTurn>, ApiError> {
        if calls.answers.is_empty() {
            return Ok(None);
        }
        let (conversations, caller) = (&self.authorized.conversations, self.authorized.caller());
        let conversation = self.chat.find(conversations, caller).await?;
        calls.find_turn(self.authorized, conversation).await
    }

    /// Checks the message against the published schema of a chat.
    fn check(&self, message: &UserMessage, schemas: &Schemas) -> Result<(), ApiError> {
        let body = json!({
            "conversationKey": self.chat.key,
            "message": message.text,
            "clientMessageId": message.id,
            "userId": self.chat.user_id,
        });
        let faults = schemas.check(ChatRequest::SCHEMA, &body);
        if faults.is_empty() {
            return Ok(());
        }
        Err(ApiError::faults(ProblemCode::ValidationFailed, faults))
    }

    /// Returns a new turn. A message that is sent again has the same key, and starts no second turn.
    fn submitted(self, message: ReadMessage) -> RequestedTurn {
        let key = message.id.as_deref();
        let key = key.map(|id| self.resend_key(&["submit", id], &message));
        let command = ChatCommand {
            message: Some(message.text),
            files: message.files,
            client_message_id: message.id,
            ..self.command()
        };
        RequestedTurn::New(Box::new(command), key)
    }

    async fn edited(self, message: ReadMessage, edited: String) -> Result<RequestedTurn, ApiError> {
        let Some((_, old)) = self.find(&edited).await? else {
            // The edited message was never received.
            return Ok(self.submitted(message));
        };
        if old.message.role != Role::User {
            // Rejected here, before answers of the same request are given.
            let detail = "must be the id of a message of the user, with a text";
            let fault = InputFault::new("/messageId", FaultCode::NotCombinable, detail);
            return Err(ApiError::faults(ProblemCode::ValidationFailed, vec![fault]));
        }
        let chat = &self.authorized.chat;
        if let Some(sent) = chat.repeated_edit(&old, &message.text, &message.files) {
            return Ok(RequestedTurn::Sent(sent));
        }
        let message = ReadMessage {
            id: message.id.or(Some(edited)),
            ..message
        };
        Ok(self.superseding(message, &old.message))
    }

    async fn regenerated(
        self,
        message: ReadMessage,
        named: Option<String>,
    ) -> Result<RequestedTurn, ApiError> {
        if let Some(named) = &named
            && let Some((_, reply)) = self.find(named).await?
            && reply.message.role == Role::Agent
        {
            return Ok(self.regenerating(&reply.message));
        }
        // No stored reply is named, so the message before it receives another reply.
        let id = message.id.as_deref().unwrap_or_default();
        let Some((
            conversation,
            FoundMessage {
                message: stored, ..
            },
        )) = self.find(id).await?
        else {
            return Ok(self.submitted(message));
        };
        if let Some(open) = stored.turn_id.filter(|_| is_open(&stored)) {
            return Ok(RequestedTurn::Sent(open));
        }
        match self.newest(conversation).await? {
            Some(reply) if reply.role == Role::Agent && reply.turn_id == stored.turn_id => {
                Ok(self.regenerating(&reply))
            }
            _ => {
                let files = stored.files.iter();
                let stored_message = ReadMessage {
                    id: message.id,
                    text: stored.content.clone(),
                    files: files.map(|file| AttachedFile::Stored(file.id)).collect(),
                };
                Ok(self.superseding(stored_message, &stored))
            }
        }
    }

    /// Returns a new turn that supersedes a reply.
    fn regenerating(self, reply: &Message) -> RequestedTurn {
        let command = ChatCommand {
            supersedes: Some(reply.id),
            ..self.command()
        };
        RequestedTurn::New(Box::new(command), None)
    }

    /// Returns a new turn that supersedes a message of the user. Equal requests at the same time join
    /// it: only one of them finds the old message in place.
    fn superseding(self, message: ReadMessage, old: &Message) -> RequestedTurn {
        let key = self.resend_key(&["replace", &old.id.to_string()], &message);
        let command = ChatCommand {
            message: Some(message.text),
            files: message.files,
            supersedes: Some(old.id),
            client_message_id: message.id,
            ..self.command()
        };
        RequestedTurn::New(Box::new(command), Some(key))
    }

    /// Returns the idempotency key of a message in this chat.
    fn resend_key(&self, parts: &[&str], message: &ReadMessage) -> IdempotencyKey {
        let files: Vec<_> = message.files.iter().map(AttachedFile::identity).collect();
        let files = files.iter().map(String::as_str);
        let content: Vec<_> = std::iter::once(&*message.text).chain(files).collect();
        let Chat {
            agent_id,
            user_id,
            key,
        } = &self.chat;
        resend_key(
            &PROTOCOL,
            *agent_id,
            user_id.as_deref(),
            &[&[key.as_str()], parts, &content].concat(),
        )
    }

    fn command(self) -> ChatCommand {
        let Chat {
            agent_id,
            user_id,
            key,
        } = self.chat;
        ChatCommand::in_named_conversation(agent_id, key, user_id, self.request_id)
    }

    /// Finds a message by the client's own id or else by the id of the service.
    async fn find(&self, id: &str) -> Result<Option<(ConversationId, FoundMessage)>, ApiError> {
        let (conversations, caller) = (&self.authorized.conversations, self.authorized.caller());
        let Some(conversation) = self.chat.find(conversations, caller).await? else {
            return Ok(None);
        };
        let by_client_id = MessageReference::ClientId(id.to_owned());
        let by_id = id.parse().map(MessageReference::Id).ok();
        for reference in [Some(by_client_id), by_id].into_iter().flatten() {
            let chat = &self.authorized.chat;
            let found = chat.find_message(caller, conversation, &reference);
            if let Some(found) = found.await? {
                return Ok(Some((conversation, found)));
            }
        }
        Ok(None)
    }

    async fn newest(&self, conversation: ConversationId) -> Result<Option<Message>, ApiError> {
        let (conversations, caller) = (&self.authorized.conversations, self.authorized.caller());
        let order = ListingOrder::Descending;
        let page = conversations.messages(caller, conversation, order, None, 1, false);
        let (page, _) = page.await?.value;
        Ok(page.items.into_iter().next())
    }
}

fn is_open(message: &Message) -> bool {
    let status = message.turn_status;
    matches!(status, Some(TurnStatus::Queued | TurnStatus::InProgress))
}
