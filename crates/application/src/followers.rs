//! Followers of the logs: background work for every event of every tenant, once and in order.
//!
//! A follower has a position in each tenant's log, which is stored. Work that writes only rows of its own moves
//! the position in the same transaction, so each effect happens exactly once. Work with effects elsewhere moves it
//! afterwards, so each effect happens at least once. One node runs a follower at a time. Should two do so while a
//! lease changes hands, only one of them moves a position.

mod runner;

use async_trait::async_trait;
use domain::{EventType, Seq, TenantId};
use ports::{FollowerPosition, FollowerRepository, FollowerStep, LoggedEvent, RepositoryError};

pub use runner::FollowerRunner;

/// The work of a follower.
#[async_trait]
pub trait FollowerWork: Send + Sync {
    /// Returns the name of the follower, which is stored with its positions.
    fn name(&self) -> &'static str;

    /// Returns the types of the events that the work needs; all types if empty.
    fn types(&self) -> &'static [EventType] {
        &[]
    }

    /// Returns the positions in the logs of all tenants in which the follower has begun.
    async fn positions(&self) -> Result<Vec<(TenantId, FollowerPosition)>, RepositoryError>;

    /// Begins at the head of a tenant's log, for the first time or because the log does not reach the position
    /// `from`. Returns the new position, or `None` if another process has moved it.
    async fn begin(
        &self,
        tenant: &TenantId,
        from: Option<FollowerPosition>,
        head: Seq,
    ) -> Result<Option<FollowerPosition>, RepositoryError>;

    /// Does the work for the events of a step, and moves the position. Returns `false` if another process has moved
    /// it. The same events can come again, also when their subjects were deleted since.
    async fn apply(
        &self,
        step: &FollowerStep,
        events: &[LoggedEvent],
    ) -> Result<bool, RepositoryError>;

    /// Does a part of the work for what was there before the follower's first event, and moves the position.
    /// Returns the new one, or `None` if another process has moved it. Called while
    /// [`FollowerPosition::backfilled_to`] is set, which [`Self::begin`] decides.
    async fn backfill(
        &self,
        _tenant: &TenantId,
        from: FollowerPosition,
    ) -> Result<Option<FollowerPosition>, RepositoryError> {
        Ok(Some(from))
    }
}

/// Begins at the head of a log without a backfill, for work with effects elsewhere.
pub(crate) async fn begin_at_head(
    followers: &dyn FollowerRepository,
    name: &str,
    tenant: &TenantId,
    from: Option<FollowerPosition>,
    head: Seq,
) -> Result<Option<FollowerPosition>, RepositoryError> {
    let to = FollowerPosition::at(head);
    let step = FollowerStep::new(tenant, from, to);
    let begun = followers.advance(name, &step).await?;
    Ok(begun.then_some(to))
}
