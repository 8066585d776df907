//! What the request for a run wants.

use application::TurnError;
use domain::{ConversationId, ProblemCode};
use kit::problem::ApiError;
use ports::{ListingOrder, TurnFilter};

use super::{RUN_ID, input::UserMessage, run::Sender};
use crate::answers::{AnsweredTurn, awaiting_approval};

/// What a request wants.
pub(super) enum Step {
    /// The answered turn goes on.
    Answer(AnsweredTurn),
    /// A message is sent, perhaps after answers.
    Send(UserMessage, Option<AnsweredTurn>),
    /// Calls wait for approval, and the request does not answer all of them.
    Refuse,
}

impl Sender<'_> {
    /// Decides what the request wants.
    pub(super) async fn next_step(&self, max_characters: u32) -> Result<Step, ApiError> {
        let answers = self.input.answers()?;
        let conversation = self.conversation().await?;
        let answered: Vec<_> = answers
            .calls
            .answers
            .iter()
            .map(|it| it.call_id.clone())
            .collect();
        if self.leaves_open(conversation, &answered).await? {
            return Ok(Step::Refuse);
        }
        let turn = answers
            .calls
            .find_turn(self.authorized, conversation)
            .await?;
        if answers.resumes {
            let turn = turn.ok_or(ApiError::new(ProblemCode::ActionNotFound))?;
            return Ok(Step::Answer(turn));
        }
        let turn = match turn {
            Some(turn) if answers.are_last => return Ok(Step::Answer(turn)),
            turn => turn.filter(|turn| !turn.answers.is_empty()),
        };
        match turn {
            Some(turn) if answers.are_newest => Ok(Step::Answer(turn)),
            turn => Ok(Step::Send(self.input.newest_message(max_characters)?, turn)),
        }
    }

    /// Returns whether calls of the conversation wait for approval that are not among the answered
    /// ones. Those of the requested run itself are asked again.
    async fn leaves_open(
        &self,
        conversation: Option<ConversationId>,
        answered: &[String],
    ) -> Result<bool, ApiError> {
        let Some(conversation) = conversation else {
            return Ok(false);
        };
        let (caller, turns) = (self.authorized.caller(), &self.authorized.turns);
        let listing = (TurnFilter::Open, ListingOrder::Ascending);
        let open = match turns.list(caller, conversation, listing, None, 1).await {
            // It has been deleted since.
            Err(TurnError::ConversationNotFound) => return Ok(false),
            open => open?.value.0.items,
        };
        Ok(open.iter().any(|turn| {
            let awaited = awaiting_approval(&turn.tool_calls);
            let is_own = turn.metadata.get(RUN_ID) == Some(&self.input.run_id);
            !is_own && awaited.iter().any(|call| !answered.contains(call))
        }))
    }

    /// Returns the conversation, if it exists.
    pub(super) async fn conversation(&self) -> Result<Option<ConversationId>, ApiError> {
        let (caller, user_id) = (self.authorized.caller(), self.user_id.as_deref());
        let conversations = &self.authorized.conversations;
        let named = conversations.find_named(caller, self.agent_id, user_id, self.key.clone());
        Ok(named.await?)
    }
}
