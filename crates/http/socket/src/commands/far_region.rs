//! Conversations and cursors that the replica of a far region does not have yet.

use application::realtime::LogReader;
use domain::{AgentId, ConversationId, ProblemCode, Seq};
use kit::problem::ApiError;
use ports::LogBounds;
use regions::RegionRole;
use serde::{Deserialize, de::IgnoredAny};

use crate::context::{Caller, Context};

/// The state of a log in relation to a cursor.
#[derive(Clone, Copy)]
pub(super) enum LogState {
    /// The log of this region has these bounds.
    Bounds(LogBounds),
    /// The log at home contains the cursor, and the replica of this region will.
    Behind,
}

/// The member of a conversation that a subscription uses.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConversationAtHome {
    agent_id: AgentId,
}

/// Waits until the replica has the caller's newest write through this node, or for the usual time.
pub(super) async fn await_writes(context: &Context, caller: &Caller) -> Result<(), ApiError> {
    let RegionRole::Far(far) = &context.regions.role else {
        return Ok(());
    };
    if let Some(position) = far.required_position(&caller.auth, None) {
        let (tenant, wait) = (caller.tail.tenant(), far.wait_for_replica());
        let positions = &context.state.region.positions;
        positions.reaches(tenant, position, wait).await?;
    }
    Ok(())
}

/// Reads the log of this region. A cursor that the replica of a far region does not reach in time is
/// judged at home.
pub(super) async fn state_of_log(
    context: &Context,
    caller: &Caller,
    log: &LogReader,
    since: Seq,
) -> Result<LogState, ApiError> {
    let bounds = log.catch_up(&caller.tail).await?;
    let RegionRole::Far(far) = &context.regions.role else {
        return Ok(LogState::Bounds(bounds));
    };
    if since <= bounds.head {
        return Ok(LogState::Bounds(bounds));
    }
    let (tenant, wait) = (caller.tail.tenant(), far.wait_for_replica());
    let positions = &context.state.region.positions;
    let is_reached = positions.reaches(tenant, since, wait).await?;
    if !is_reached && far.has_position(&caller.auth, since).await? {
        return Ok(LogState::Behind);
    }
    Ok(LogState::Bounds(log.catch_up(&caller.tail).await?))
}

/// Confirms at home that an agent is missing.
pub(super) async fn confirm_agent(
    context: &Context,
    caller: &Caller,
    id: AgentId,
    missing: ApiError,
) -> Result<(), ApiError> {
    let RegionRole::Far(far) = &context.regions.role else {
        return Err(missing);
    };
    if missing.code != ProblemCode::AgentNotFound {
        return Err(missing);
    }
    let found = far.find(&caller.auth, &format!("/api/agents/{id}")).await?;
    found.map(|_: IgnoredAny| ()).ok_or(missing)
}

/// Confirms at home that a conversation is missing; returns its agent if it is not.
pub(super) async fn confirm_conversation(
    context: &Context,
    caller: &Caller,
    id: ConversationId,
    missing: ApiError,
) -> Result<AgentId, ApiError> {
    let RegionRole::Far(far) = &context.regions.role else {
        return Err(missing);
    };
    if missing.code != ProblemCode::ConversationNotFound {
        return Err(missing);
    }
    let path = format!("/api/conversations/{id}");
    let found = far.find(&caller.auth, &path).await?;
    found
        .map(|it: ConversationAtHome| it.agent_id)
        .ok_or(missing)
}
