//! Opening channels, and the command `subscribe`.

use std::cell::Cell;

use application::realtime::{PageSize, visibility};
use domain::{ProblemCode, Seq};
use futures::{StreamExt as _, stream};
use kit::{
    auth::{AgentEventsRead, EventsRead, TurnsRead},
    problem::ApiError,
};

use super::{
    CommandOutcome, OpenedChannel,
    far_region::{LogState, await_writes, confirm_agent, confirm_conversation, state_of_log},
};
use crate::{
    context::{Caller, Context},
    frames::{Channel, SubscribeFrame},
    subscriptions::{MAX_REPLAYED_EVENTS, ReplayAvailability, ReplayRequest},
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
    await_writes(context, caller).await?;
    let from = replay_start(context, caller, since).await?;
    let is_store_unavailable = Cell::new(false);
    let channels = names.into_iter().map(async |name| {
        if is_store_unavailable.get() {
            let error = ApiError::new(ProblemCode::StoreUnavailable);
            let source = "the store was unavailable for an earlier channel";
            return (name, Err(error.with_source(source)));
        }
        let opened = open(context, caller, &name, from).await;
        if matches!(&opened, Err(error) if is_unavailable(error.code)) {
            is_store_unavailable.set(true);
        }
        (name, opened)
    });
    Ok(stream::iter(channels)
        .buffered(MAX_CONCURRENT_CHECKS)
        .collect()
        .await)
}

/// Returns whether other channels would fail in the same way, each after a while.
fn is_unavailable(code: ProblemCode) -> bool {
    matches!(
        code,
        ProblemCode::StoreUnavailable | ProblemCode::HomeUnavailable
    )
}

/// Executes `subscribe`.
pub(super) async fn subscribe(
    context: &Context,
    caller: &Caller,
    frame: SubscribeFrame,
) -> Result<CommandOutcome, ApiError> {
    await_writes(context, caller).await?;
    let from = replay_start(context, caller, frame.since).await?;
    let opened = open(context, caller, &frame.channel, from).await?;
    Ok(CommandOutcome::Subscribed(opened))
}

/// The position from which channels are followed.
#[derive(Clone, Copy)]
struct ReplayStart {
    since: Option<Seq>,
    /// The state of the log, if memory does not hold the events after `since`.
    log: Option<LogState>,
    /// The head of the log before the channels are checked, so that the deletion of a channel after
    /// the check is sent as an event.
    head: Seq,
}

async fn replay_start(
    context: &Context,
    caller: &Caller,
    since: Option<i64>,
) -> Result<ReplayStart, ApiError> {
    let services = context.open::<EventsRead>(caller)?;
    let since = since.map(Seq);
    // Without `since` nothing older than the tail's position is sent.
    let log = match since {
        Some(since) => {
            let log = state_of_log(context, caller, &services.log, since).await?;
            (!caller.tail.holds(since)).then_some(log)
        }
        None => None,
    };
    let head = caller.tail.position();
    let is_behind = matches!(log, Some(LogState::Behind));
    Ok(ReplayStart {
        since,
        log,
        head: head.max(since.filter(|_| is_behind).unwrap_or(head)),
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
            if let Err(error) = services.agents.get(principal, id).await {
                confirm_agent(context, caller, id, error.into()).await?;
            }
            None
        }
        Channel::Conversation(id) => match context.open::<TurnsRead>(caller) {
            Ok(services) => {
                let found = services.conversations.find_accessible(principal, id);
                Some(match found.await {
                    Ok(conversation) => conversation.agent_id,
                    Err(error) => confirm_conversation(context, caller, id, error.into()).await?,
                })
            }
            // The caller receives events of its own turns, but must not learn whether the
            // conversation exists.
            Err(_missing_scope) => None,
        },
    };
    let replay = match from.since {
        Some(since) => Some(check_replay(context, caller, channel, since, from.log).await?),
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
    log: Option<LogState>,
) -> Result<ReplayRequest, ApiError> {
    let available = |availability| ReplayRequest {
        since,
        availability,
    };
    let bounds = match log {
        None => return Ok(available(ReplayAvailability::Complete)),
        Some(LogState::Behind) => return Ok(available(ReplayAvailability::Awaited)),
        Some(LogState::Bounds(bounds)) => bounds,
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
    Ok(available(availability))
}
