//! Executes the commands of clients.

mod channels;
mod connecting;
mod far_region;
mod order;

use std::{rc::Rc, sync::Arc};

use access::AuthContext;
use domain::{AgentId, ConversationId, IdempotencyKey, ProblemCode, RatePolicy, Seq, Turn, TurnId};
use kit::{
    actions::ActionsRequest,
    auth::{
        ChatWrite, EventsRead, ToolsAnswer, check_credential_origin, count_request, unauthenticated,
    },
    chat::ConversationReference,
    operations,
    problem::ApiError,
};
use regions::RegionRole;

use self::{
    channels::subscribe,
    connecting::{authenticate, connect, connect_with_token, fatal},
    order::Subject,
};
pub(super) use self::{
    connecting::{already_connected, not_connected},
    order::CommandOrder,
};
use super::{
    CloseCode,
    context::{AdmittedCaller, Caller, Context},
    frames::{ActFrame, Channel, ChatFrame, Command, RefreshFrame, TypingFrame},
    subscriptions::{ReplayAvailability, ReplayRequest},
};

/// The outcome of a command. The socket's task applies it.
pub(super) enum CommandOutcome {
    /// The command has no result.
    Empty,
    /// The outcome of `connect`.
    Connected(Connected),
    /// The outcome of `subscribe`.
    Subscribed(OpenedChannel),
    /// The outcome of `unsubscribe`.
    Unsubscribed(Channel),
    /// The outcome of `refresh`.
    Refreshed(Arc<AuthContext>),
    /// The outcome of `chat` and `act`.
    AcceptedChat(AcceptedChat),
    /// The outcome of `cancel`.
    Cancelled(Box<Turn>),
}

/// The outcome of `connect`.
pub(super) struct Connected {
    /// The caller that `connect` admitted; `None` if the upgrade carried the credential.
    pub(super) admitted: Option<Box<AdmittedCaller>>,
    /// The head of the log.
    pub(super) head: Seq,
    /// The requested channels, with the client's names.
    pub(super) channels: Vec<(String, Result<OpenedChannel, ApiError>)>,
}

/// A channel that the caller may subscribe to.
pub(super) struct OpenedChannel {
    /// The channel.
    pub(super) channel: Channel,
    /// The agent, if the channel is a conversation.
    pub(super) agent: Option<AgentId>,
    /// The past events that the client requests.
    pub(super) replay: Option<ReplayRequest>,
    /// The head of the log before the channel's existence was checked.
    pub(super) head: Seq,
}

impl OpenedChannel {
    /// Returns whether the client receives all events after its cursor.
    pub(super) fn is_recovered(&self) -> bool {
        let availability = self.replay.map(|replay| replay.availability);
        matches!(
            availability,
            Some(ReplayAvailability::Complete | ReplayAvailability::Awaited)
        )
    }
}

/// A chat whose message was accepted.
pub(super) struct AcceptedChat {
    /// The turn.
    pub(super) turn: Box<Turn>,
    /// True if an earlier chat with the same idempotency key started the turn.
    pub(super) is_replayed: bool,
    /// The head of the log before the turn started.
    pub(super) position: Seq,
}

/// A command that was not executed.
pub(super) struct CommandError {
    /// The cause.
    pub(super) error: ApiError,
    /// The code with which the socket is closed, if the error is fatal.
    pub(super) close: Option<CloseCode>,
}

impl From<ApiError> for CommandError {
    fn from(error: ApiError) -> Self {
        Self { error, close: None }
    }
}

/// Executes a command, after earlier commands on the same subject. `id` is the client's.
pub(super) async fn execute(
    context: Rc<Context>,
    id: u64,
    command: Command,
) -> Result<CommandOutcome, CommandError> {
    if context.caller().is_none() {
        return match command {
            Command::Connect(frame) => connect_with_token(&context, frame).await,
            _ => Err(fatal(unauthenticated())),
        };
    }
    if !matches!(command, Command::Ping | Command::Refresh(_)) {
        context.order.refresh_ended().await;
    }
    let subject = subject_of(&command);
    Ok(context
        .order
        .run_in_order(subject, run_now(&context, id, command))
        .await?)
}

fn subject_of(command: &Command) -> Option<Subject> {
    match command {
        Command::Subscribe(frame) => frame.channel.parse().ok().map(Subject::Subscription),
        Command::Unsubscribe(frame) => frame.channel.parse().ok().map(Subject::Subscription),
        Command::Chat(frame) => frame.request.conversation().map(|it| match it {
            ConversationReference::Id(id) => Subject::Conversation(id),
            ConversationReference::Key(key) => Subject::NamedConversation(key),
        }),
        Command::Typing(frame) => frame.conversation_id.parse().ok().map(Subject::Typing),
        Command::Refresh(_) => Some(Subject::Credential),
        // No other command starts while a socket connects.
        Command::Connect(_) | Command::Cancel(_) | Command::Act(_) | Command::Ping => None,
    }
}

