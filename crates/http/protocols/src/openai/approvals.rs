//! Calls that need approval. These clients cannot ask their users.

use application::{chat::AcceptedTurn, turns::CallAnswer};
use domain::{Action, ActionNeeded, ToolCall, TurnId};
use kit::{
    auth::{Authorized, ChatWrite},
    problem::ApiError,
};

use crate::answers::awaiting_approval;

/// The reason of the denial, for the model and for whoever reads the turn.
const REASON: &str = "clients of the OpenAI interface cannot ask for approval; a chat over \
                      POST /api/chat can, and takes it at POST /api/turns/{id}/actions";

/// Denies the calls of a waiting turn that need approval. Returns the turn if it goes on, and not if
/// there are none or other calls wait for the client.
pub(super) async fn deny_approvals(
    authorized: &Authorized<ChatWrite>,
    turn: TurnId,
    calls: &[ToolCall],
) -> Result<Option<AcceptedTurn>, ApiError> {
    let denials = awaiting_approval(calls)
        .into_iter()
        .map(|call_id| CallAnswer {
            call_id,
            action: Action::Deny {
                reason: Some(REASON.to_owned()),
            },
        });
    let denials: Vec<_> = denials.collect();
    if denials.is_empty() {
        return Ok(None);
    }
    let (turns, caller) = (&authorized.turns, authorized.caller());
    let answered = turns.answer(caller, turn, denials).await?;
    let waits = |call: &ToolCall| call.needs_of_user() == Some(ActionNeeded::Output);
    Ok(Some(answered).filter(|_| !calls.iter().any(waits)))
}
