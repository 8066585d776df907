//! Opening channels, and the command `subscribe`.

use std::cell::Cell;

use application::realtime::{PageSize, visibility};
use domain::{ProblemCode, Seq};
use futures::{StreamExt as _, stream};
use ports::LogBounds;

use super::{CommandOutcome, OpenedChannel};
use crate::{
    auth::{AgentEventsRead, EventsRead, TurnsRead},
    problem::ApiError,
    socket::{
        context::{Caller, Context},
        frames::{Channel, SubscribeFrame},
        subscriptions::{MAX_REPLAYED_EVENTS, ReplayAvailability, ReplayRequest},
    },
};

/// The maximum number of channels of one `connect` that are checked in the store concurrently.
const MAX_CONCURRENT_CHECKS: usize = 4;

/// Checks each requested channel.
pub(super) async fn open_channels(
    context: &Context,
    caller: &Caller,
    names: Vec<String>,
    since: Option<i64>,
) -> Result<Vec<(String, Result<OpenedChannel, ApiError>)>, ApiError> {
    let from = replay_start(context, caller, since).await?;
    let is_store_unavailable = Cell::new(false);
    let channels = names.into_iter().map(async |name| {
        if is_store_unavailable.get() {
            let error = ApiError::new(ProblemCode::StoreUnavailable);
            let source = "the store was unavailable for an earlier channel";
            return (name, Err(error.with_source(source)));
        }
        let opened = open(context, caller, &name, from).await;
        if matches!(&opened, Err(error) if error.code == ProblemCode::StoreUnavailable) {
            is_store_unavailable.set(true);
        }
        (name, opened)
    });
    Ok(stream::iter(channels)
        .buffered(MAX_CONCURRENT_CHECKS)
        .collect()
        .await)
}

/// Executes `subscribe`.
pub(super) async fn subscribe(
    context: &Context,
    caller: &Caller,
    frame: SubscribeFrame,
) -> Result<CommandOutcome, ApiError> {
    let from = replay_start(context, caller, frame.since).await?;
    let opened = open(context, caller, &frame.channel, from).await?;
    Ok(CommandOutcome::Subscribed(opened))
}

/// The position from which channels are followed.
#[derive(Clone, Copy)]
struct ReplayStart {
    since: Option<Seq>,
    /// The bounds of the log, if memory does not hold the events after `since`.
    bounds: Option<LogBounds>,
    /// The head of the log before the channels are checked, so that the deletion of a channel after
    /// the check is sent as an event.
    head: Seq,
}

async fn replay_start(
    context: &Context,
    caller: &Caller,
    since: Option<i64>,
) -> Result<ReplayStart, ApiError> {
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
    Ok(ReplayStart {
        since,
        bounds,
        head: caller.tail.position(),
    })
}

/// Checks that the channel exists and that the caller may see it.
async fn open(
    context: &Context,
    caller: &Caller,
    name: &str,
    from: ReplayStart,
) -> Result<OpenedChannel, ApiError> {
    let channel: Channel = name.parse()?;
    let principal = caller.principal();
    let agent = match channel {
        Channel::Tenant => None,
        Channel::Agent(id) => {
            let services = context.open::<AgentEventsRead>(caller)?;
            services.agents.get(principal, id).await?;
            None
        }
        Channel::Conversation(id) => match context.open::<TurnsRead>(caller) {
            Ok(services) => Some(
                services
                    .conversations
                    .find_accessible(principal, id)
                    .await?
                    .agent_id,
            ),
            // The caller receives events of its own turns, but must not learn whether the
            // conversation exists.
            Err(_missing_scope) => None,
        },
    };
    let replay = match from.since {
        Some(since) => Some(check_replay(context, caller, channel, since, from.bounds).await?),
        None => None,
    };
    Ok(OpenedChannel {
        channel,
        agent,
        replay,
        head: from.head,
    })
}

/// Determines whether a replay is available. Matching events are counted only if the log holds more
/// events after `since` than a replay may contain.
async fn check_replay(
    context: &Context,
    caller: &Caller,
    channel: Channel,
    since: Seq,
    bounds: Option<LogBounds>,
) -> Result<ReplayRequest, ApiError> {
    let Some(bounds) = bounds else {
        return Ok(ReplayRequest {
            since,
            availability: ReplayAvailability::Complete,
        });
    };
    let distance = usize::try_from(bounds.head.0 - since.0).unwrap_or(0);
    let availability = if !bounds.reach(since) {
        ReplayAvailability::Expired
    } else if distance <= MAX_REPLAYED_EVENTS {
        ReplayAvailability::Complete
    } else {
        let services = context.open::<EventsRead>(caller)?;
        let filter = channel.filter(&visibility(caller.principal()));
        let size = PageSize {
            events: MAX_REPLAYED_EVENTS + 1,
            bytes: 0,
        };
        let query = filter.query(since, size);
        match services.log.count(caller.tail.tenant(), query).await? {
            count if count > MAX_REPLAYED_EVENTS => ReplayAvailability::TooLong,
            _ => ReplayAvailability::Complete,
        }
    };
    Ok(ReplayRequest {
        since,
        availability,
    })
}