async fn run_now(context: &Context, id: u64, command: Command) -> Result<CommandOutcome, ApiError> {
    // The credential may have changed while the command waited.
    let caller = context.caller().ok_or_else(unauthenticated)?;
    // A command costs what the equivalent HTTP operation costs.
    let cost: &[RatePolicy] = match command {
        Command::Chat(_) => operations::CHAT_COST,
        _ => operations::ONE_REQUEST,
    };
    count_request(&context.state, &caller.auth, cost).await?;
    match command {
        Command::Connect(frame) => connect(context, &caller, frame).await,
        Command::Subscribe(frame) => subscribe(context, &caller, frame).await,
        Command::Unsubscribe(frame) => Ok(CommandOutcome::Unsubscribed(frame.channel.parse()?)),
        Command::Refresh(frame) => refresh(context, &caller, frame).await,
        Command::Chat(frame) => chat(context, &caller, id, *frame).await,
        Command::Cancel(frame) => cancel(context, &caller, id, &frame.turn_id).await,
        Command::Act(frame) => act(context, &caller, id, frame).await,
        Command::Typing(frame) => typing(context, &caller, &frame).await,
        Command::Ping => Ok(CommandOutcome::Empty),
    }
}

async fn refresh(
    context: &Context,
    caller: &Caller,
    frame: RefreshFrame,
) -> Result<CommandOutcome, ApiError> {
    let auth = authenticate(context, &frame.token).await?;
    if !caller.auth.is_same_principal(&auth) {
        let detail = "The socket belongs to another principal.";
        return Err(ApiError::new(ProblemCode::InvalidCredentials).with_detail(detail));
    }
    check_credential_origin(&auth, context.page.as_deref())?;
    context.services.open::<EventsRead>(Arc::clone(&auth))?;
    Ok(CommandOutcome::Refreshed(auth))
}

async fn chat(
    context: &Context,
    caller: &Caller,
    id: u64,
    frame: ChatFrame,
) -> Result<CommandOutcome, ApiError> {
    let services = context.open::<ChatWrite>(caller)?;
    let principal = caller.principal();
    let request_id = context.request_id(Some(id));
    if let RegionRole::Far(far) = &context.regions.role {
        if !frame.request.is_stored() {
            frame.request.into_command(None)?;
            return Err(ProblemCode::Internal.into());
        }
        let position = caller.tail.position();
        let key = frame.idempotency_key.as_ref().map(IdempotencyKey::as_str);
        let started = far
            .chat(&caller.auth, &frame.request, key, request_id)
            .await?;
        return Ok(CommandOutcome::AcceptedChat(AcceptedChat {
            turn: Box::new(started.turn),
            is_replayed: started.is_replayed,
            position,
        }));
    }
    let command = frame.request.into_command(Some(request_id))?;
    // All events of the turn have later positions.
    let position = caller.tail.position();
    let sent = services
        .chat
        .send(caller.auth.chat_caller(), command, frame.idempotency_key)
        .await?;
    let is_replayed = sent.is_replayed;
    let turn = services.turns.accepted_turn(principal, sent).await?;
    Ok(CommandOutcome::AcceptedChat(AcceptedChat {
        turn: Box::new(turn),
        is_replayed,
        position,
    }))
}

async fn cancel(
    context: &Context,
    caller: &Caller,
    command: u64,
    turn: &str,
) -> Result<CommandOutcome, ApiError> {
    let services = context.open::<ChatWrite>(caller)?;
    let id = turn_id(turn)?;
    if let RegionRole::Far(far) = &context.regions.role {
        let request_id = context.request_id(Some(command));
        let turn = far.cancel(&caller.auth, id, request_id).await?;
        return Ok(CommandOutcome::Cancelled(Box::new(turn)));
    }
    let turn = services.turns.cancel(caller.principal(), id).await?;
    Ok(CommandOutcome::Cancelled(Box::new(turn)))
}

async fn act(
    context: &Context,
    caller: &Caller,
    command: u64,
    frame: ActFrame,
) -> Result<CommandOutcome, ApiError> {
    let services = context.open::<ToolsAnswer>(caller)?;
    let id = turn_id(&frame.turn_id)?;
    let actions = ActionsRequest::from(frame.actions);
    // All further events of the turn have later positions.
    let position = caller.tail.position();
    let turn = if let RegionRole::Far(far) = &context.regions.role {
        let request_id = context.request_id(Some(command));
        far.answer(&caller.auth, id, &actions, request_id).await?
    } else {
        let (principal, turns) = (caller.principal(), &services.turns);
        let answered = turns.answer(principal, id, actions.into_answers()?).await?;
        turns.accepted_turn(principal, answered).await?
    };
    Ok(CommandOutcome::AcceptedChat(AcceptedChat {
        turn: Box::new(turn),
        is_replayed: false,
        position,
    }))
}

fn turn_id(text: &str) -> Result<TurnId, ApiError> {
    let malformed = |_malformed| ApiError::new(ProblemCode::TurnNotFound);
    text.parse().map_err(malformed)
}

async fn typing(
    context: &Context,
    caller: &Caller,
    frame: &TypingFrame,
) -> Result<CommandOutcome, ApiError> {
    let services = context.open::<ChatWrite>(caller)?;
    let malformed = |_malformed| ApiError::new(ProblemCode::ConversationNotFound);
    let id: ConversationId = frame.conversation_id.parse().map_err(malformed)?;
    let principal = caller.principal();
    far_region::await_writes(context, caller).await?;
    let conversation = services
        .conversations
        .find_accessible(principal, id)
        .await?;
    services.typing.publish(
        principal,
        &context.connection_id,
        &conversation,
        frame.typing,
    );
    Ok(CommandOutcome::Empty)
}
