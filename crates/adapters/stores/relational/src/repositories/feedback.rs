//! Ratings of messages.

use async_trait::async_trait;
use domain::{AsOf, Rating, TenantId};
use ports::{FeedbackPage, FeedbackQuery, FeedbackRepository, RepositoryError};

use super::Repositories;
use crate::{
    Parameter, Store, agent_ids, page_budget, parameters,
    read::{self, ReadAs},
    statements,
    stored::StoredListedFeedback,
};

/// The statements on the ratings of tenant 1.
pub trait FeedbackSql: Store<Row: ReadAs<StoredListedFeedback>> {
    statements! {
        /// At most 3 of the 10,000 ratings before position 2, the newest first, joined to the tenant's head. They
        /// pass the filters 4 (agents), 5 (the rating), 6 (from a time), 7 (to a time) and 8 (of a user), each
        /// unless it is null. The last of the 10,000 follows whether it passes or not, with `is_last`.
        const LIST: &'static str;
    }
}

#[async_trait]
impl<S: FeedbackSql> FeedbackRepository for Repositories<S> {
    async fn list(
        &self,
        tenant: &TenantId,
        query: &FeedbackQuery,
    ) -> Result<AsOf<FeedbackPage>, RepositoryError> {
        let agents = agent_ids(&query.agents);
        let parameters = parameters![
            tenant,
            query.before.map_or(i64::MAX, |before| before.0),
            page_budget::one_more(query.limit),
            Parameter::Ids(agents.as_deref()),
            query.rating.as_ref().map(Rating::as_str),
            query.from,
            query.to,
            query.user_id.as_deref(),
        ];
        let rows = self.0.fetch_all(S::LIST, parameters).await?;
        let page = read::as_of_page("feedback", &rows, query.limit, Ok)?;
        Ok(page.map(|page| {
            let last: Option<&StoredListedFeedback> = page.items.last();
            let next = last.filter(|last| page.has_more || last.is_last());
            FeedbackPage {
                next: next.map(StoredListedFeedback::sort_seq),
                items: page
                    .items
                    .into_iter()
                    .filter_map(StoredListedFeedback::into_rated)
                    .collect(),
            }
        }))
    }
}
