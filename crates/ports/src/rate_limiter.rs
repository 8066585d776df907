//! Counts what principals do.

use std::{any::Any, num::NonZeroU32, time::Duration};

use async_trait::async_trait;
use domain::{Quota, QuotaHolder, RatePolicy};

use crate::BoxError;

/// Why nothing could be counted.
#[derive(Debug, thiserror::Error)]
pub enum RateLimiterError {
    /// The place where it is counted cannot be reached.
    #[error("the rate limiter is unavailable")]
    Unavailable(#[source] BoxError),
}

/// The outcome of asking for units of a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// The units were granted.
    pub is_admitted: bool,
    /// How many more could be taken at once now; 0 after a refusal.
    pub remaining: u32,
    /// How long until one more than `remaining` can be taken; after a refusal, until the units
    /// asked for can be.
    pub more_in: Duration,
}

/// A place among the open streams of a principal; given back when it is dropped.
pub struct StreamSlot(
    #[expect(dead_code, reason = "held for its drop")] Box<dyn Any + Send + Sync>,
);

impl StreamSlot {
    /// A place that ends with `guard`.
    pub fn new(guard: impl Any + Send + Sync) -> Self {
        Self(Box::new(guard))
    }
}

/// Counts what principals do. Memory MUST stay bounded by what was active lately, however many
/// principals there were.
#[async_trait]
pub trait RateLimiter: Send + Sync {
    /// Takes units of a holder's quota for a policy, all or none. MUST give `burst` units at once
    /// to a holder that rested, and `per_minute` in every minute after that, evenly. MUST take
    /// nothing when it refuses; asking again after `more_in` MUST succeed when nobody else asked.
    /// More units than `burst` MUST count as `burst`.
    async fn take(
        &self,
        holder: &QuotaHolder,
        policy: RatePolicy,
        quota: Quota,
        units: NonZeroU32,
    ) -> Result<Taken, RateLimiterError>;

    /// Opens one stream of a principal; `None` when it has `most` open already. MUST free the
    /// place when the slot is dropped.
    async fn open_stream(
        &self,
        holder: &QuotaHolder,
        most: u32,
    ) -> Result<Option<StreamSlot>, RateLimiterError>;
}
