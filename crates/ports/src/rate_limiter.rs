//! Rate limits per principal.

use std::{any::Any, num::NonZeroU32, time::Duration};

use async_trait::async_trait;
use domain::{Quota, QuotaHolder, RatePolicy};

use crate::BoxError;

/// The reasons why a limit cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum RateLimiterError {
    /// The storage of the counters cannot be reached.
    #[error("the rate limiter is unavailable")]
    Unavailable(#[source] BoxError),
}

/// The outcome of a request for units of a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaDecision {
    /// `true` if the units were granted.
    pub is_admitted: bool,
    /// The number of units that can still be taken at once; 0 after a rejection.
    pub remaining: u32,
    /// The time until one more than `remaining` can be taken; after a rejection, until the
    /// requested units can be taken.
    pub more_in: Duration,
}

/// One of the open streams that a principal may have. The slot is released on drop.
pub struct StreamSlot(
    #[expect(dead_code, reason = "held for its drop")] Box<dyn Any + Send + Sync>,
);

impl StreamSlot {
    /// Creates a slot that drops `guard` when it is released.
    pub fn new(guard: impl Any + Send + Sync) -> Self {
        Self(Box::new(guard))
    }
}

/// Rate limits per principal. Memory MUST be bounded by the principals that were active recently,
/// not by all that ever were.
#[async_trait]
pub trait RateLimiter: Send + Sync {
    /// Takes units of a holder's quota for a policy, all or none. MUST grant `burst` units at once
    /// to a holder that was idle, and after that `per_minute` units per minute, evenly. MUST take
    /// nothing on a rejection; the same request MUST succeed after `more_in` if no other request
    /// took units. A request for more units than `burst` MUST count as `burst`.
    async fn take(
        &self,
        holder: &QuotaHolder,
        policy: RatePolicy,
        quota: Quota,
        units: NonZeroU32,
    ) -> Result<QuotaDecision, RateLimiterError>;

    /// Opens one stream of a principal. Returns `None` if `most` streams are already open. MUST
    /// release the slot when it is dropped.
    async fn open_stream(
        &self,
        holder: &QuotaHolder,
        most: u32,
    ) -> Result<Option<StreamSlot>, RateLimiterError>;
}
