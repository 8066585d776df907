//! Who comes in, and what they follow.

use std::{cell::Cell, sync::Arc};

use application::{
    access::{AccessError, Entrant, PresentedCredential},
    realtime::{PageSize, visibility},
};
use domain::{Fault, FaultCode, ProblemCode, Seq};
use futures::{StreamExt as _, stream};
use ports::LogBounds;
use secrecy::{ExposeSecret as _, SecretString};

use super::{Connected, Done, Opened, Refusal};
use crate::{
    access::{
        AgentEventsRead, EventsRead, TurnsRead, check_counts, check_page, scope_table,
        unauthenticated,
    },
    problem::ApiError,
    socket::{
        CloseCode,
        context::{Admission, Caller, Context, admit},
        frames::{Channel, ConnectFrame, SubscribeFrame},
        subscriptions::{Coverage, MOST_REPLAYED, Past},
    },
};

/// Channels of one `connect` that are looked at in the store at the same time.
const AT_ONCE: usize = 4;

/// `connect` of a socket whose upgrade carried no credential.
pub(super) async fn enter(context: &Context, frame: ConnectFrame) -> Result<Done, Refusal> {
    let token = frame.token.ok_or_else(|| not_admitted(unauthenticated()))?;
    let entrant = present(context, &token).await;
    let entrant = entrant.map_err(|error| not_admitted(error.into()))?;
    let admission = enter_as(context, entrant).await.map_err(not_admitted)?;
    let channels = open_all(context, &admission.caller, frame.channels, frame.since).await;
    let channels = channels.map_err(not_admitted)?;
    Ok(Done::Connected(Connected {
        head: admission.caller.tail.position(),
        admission: Some(Box::new(admission)),
        channels,
    }))
}

pub(super) async fn present(
    context: &Context,
    token: &SecretString,
) -> Result<Arc<Entrant>, AccessError> {
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
pub(super) fn not_admitted(error: ApiError) -> Refusal {
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
pub(super) async fn connect(
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
        channels: open_all(context, caller, frame.channels, frame.since).await?,
    }))
}

/// Looks at each channel that was named.
async fn open_all(
    context: &Context,
    caller: &Caller,
    names: Vec<String>,
    since: Option<i64>,
) -> Result<Vec<(String, Result<Opened, ApiError>)>, ApiError> {
    let from = look_back(context, caller, since).await?;
    let is_away = Cell::new(false);
    let channels = names.into_iter().map(async |name| {
        if is_away.get() {
            let error = ApiError::new(ProblemCode::StoreUnavailable);
            let source = "the channel before this one found the store away";
            return (name, Err(error.because(source)));
        }
        let opened = open(context, caller, &name, from).await;
        if matches!(&opened, Err(error) if error.code == ProblemCode::StoreUnavailable) {
            is_away.set(true);
        }
        (name, opened)
    });
    Ok(stream::iter(channels).buffered(AT_ONCE).collect().await)
}

pub(super) async fn subscribe(
    context: &Context,
    caller: &Caller,
    frame: SubscribeFrame,
) -> Result<Done, ApiError> {
    let from = look_back(context, caller, frame.since).await?;
    let opened = open(context, caller, &frame.channel, from).await?;
    Ok(Done::Subscribed(opened))
}

/// From where on channels are followed.
#[derive(Clone, Copy)]
struct Beginning {
    since: Option<Seq>,
    /// The bounds of the log, if memory does not hold what comes after `since`.
    bounds: Option<LogBounds>,
    /// Where the log stood before the channels were looked at: when one of them is deleted right
    /// after, that is told as an event.
    head: Seq,
}

async fn look_back(
    context: &Context,
    caller: &Caller,
    since: Option<i64>,
) -> Result<Beginning, ApiError> {
    let log = &context.open::<EventsRead>(caller)?.log;
    let since = since.map(Seq);
    // Without `since` nothing older than the tail's position is sent.
    let bounds = match since {
        Some(since) => {
            let bounds = log.catch_up(&caller.tail).await?;
            (!caller.tail.holds(since)).then_some(bounds)
        }
        None => None,
    };
    Ok(Beginning {
        since,
        bounds,
        head: caller.tail.position(),
    })
}

/// Looks whether there is such a channel for the caller.
async fn open(
    context: &Context,
    caller: &Caller,
    name: &str,
    from: Beginning,
) -> Result<Opened, ApiError> {
    let channel: Channel = name.parse()?;
    let who = caller.principal();
    let agent = match channel {
        Channel::Tenant => None,
        Channel::Agent(id) => {
            let services = context.open::<AgentEventsRead>(caller)?;
            services.agents.get(who, id).await?;
            None
        }
        Channel::Conversation(id) => match context.open::<TurnsRead>(caller) {
            Ok(services) => Some(services.conversations.reach(who, id).await?.agent_id),
            // It may hear of turns that it began itself, but not whether there is anything else.
            Err(_lacking) => None,
        },
    };
    let past = match from.since {
        Some(since) => Some(look_into_past(context, caller, channel, since, from.bounds).await?),
        None => None,
    };
    Ok(Opened {
        channel,
        agent,
        past,
        head: from.head,
    })
}

/// Counts what a channel would replay only if the log holds more than a replay may.
async fn look_into_past(
    context: &Context,
    caller: &Caller,
    channel: Channel,
    since: Seq,
    bounds: Option<LogBounds>,
) -> Result<Past, ApiError> {
    let Some(bounds) = bounds else {
        return Ok(Past {
            since,
            coverage: Coverage::Whole,
        });
    };
    let distance = usize::try_from(bounds.head.0 - since.0).unwrap_or(0);
    let coverage = if !bounds.reach(since) {
        Coverage::Expired
    } else if distance <= MOST_REPLAYED {
        Coverage::Whole
    } else {
        let services = context.open::<EventsRead>(caller)?;
        let filter = channel.filter(&visibility(caller.principal()));
        let size = PageSize {
            events: MOST_REPLAYED + 1,
            bytes: 0,
        };
        let query = filter.query(since, size);
        match services.log.count(caller.tail.tenant(), query).await? {
            count if count > MOST_REPLAYED => Coverage::TooLong,
            _ => Coverage::Whole,
        }
    };
    Ok(Past { since, coverage })
}

/// What a client is told that connects a second time.
pub(in crate::socket) fn connected_before() -> ApiError {
    let fault = Fault::new("/type", FaultCode::NotCombinable, "a socket connects once");
    ApiError::faults(ProblemCode::ValidationFailed, vec![fault])
}

/// What a client is told that is known, and commands something before it connects.
pub(in crate::socket) fn not_connected() -> ApiError {
    let fault = Fault::new("/type", FaultCode::NotCombinable, "`connect` comes first");
    ApiError::faults(ProblemCode::ValidationFailed, vec![fault])
}
