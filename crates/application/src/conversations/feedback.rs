//! Ratings of messages.

use domain::{
    AgentId, AsOf, Audience, ConversationId, ConversationState, Feedback, MessageId, Page,
    Principal, RatedMessage, Rating, Role, Seq, Timestamp, cursor, event_data::MessagePlace,
};
use ports::{FeedbackQuery, MessageReference};
use serde::Serialize;
use writes::{RateMessage, RateOutcome, Rater};

use super::{ConversationError, ConversationService};

/// The selection of a listing of ratings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FeedbackListing {
    /// The agent whose messages were rated.
    pub agent_id: Option<AgentId>,
    /// The rating.
    pub rating: Option<Rating>,
    /// The time of the last change at the earliest.
    pub from: Option<Timestamp>,
    /// The time before which the last change was.
    pub to: Option<Timestamp>,
}

impl ConversationService {
    /// Rates a message of the agent or of staff, for the caller or for the user that it names. `None` deletes
    /// the rating. Returns it as stored.
    pub async fn rate(
        &self,
        caller: &Principal,
        (id, message): (ConversationId, MessageId),
        named: Option<&str>,
        rating: Option<(Rating, Option<String>)>,
    ) -> Result<Option<Feedback>, ConversationError> {
        if named.is_some() && caller.user_id.is_some() && caller.user_id.as_deref() != named {
            return Err(ConversationError::ForeignUser);
        }
        let state = self.find_accessible(caller, id).await?;
        if named.is_some() && named != state.user_id.as_deref() {
            return Err(ConversationError::NotFound);
        }
        let reference = MessageReference::Id(message);
        let conversations = &self.ports.conversations;
        let found = conversations.find_message(&caller.tenant, id, &reference);
        let found = found.await?.map(|found| found.message);
        let found = found.filter(|message| message.role == Role::Agent);
        let found = found.ok_or(ConversationError::MessageNotFound)?;
        let rate = RateMessage {
            tenant: caller.tenant.clone(),
            conversation_id: id,
            message: MessagePlace {
                id: found.id,
                seq: found.seq,
            },
            rater: rater(caller, named.is_some(), &state),
            rating,
            stamp: self.stamp(caller),
        };
        match self.ports.writes.write(rate).await? {
            RateOutcome::Rated { feedback, .. } => Ok(feedback),
            RateOutcome::NotFound => Err(ConversationError::NotFound),
            RateOutcome::MessageNotFound => Err(ConversationError::MessageNotFound),
        }
    }

    /// Lists ratings, the one that has changed last first, and returns the cursor of the next page. Callers
    /// that are confined to a user see their own.
    pub async fn list_feedback(
        &self,
        caller: &Principal,
        listing: FeedbackListing,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<AsOf<(Page<RatedMessage>, Option<String>)>, ConversationError> {
        let user_id = caller.confined_to().map(str::to_owned);
        let binding = (caller.tenant.as_str(), "feedback", &user_id, &listing);
        let before = cursor
            .map(|cursor| cursor::decode::<Seq>(&binding, cursor))
            .transpose()
            .map_err(|_invalid| ConversationError::InvalidCursor)?;
        let query = FeedbackQuery {
            agents: caller.agents.narrowed_to(listing.agent_id),
            user_id: user_id.clone(),
            rating: listing.rating,
            from: listing.from,
            to: listing.to,
            before,
            limit,
        };
        let found = self.feedback.list(&caller.tenant, &query).await?;
        Ok(found.map(|mut found| {
            if caller.audience() == Audience::User {
                found.items.retain(|rated| rated.feedback.is_of_user());
            }
            let next = found.next.map(|next| cursor::encode(&binding, &next));
            let page = Page {
                items: found.items,
                has_more: next.is_some(),
            };
            (page, next)
        }))
    }
}

/// Returns who rates: the user of the conversation, if the caller is that user or acts for it.
fn rater(caller: &Principal, names_user: bool, state: &ConversationState) -> Rater {
    let owner = state.user_id.clone();
    let is_owner =
        |owner: &String| names_user || caller.names_user || caller.user_id.as_ref() == Some(owner);
    match owner.filter(is_owner) {
        Some(owner) => Rater::User(owner),
        None => Rater::Principal(caller.id.clone()),
    }
}
