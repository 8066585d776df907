//! Carries commands out.

use std::{rc::Rc, sync::Arc};

use application::access::{AccessError, Entrant, PresentedCredential};
use domain::{
    AgentId, ConversationId, Fault, FaultCode, ProblemCode, RatePolicy, Seq, Turn, TurnId,
};
use secrecy::{ExposeSecret as _, SecretString};

use super::{
    CloseCode,
    context::{Admission, Caller, Context, admit},
    frames::{
        Channel, ChatFrame, Command, ConnectFrame, RefreshFrame, SubscribeFrame, TypingFrame,
    },
};
use crate::{
    access::{
        AgentEventsRead, ChatWrite, EventsRead, check_counts, check_page, scope_table,
        unauthenticated,
    },
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
    /// From where on.
    pub(super) since: Option<Seq>,
    /// Whether the log reaches back to there.
    pub(super) recovered: bool,
    /// Where the log stood before it was looked whether the channel is there.
    pub(super) head: Seq,
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

/// Carries one command out. Those that could tread on each other's heels are carried out in the
/// order in which they are polled first.
pub(super) async fn carry_out(context: Rc<Context>, command: Command) -> Result<Done, Refusal> {
    let keeps_order = !matches!(command, Command::Ping | Command::Cancel(_));
    let _turn = match keeps_order {
        true => Some(context.order.lock().await),
        false => None,
    };
    let Some(caller) = context.caller() else {
        return match command {
            Command::Connect(frame) => enter(&context, frame).await,
            _ => Err(not_admitted(unauthenticated())),
        };
    };
    count(&context, &caller.entrant, &command).await?;
    let done = match command {
        Command::Connect(frame) => connect(&context, &caller, frame).await?,
        Command::Subscribe(frame) => subscribe(&context, &caller, frame).await?,
        Command::Unsubscribe(frame) => Done::Unsubscribed(
            frame
                .channel
                .parse()
                .map_err(|error| ApiError::from(error))?,
        ),
        Command::Refresh(frame) => refresh(&context, &caller, frame).await?,
        Command::Chat(frame) => chat(&context, &caller, *frame).await?,
        Command::Cancel(frame) => cancel(&context, &caller, &frame.turn_id).await?,
        Command::Typing(frame) => typing(&context, &caller, &frame).await?,
        Command::Ping => Done::Empty,
    };
    Ok(done)
}

/// Counts a command as the operation of the same effect is counted.
async fn count(context: &Context, entrant: &Entrant, command: &Command) -> Result<(), ApiError> {
    let cost: &[RatePolicy] = match command {
        Command::Chat(_) => scope_table::cost_of("POST", "/api/chat"),
        _ => scope_table::ONE_REQUEST,
    };
    check_counts(&context.state.limits.take(entrant, cost).await)
}

/// `connect` of a socket whose upgrade carried no credential.
async fn enter(context: &Context, frame: ConnectFrame) -> Result<Done, Refusal> {
    let token = frame.token.ok_or_else(|| not_admitted(unauthenticated()))?;
    let entrant = present(context, &token).await;
    let entrant = entrant.map_err(|error| not_admitted(error.into()))?;
    let admission = enter_as(context, entrant).await.map_err(not_admitted)?;
    let channels = open_all(context, &admission.caller, frame.channels, frame.since).await;
    Ok(Done::Connected(Connected {
        head: admission.caller.tail.position(),
        admission: Some(Box::new(admission)),
        channels,
    }))
}

async fn present(context: &Context, token: &SecretString) -> Result<Arc<Entrant>, AccessError> {
    let credential = PresentedCredential::new(token.expose_secret());
    context.state.authenticator.authenticate(&credential).await
}

async fn enter_as(context: &Context, entrant: Arc<Entrant>) -> Result<Admission, ApiError> {
    check_page(&entrant, context.page.as_deref())?;
    let counts = context
        .state
        .limits
        .take(&entrant, scope_table::ONE_REQUEST);
    check_counts(&counts.await)?;
    admit(&context.state, &context.services, entrant).await
}

/// Whoever is not admitted has come for nothing.
fn not_admitted(error: ApiError) -> Refusal {
    let close = match error.code {
        ProblemCode::TooManyStreams => CloseCode::TooManyConnections,
        ProblemCode::RateLimited => CloseCode::RateLimited,
        code if code.status() >= 500 => CloseCode::Overloaded,
        _ => CloseCode::Unauthenticated,
    };
    Refusal {
        error,
        close: Some(close),
    }
}

/// `connect` of a socket whose upgrade carried a credential.
async fn connect(
    context: &Context,
    caller: &Caller,
    frame: ConnectFrame,
) -> Result<Done, ApiError> {
    if frame.token.is_some() {
        let detail = "the upgrade carried a credential, so `connect` must not";
        return Err(ApiError::new(ProblemCode::AmbiguousCredentials).with_detail(detail));
    }
    Ok(Done::Connected(Connected {
        admission: None,
        head: caller.tail.position(),
        channels: open_all(context, caller, frame.channels, frame.since).await,
    }))
}

async fn open_all(
    context: &Context,
    caller: &Caller,
    names: Vec<String>,
    since: Option<i64>,
) -> Vec<(String, Result<Opened, ApiError>)> {
    let mut channels = Vec::with_capacity(names.len());
    for name in names {
        let opened = open(context, caller, &name, since).await;
        channels.push((name, opened));
    }
    channels
}

async fn subscribe(
    context: &Context,
    caller: &Caller,
    frame: SubscribeFrame,
) -> Result<Done, ApiError> {
    let opened = open(context, caller, &frame.channel, frame.since).await?;
    Ok(Done::Subscribed(opened))
}

/// Looks whether there is such a channel for the caller.
async fn open(
    context: &Context,
    caller: &Caller,
    name: &str,
    since: Option<i64>,
) -> Result<Opened, ApiError> {
    let channel: Channel = name.parse()?;
    // Before it is looked at: when it is deleted right after, that is told as an event.
    let head = caller.tail.position();
    let who = caller.principal();
    let agent = match channel {
        Channel::Tenant => None,
        Channel::Agent(id) => {
            let services = context.open::<AgentEventsRead>(caller)?;
            services.agents.get(who, id).await?;
            None
        }
        Channel::Conversation(id) => {
            let services = context.open::<EventsRead>(caller)?;
            let found = services.conversations.get(who, id).await?;
            Some(found.value.agent_id)
        }
    };
    let since = since.map(Seq);
    let recovered = match since {
        Some(since) => reaches_back_to(context, caller, since).await?,
        None => false,
    };
    Ok(Opened {
        channel,
        agent,
        since,
        recovered,
        head,
    })
}

async fn reaches_back_to(context: &Context, caller: &Caller, since: Seq) -> Result<bool, ApiError> {
    if caller.tail.read(since, 0, |_| false).is_some() {
        return Ok(true);
    }
    let services = context.open::<EventsRead>(caller)?;
    let (first, head) = services.log.bounds(caller.tail.tenant()).await?;
    Ok(since.plus(1) >= first && since <= head)
}

async fn refresh(
    context: &Context,
    caller: &Caller,
    frame: RefreshFrame,
) -> Result<Done, ApiError> {
    let entrant = present(context, &frame.token).await?;
    let name = |it: &Entrant| (it.principal.tenant.clone(), it.principal.id.clone());
    if name(&entrant) != name(&caller.entrant) {
        let detail = "the socket belongs to another principal";
        return Err(ApiError::new(ProblemCode::InvalidCredentials).with_detail(detail));
    }
    check_page(&entrant, context.page.as_deref())?;
    context.services.open::<EventsRead>(Arc::clone(&entrant))?;
    Ok(Done::Refreshed(entrant))
}

async fn chat(context: &Context, caller: &Caller, frame: ChatFrame) -> Result<Done, ApiError> {
    let services = context.open::<ChatWrite>(caller)?;
    let who = caller.principal();
    let command = frame.request.into_command()?;
    // What the turn causes comes behind it.
    let position = caller.tail.position();
    let asked = services
        .chat
        .ask(who, command, frame.idempotency_key)
        .await?;
    let turn = services.turns.get(who, asked.turn_id).await?.value;
    Ok(Done::Chatted(Chatted {
        turn: Box::new(turn),
        is_replayed: asked.is_replayed,
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
    let conversation = services.conversations.get(caller.principal(), id).await?;
    services
        .typing
        .tell(caller.principal(), &conversation.value, frame.typing);
    Ok(Done::Empty)
}

/// What a client is told that connects a second time.
pub(super) fn connected_before() -> ApiError {
    let fault = Fault::new("/type", FaultCode::NotCombinable, "a socket connects once");
    ApiError::faults(ProblemCode::ValidationFailed, vec![fault])
}
