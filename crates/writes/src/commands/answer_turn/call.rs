//! The answer to one call.

use domain::{Action, CallDecision, ToolCall, ToolEnd, ToolStep, ToolVisibility, TurnStatus};
use ports::write_store::TurnRow;
use serde_json::Map;

use super::{AnswerRejection, AnswerTurn, MayAnswer};

impl AnswerTurn {
    /// Answers one call. Returns `false` if it was answered in the same way before.
    pub(super) fn answer(
        &self,
        row: &TurnRow,
        call: &mut ToolStep,
        action: &Action,
    ) -> Result<bool, AnswerRejection> {
        let is_for_staff = call.is_for_staff();
        let action = without_edit(action, call);
        let may_wait = match row.turn.status {
            TurnStatus::RequiresAction => true,
            TurnStatus::InProgress => is_for_staff,
            // A call that waits for staff is dismissed with the reply of its turn.
            _ => is_for_staff && row.action_expires_at.is_some(),
        };
        let is_open = call.is_waiting() && may_wait;
        let status = status_of(call, row);
        let is_hidden = self.may.audience.sees(call.visibility) == ToolVisibility::Hidden;
        let Some(wait) = call.wait.as_mut().filter(|_| !is_hidden) else {
            return Err(AnswerRejection::NotFound);
        };
        if wait.needs != action.answers() {
            return Err(AnswerRejection::WrongKind { needs: wait.needs });
        }
        self.may.check(is_for_staff, action)?;
        if is_for_staff && self.answers.len() > 1 {
            return Err(AnswerRejection::NotAlone);
        }
        match &wait.decision {
            Some(decision) if decision.action == *action => return Ok(false),
            _ if !is_open && status == ToolCall::EXPIRED => return Err(AnswerRejection::Expired),
            _ if !is_open => return Err(AnswerRejection::Decided { status }),
            _ if is_for_staff && row.turn.status == TurnStatus::InProgress => {
                return Err(AnswerRejection::Running);
            }
            _ if self.stamp.time >= wait.expires_at && *action != Action::Expire => {
                return Err(AnswerRejection::Expired);
            }
            _ => {}
        }
        wait.decision = Some(CallDecision {
            action: action.clone(),
            by: self.stamp.actor.clone(),
            at: self.stamp.time,
            continuation: is_for_staff.then_some(self.continuation),
        });
        let end = action.end();
        call.end = end.or_else(|| is_for_staff.then(ToolEnd::approved));
        Ok(true)
    }
}

/// Returns the status of a call that can no longer be answered. The journal has no end of one that was dismissed
/// or has expired with its turn, nor of one that runs.
fn status_of(call: &ToolStep, row: &TurnRow) -> String {
    let is_running = row.turn.status == TurnStatus::InProgress && !call.is_waiting();
    let stored = row.turn.tool_calls.iter().find(|it| it.id == call.call_id);
    match (&call.end, stored) {
        (Some(end), _) => end.status.clone(),
        (None, Some(stored)) if !is_running => stored.status.clone(),
        (None, _) => ToolCall::RUNNING.to_owned(),
    }
}

impl MayAnswer {
    /// Checks that the caller may answer a call so.
    fn check(self, is_for_staff: bool, action: &Action) -> Result<(), AnswerRejection> {
        if is_for_staff {
            return self.for_staff.map_err(AnswerRejection::NotForStaff);
        }
        if !self.for_user {
            return Err(AnswerRejection::NotForUser);
        }
        if matches!(action, Action::ApproveEdited(_)) && self.for_staff.is_err() {
            return Err(AnswerRejection::MayNotEdit);
        }
        Ok(())
    }
}

/// Returns a plain approval in place of one with the arguments that the call has already.
fn without_edit<'a>(action: &'a Action, call: &ToolStep) -> &'a Action {
    match action {
        Action::ApproveEdited(arguments)
            if serde_json::from_str(arguments)
                .is_ok_and(|edited: Map<_, _>| edited == call.read_arguments()) =>
        {
            &Action::Approve
        }
        action => action,
    }
}
