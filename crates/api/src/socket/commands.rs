//! Carries commands out.

mod connecting;
mod order;

use std::{rc::Rc, sync::Arc};

use application::access::Entrant;
use domain::{AgentId, ConversationId, ProblemCode, RatePolicy, Seq, Turn, TurnId};

use self::{
    connecting::{connect, enter, not_admitted, present, subscribe},
    order::Subject,
};
pub(super) use self::{
    connecting::{connected_before, not_connected},
    order::Order,
};
use super::{
    CloseCode,
    context::{Admission, Caller, Context},
    frames::{Channel, ChatFrame, Command, RefreshFrame, TypingFrame},
    subscriptions::{Coverage, Past},
};
use crate::{
    access::{ChatWrite, EventsRead, check_counts, check_page, scope_table, unauthenticated},
    problem::ApiError,
};

/// What has come of a command. The socket's task does the rest.
pub(super) enum Done {
    /// There is nothing to tell.
    Empty,
    /// Of `connect`.
    Connected(Connected),
    /// Of `subscribe`.
    Subscribed(Opened),
    /// Of `unsubscribe`.
    Unsubscribed(Channel),
    /// Of `refresh`.
    Refreshed(Arc<Entrant>),
    /// Of `chat`.
    Chatted(Chatted),
    /// Of `cancel`.
    Cancelled(Box<Turn>),
}

/// Who has connected, and to what.
pub(super) struct Connected {
    /// Who it is, if that was not known before.
    pub(super) admission: Option<Box<Admission>>,
    /// Where the log stood.
    pub(super) head: Seq,
    /// Each channel as it was named.
    pub(super) channels: Vec<(String, Result<Opened, ApiError>)>,
}

/// A channel that the caller may follow.
pub(super) struct Opened {
    /// Which.
    pub(super) channel: Channel,
    /// Who answers in a conversation.
    pub(super) agent: Option<AgentId>,
    /// The past events that it requests.
    pub(super) past: Option<Past>,
    /// Where the log stood before it was looked whether the channel is there.
    pub(super) head: Seq,
}

impl Opened {
    /// All events after the cursor follow.
    pub(super) fn is_recovered(&self) -> bool {
        self.past
            .is_some_and(|past| past.coverage == Coverage::Whole)
    }
}

/// A chat that was taken.
pub(super) struct Chatted {
    /// The turn.
    pub(super) turn: Box<Turn>,
    /// Whether an earlier chat with the same key began it.
    pub(super) is_replayed: bool,
    /// Where the log stood before.
    pub(super) position: Seq,
}

/// A command that was not carried out.
pub(super) struct Refusal {
    /// Why.
    pub(super) error: ApiError,
    /// Whether the socket is closed for it.
    pub(super) close: Option<CloseCode>,
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self { error, close: None }
    }
}

/// Carries one command out, behind those that came before it about the same. `id` is the client's.
pub(super) async fn carry_out(
    context: Rc<Context>,
    id: u64,
    command: Command,
) -> Result<Done, Refusal> {
    if context.caller().is_none() {
        return match command {
            Command::Connect(frame) => enter(&context, frame).await,
            _ => Err(not_admitted(unauthenticated())),
        };
    }
    if !matches!(command, Command::Ping | Command::Refresh(_)) {
        context.order.refreshed().await;
    }
    let subject = subject_of(&command);
    Ok(context
        .order
        .keep(subject, run(&context, id, command))
        .await?)
}

fn subject_of(command: &Command) -> Option<Subject> {
    match command {
        Command::Subscribe(frame) => frame.channel.parse().ok().map(Subject::Following),
        Command::Unsubscribe(frame) => frame.channel.parse().ok().map(Subject::Following),
        Command::Chat(frame) => frame.request.conversation().map(Subject::Chatting),
        Command::Typing(frame) => frame.conversation_id.parse().ok().map(Subject::Typing),
        Command::Refresh(_) => Some(Subject::Refreshing),
        // Nothing else is begun while a socket connects.
        Command::Connect(_) | Command::Cancel(_) | Command::Ping => None,
    }
}

async fn run(context: &Context, id: u64, command: Command) -> Result<Done, ApiError> {
    // Whoever it is now: it may have waited.
    let caller = context.caller().ok_or_else(unauthenticated)?;
    count(context, &caller.entrant, &command).await?;
    match command {
        Command::Connect(frame) => connect(context, &caller, frame).await,
        Command::Subscribe(frame) => subscribe(context, &caller, frame).await,
        Command::Unsubscribe(frame) => Ok(Done::Unsubscribed(frame.channel.parse()?)),
        Command::Refresh(frame) => refresh(context, &caller, frame).await,
        Command::Chat(frame) => chat(context, &caller, id, *frame).await,
        Command::Cancel(frame) => cancel(context, &caller, &frame.turn_id).await,
        Command::Typing(frame) => typing(context, &caller, &frame).await,
        Command::Ping => Ok(Done::Empty),
    }
}

/// Counts a command as the operation of the same effect is counted.
async fn count(context: &Context, entrant: &Entrant, command: &Command) -> Result<(), ApiError> {
    let cost: &[RatePolicy] = match command {
        Command::Chat(_) => scope_table::cost_of("POST", "/api/chat"),
        _ => scope_table::ONE_REQUEST,
    };
    check_counts(&context.state.limits.take(entrant, cost).await)
}

async fn refresh(
    context: &Context,
    caller: &Caller,
    frame: RefreshFrame,
) -> Result<Done, ApiError> {
    let entrant = present(context, &frame.token).await?;
    if !caller.entrant.may_go_on_as(&entrant) {
        let detail = "the socket belongs to another principal";
        return Err(ApiError::new(ProblemCode::InvalidCredentials).with_detail(detail));
    }
    check_page(&entrant, context.page.as_deref())?;
    context.services.open::<EventsRead>(Arc::clone(&entrant))?;
    Ok(Done::Refreshed(entrant))
}

async fn chat(
    context: &Context,
    caller: &Caller,
    id: u64,
    frame: ChatFrame,
) -> Result<Done, ApiError> {
    let services = context.open::<ChatWrite>(caller)?;
    let who = caller.principal();
    let request_id = context.request_id(Some(id));
    let command = frame.request.into_command(Some(request_id))?;
    // What the turn causes comes behind it.
    let position = caller.tail.position();
    let asked = services
        .chat
        .ask(who, command, frame.idempotency_key)
        .await?;
    let is_replayed = asked.is_replayed;
    let turn = services.turns.asked(who, asked).await?;
    Ok(Done::Chatted(Chatted {
        turn: Box::new(turn),
        is_replayed,
        position,
    }))
}

async fn cancel(context: &Context, caller: &Caller, turn_id: &str) -> Result<Done, ApiError> {
    let services = context.open::<ChatWrite>(caller)?;
    let malformed = |_malformed| ApiError::new(ProblemCode::TurnNotFound);
    let id: TurnId = turn_id.parse().map_err(malformed)?;
    let turn = services.turns.cancel(caller.principal(), id).await?;
    Ok(Done::Cancelled(Box::new(turn)))
}

async fn typing(context: &Context, caller: &Caller, frame: &TypingFrame) -> Result<Done, ApiError> {
    let services = context.open::<ChatWrite>(caller)?;
    let malformed = |_malformed| ApiError::new(ProblemCode::ConversationNotFound);
    let id: ConversationId = frame.conversation_id.parse().map_err(malformed)?;
    let who = caller.principal();
    let conversation = services.conversations.reach(who, id).await?;
    services
        .typing
        .tell(who, &context.connection_id, &conversation, frame.typing);
    Ok(Done::Empty)
}
