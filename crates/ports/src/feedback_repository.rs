//! Ratings of messages in a store.

use async_trait::async_trait;
use domain::{AgentReach, AsOf, RatedMessage, Rating, Seq, TenantId, Timestamp};

use crate::RepositoryError;

/// A request for one page of the ratings of a tenant; members that are set must all match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedbackQuery {
    /// Only ratings of messages of these agents.
    pub agents: AgentReach,
    /// Only ratings by this user, in its own conversations.
    pub user_id: Option<String>,
    /// Only these ratings.
    pub rating: Option<Rating>,
    /// Only ratings that have changed last at this time or later.
    pub from: Option<Timestamp>,
    /// Only ratings that have changed last before this time.
    pub to: Option<Timestamp>,
    /// The position before which the page starts; `None` for the newest.
    pub before: Option<Seq>,
    /// The maximum number of ratings.
    pub limit: usize,
}

/// A page of ratings.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedbackPage {
    /// The ratings.
    pub items: Vec<RatedMessage>,
    /// The position before which the next page starts; `None` if there is none.
    pub next: Option<Seq>,
}

/// Ratings of messages in a store.
#[async_trait]
pub trait FeedbackRepository: Send + Sync {
    /// Lists ratings, the one that has changed last first, in the commit order of the changes. Those of
    /// conversations and agents that are deleted MUST be left out. Looks at no more than 10,000 ratings, so a
    /// page can be short, or empty, although others follow. A page MUST end at about `sizes::PAGE_BYTES`.
    async fn list(
        &self,
        tenant: &TenantId,
        query: &FeedbackQuery,
    ) -> Result<AsOf<FeedbackPage>, RepositoryError>;
}
