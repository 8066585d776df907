//! The answer to one call.

use std::time::Duration;

use domain::{
    Action, Approver, CallDecision, ToolCall, ToolEnd, ToolStep, TurnStatus, Unanswered,
    tool_call::KeptCallData,
};
use ports::write_store::TurnRow;

use super::{AnswerRejection, AnswerTurn, MayAnswer};

impl AnswerTurn {
    /// Answers one call. Returns `false` if it was answered in the same way before.
    pub(super) fn answer(
        &self,
        row: &TurnRow,
        call: &mut ToolStep,
        action: &Action,
    ) -> Result<bool, AnswerRejection> {
        let is_for_staff = call
            .approver()
            .is_some_and(|approver| approver != Approver::User);
        let may_wait = match row.turn.status {
            TurnStatus::RequiresAction => true,
            TurnStatus::InProgress => is_for_staff,
            // A call that waits for staff is dismissed with the reply of its turn.
            _ => is_for_staff && row.action_expires_at.is_some(),
        };
        let is_open = call.is_waiting() && may_wait;
        let status = call
            .shown(&mut KeptCallData::default(), Unanswered::Dismissed)
            .status;
        let Some(wait) = &mut call.wait else {
            return Err(AnswerRejection::NotFound);
        };
        if wait.needs != action.answers() {
            return Err(AnswerRejection::WrongKind { needs: wait.needs });
        }
        match self.may {
            MayAnswer { for_staff, .. } if is_for_staff => {
                for_staff.map_err(AnswerRejection::NotForStaff)?;
            }
            MayAnswer { for_user, .. } if !for_user => return Err(AnswerRejection::NotForUser),
            _ => {}
        }
        let may_edit = self.may.for_staff.is_ok();
        if matches!(action, Action::ApproveEdited(_)) && !may_edit {
            return Err(AnswerRejection::Edited);
        }
        if is_for_staff && self.answers.len() > 1 {
            return Err(AnswerRejection::NotAlone);
        }
        match &wait.decision {
            Some(decision) if decision.action == *action => return Ok(false),
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
        call.end = if is_for_staff {
            Some(decided_end(action))
        } else {
            end_of(action)
        };
        Ok(true)
    }
}

/// The end of a call that staff has decided so. Another turn makes the call, if it is approved.
fn decided_end(action: &Action) -> ToolEnd {
    end_of(action).unwrap_or_else(|| {
        let result = "approved by staff; its outcome follows".to_owned();
        ToolEnd::new("approved", result, Duration::ZERO)
    })
}

/// The end of a call that is answered so; `None` if it is made now.
fn end_of(action: &Action) -> Option<ToolEnd> {
    let (status, result) = match action {
        Action::Approve | Action::ApproveEdited(_) => return None,
        Action::Expire => ("expired", "not run: nobody decided in time".to_owned()),
        Action::Deny { reason } => return Some(ToolEnd::denied(reason.as_deref())),
        Action::Output(output) => (ToolCall::OK, output.clone()),
        Action::Error(error) => ("failed", error.clone()),
    };
    Some(ToolEnd::new(status, result, Duration::ZERO))
}
