//! The rating of a message.

use domain::{
    ConversationId, Feedback, PrincipalId, Rating, Stamp, TenantId, event_data::MessagePlace,
};
use ports::{
    FactsQuery, RepositoryError,
    write_store::{ConversationFacts, FeedbackDeletion, FeedbackKey, FeedbackRow},
};

use crate::{Command, Committed, Part, Planned, Planner, Scope, event_rows};

/// Stores, changes or deletes the rating of a message by one rater. Writes `message.rated`, unless nothing
/// changes.
#[derive(Debug, Clone)]
pub struct RateMessage {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The message, which does not move.
    pub message: MessagePlace,
    /// The one who rates.
    pub rater: Rater,
    /// The rating and its comment; `None` if it is deleted.
    pub rating: Option<(Rating, Option<String>)>,
    /// The time and the actor.
    pub stamp: Stamp,
}

/// The one who rates a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rater {
    /// The user of the conversation, with this id.
    User(String),
    /// Another principal.
    Principal(PrincipalId),
}

/// The outcome of rating a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RateOutcome {
    /// The rating is stored.
    Rated {
        /// The rating as stored; `None` without one.
        feedback: Option<Feedback>,
        /// The position of the event; `None` if nothing changed.
        committed: Option<Committed>,
    },
    /// The conversation does not exist, or belongs to another user than the one who rates.
    NotFound,
    /// The message does not exist.
    MessageNotFound,
}

impl RateMessage {
    fn key(&self) -> FeedbackKey {
        FeedbackKey {
            conversation_id: self.conversation_id,
            message_seq: self.message.seq,
            principal: match &self.rater {
                Rater::User(_) => None,
                Rater::Principal(principal) => Some(principal.clone()),
            },
        }
    }

    /// Returns whether the conversation belongs to the user who rates. It may have moved since.
    fn may_rate_in(&self, conversation: &ConversationFacts) -> bool {
        match &self.rater {
            Rater::User(user_id) => conversation.user_id.as_ref() == Some(user_id),
            Rater::Principal(_) => true,
        }
    }

    /// Returns the rating after the change; that is the stored one if nothing changes. Its times never run
    /// backwards.
    fn changed(&self, stored: Option<&Feedback>) -> Option<Feedback> {
        let (rating, comment) = self.rating.clone()?;
        let is_same = |stored: &&Feedback| stored.rating == rating && stored.comment == comment;
        if let Some(same) = stored.filter(is_same) {
            return Some(same.clone());
        }
        let not_before = stored.map_or(self.stamp.time, |stored| stored.updated_at);
        let (user_id, principal) = match self.rater.clone() {
            Rater::User(user_id) => (Some(user_id), None),
            Rater::Principal(principal) => (None, Some(principal)),
        };
        Some(Feedback {
            user_id,
            principal,
            rating,
            comment,
            updated_at: self.stamp.time.max(not_before),
        })
    }
}

impl Command for RateMessage {
    type Outcome = RateOutcome;

    fn scope(&self) -> Scope {
        Scope::new(&self.tenant, [Part::Conversation(self.conversation_id)])
    }

    fn needs(&self, query: &mut FactsQuery) {
        let conversation = (self.tenant.clone(), self.conversation_id);
        query.conversations.insert(conversation);
        query.feedback.insert((self.tenant.clone(), self.key()));
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let (tenant, key) = (&self.tenant, self.key());
        let conversation = planner.facts.conversation(tenant, self.conversation_id);
        let Some(conversation) = conversation.filter(|found| self.may_rate_in(found)) else {
            return Ok(Planned::Rejected(RateOutcome::NotFound));
        };
        let Some(stored) = planner.facts.feedback.get(&(tenant.clone(), key.clone())) else {
            return Ok(Planned::Rejected(RateOutcome::MessageNotFound));
        };
        let feedback = self.changed(stored.as_ref());
        if feedback == *stored {
            return Ok(Planned::Applied(RateOutcome::Rated {
                feedback,
                committed: None,
            }));
        }
        let sort_seq = planner.log(tenant, &self.stamp, |position| {
            event_rows::message_rated(position, conversation, &key, self.message)
        });
        let tenant = tenant.clone();
        if let Some(feedback) = feedback.clone() {
            planner.rows.feedback.push(FeedbackRow {
                tenant,
                key,
                feedback,
                sort_seq,
            });
        } else {
            let deletion = FeedbackDeletion { tenant, key };
            planner.rows.deleted_feedback.push(deletion);
        }
        Ok(Planned::Applied(RateOutcome::Rated {
            feedback,
            committed: Some(Committed::at(sort_seq)),
        }))
    }
}
