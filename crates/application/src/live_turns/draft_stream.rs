//! The text of a reply by a schema, while the model writes it.

use domain::{Problem, ProblemCode};
use ports::RepositoryError;
use tokio_util::sync::DropGuard;

use super::{
    progress::{Progress, TurnOutcome},
    turn_waiter::TurnWaiter,
};

/// The text of a reply by a schema, before it is checked: the first that the model writes. It breaks off if that
/// does not become the reply. Of a turn that another process runs, the text comes at its end.
pub struct DraftStream {
    turn: TurnWaiter,
    /// The text that was returned.
    sent: String,
    has_ended: bool,
    /// Stops a turn that is not stored.
    _guard: Option<DropGuard>,
}

/// The reason why a draft breaks off.
#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    /// The turn has no reply.
    #[error("the turn failed: {}", .0.code.as_str())]
    Failed(Box<Problem>),
    /// The store has been unavailable for too long.
    #[error(transparent)]
    Unreadable(#[from] RepositoryError),
}

impl From<ProblemCode> for DraftError {
    fn from(code: ProblemCode) -> Self {
        Self::Failed(Problem::new(code).into())
    }
}

/// The next step of a draft.
enum Step {
    Wait,
    Text(String),
    End,
}

impl DraftStream {
    pub(crate) fn new(turn: TurnWaiter, guard: Option<DropGuard>) -> Self {
        turn.follow_reply();
        Self {
            turn,
            sent: String::new(),
            has_ended: false,
            _guard: guard,
        }
    }

    /// Returns the next piece; `None` at the end of a reply.
    pub async fn next(&mut self) -> Result<Option<String>, DraftError> {
        while !self.has_ended {
            let step = next_step(&self.turn.live.progress(), &self.sent);
            match step {
                Ok(Step::Wait) => self.turn.changed().await?,
                Ok(Step::Text(text)) => {
                    self.sent.push_str(&text);
                    return Ok(Some(text));
                }
                Ok(Step::End) => self.has_ended = true,
                Err(error) => {
                    self.has_ended = true;
                    return Err(error);
                }
            }
        }
        Ok(None)
    }
}

fn next_step(progress: &Progress, sent: &str) -> Result<Step, DraftError> {
    let (text, is_last) = match &progress.outcome {
        Some(TurnOutcome::Completed(completed)) if completed.reply.output.is_some() => {
            (completed.reply.message.as_str(), true)
        }
        Some(TurnOutcome::Completed(_) | TurnOutcome::RequiresAction(_)) => {
            return Err(ProblemCode::InvalidOutput.into());
        }
        Some(TurnOutcome::Failed(problem)) => {
            return Err(DraftError::Failed(problem.clone().into()));
        }
        Some(TurnOutcome::Cancelled) => return Err(ProblemCode::TurnCancelled.into()),
        None => match progress.reply.draft() {
            Some(draft) => (draft, false),
            None => return Ok(Step::Wait),
        },
    };
    match text.strip_prefix(sent) {
        Some("") if is_last => Ok(Step::End),
        Some("") => Ok(Step::Wait),
        Some(more) => Ok(Step::Text(more.to_owned())),
        // The next text is another one: after a tool call, or in place of one that was not valid.
        None if text.is_empty() && !is_last => Ok(Step::Wait),
        None => Err(ProblemCode::InvalidOutput.into()),
    }
}
