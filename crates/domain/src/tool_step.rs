//! A tool call of a model in the journal of a turn.

use std::{borrow::Cow, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    Action, ActionNeeded, Approver, PrincipalId, Timestamp, ToolCall, ToolEnd, ToolVisibility,
    TurnId, UnknownMembers, json::replace_nul, large_integers::has_large_integer,
    tool_call::KeptCallData,
};

/// One tool call of a model, and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolStep {
    /// The id of the call, as in [`ToolCall`].
    pub call_id: String,
    /// The tool, or a printable form of the name that the model used if there is no such tool.
    pub name: String,
    /// The name of the function, in a form that models accept.
    pub function: String,
    /// The arguments, as JSON text of an object.
    pub arguments: String,
    /// The position in the reply at which the tool was called, in bytes of UTF-8.
    #[serde(default)]
    pub at: usize,
    /// The visibility to users, if it is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<ToolVisibility>,
    /// The effect of a second call.
    #[serde(default)]
    pub repetition: Repetition,
    /// The answer that it needs before it is made, or in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Box<Wait>>,
    /// The time limit in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The end; `None` while the call runs, and if its process died meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<ToolEnd>,
}

/// The answer that a call needs from a person or a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wait {
    /// The kind of answer.
    pub needs: ActionNeeded,
    /// The approver, of a call that needs approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<Approver>,
    /// The time from which it can no longer be answered.
    pub expires_at: Timestamp,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<CallDecision>,
    /// True once an approved call is about to be made.
    #[serde(default)]
    pub has_begun: bool,
    /// The number of times that its turn was resumed between its record and its beginning.
    #[serde(default)]
    pub resumptions_before: u32,
}

/// The answer to a call that waited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallDecision {
    /// The answer.
    pub action: Action,
    /// The principal that gave it.
    pub by: PrincipalId,
    /// When.
    pub at: Timestamp,
    /// The turn that it has begun, if staff has decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation: Option<TurnId>,
}

/// The effect of a second call of a tool with the same arguments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Repetition {
    /// Act again, as far as anyone knows.
    #[default]
    Acts,
    /// Nothing, if it has the same id.
    HarmlessWithId,
    /// Nothing.
    Harmless,
}

impl Wait {
    /// Returns whether others than the user must approve the call, such as an approver of a newer version.
    pub fn is_for_staff(&self) -> bool {
        self.approver
            .is_some_and(|approver| approver != Approver::User)
    }

    /// Records that the call is about to be made, unless it was before. `resumptions` is the number of times
    /// that its turn was resumed since the call was recorded.
    pub const fn begin(&mut self, resumptions: u32) {
        if !self.has_begun {
            self.has_begun = true;
            self.resumptions_before = resumptions;
        }
    }
}

impl ToolStep {
    /// Returns whether it waits for an answer.
    pub fn is_waiting(&self) -> bool {
        let wait = self.wait.as_deref();
        self.end.is_none() && wait.is_some_and(|wait| wait.decision.is_none())
    }

    /// Returns whether it waits for approval by staff, which does not keep its turn from going on.
    pub fn waits_for_staff(&self) -> bool {
        self.is_waiting() && self.is_for_staff()
    }

    /// Returns whether others than the user must approve it.
    pub fn is_for_staff(&self) -> bool {
        self.wait.as_ref().is_some_and(|wait| wait.is_for_staff())
    }

    /// Returns whether its turn waits for an answer to it.
    pub fn holds_turn(&self) -> bool {
        self.is_waiting() && !self.waits_for_staff()
    }

    /// Returns what it waits for.
    fn waits_for(&self) -> Option<ActionNeeded> {
        let wait = self.wait.as_ref().filter(|_| self.holds_turn())?;
        Some(wait.needs)
    }

    /// Returns whether it may have been made.
    pub fn may_have_begun(&self) -> bool {
        self.wait.as_ref().is_none_or(|wait| wait.has_begun)
    }

    /// Returns the number of the attempt to make it, from 1, if its turn was resumed this many times since the
    /// call was recorded.
    pub fn attempt(&self, resumptions: u32) -> u32 {
        let wait = self.wait.as_ref();
        let before = wait.map_or(0, |wait| wait.resumptions_before);
        resumptions.saturating_sub(before).saturating_add(1)
    }

    /// Returns the end. A call without one may have taken effect, unless it waited or was only approved.
    pub(crate) fn settled_end(&self, unanswered: Unanswered) -> Cow<'_, ToolEnd> {
        match &self.end {
            Some(end) => Cow::Borrowed(end),
            None if self.may_have_begun() => Cow::Owned(ToolEnd::outcome_unknown()),
            None if self.waits_for_staff() && unanswered != Unanswered::Cancelled => {
                Cow::Owned(ToolEnd::waits_for_staff())
            }
            None => Cow::Owned(unanswered.end()),
        }
    }

    /// Returns the arguments that the model wrote; none if a number in them would be rounded.
    pub fn read_arguments(&self) -> Map<String, Value> {
        read_arguments(&self.arguments)
    }

    /// Returns the arguments with which the call is made, as JSON text of an object.
    pub(crate) fn effective_text(&self) -> &str {
        self.edited_arguments().unwrap_or(&self.arguments)
    }

    /// Returns the arguments with which the call is made.
    pub fn effective_arguments(&self) -> Map<String, Value> {
        read_arguments(self.effective_text())
    }

    /// Returns the arguments that replace those of the model, as JSON text of an object.
    fn edited_arguments(&self) -> Option<&str> {
        match &self.decision()?.action {
            Action::ApproveEdited(arguments) => Some(arguments),
            _ => None,
        }
    }

    /// Returns who may approve it, if it needed approval.
    pub fn approver(&self) -> Option<Approver> {
        self.wait.as_ref()?.approver
    }

    fn decision(&self) -> Option<&CallDecision> {
        self.wait.as_ref()?.decision.as_ref()
    }

    /// Returns the call as clients see it before it ends.
    pub fn begun(&self, kept: &mut KeptCallData) -> ToolCall {
        let decision = self.decision();
        ToolCall {
            id: self.call_id.clone(),
            at: self.at,
            name: self.name.clone(),
            arguments: kept.keep_arguments(self.read_arguments()),
            edited_arguments: self
                .edited_arguments()
                .map(|edited| kept.keep_arguments(read_arguments(edited))),
            status: String::new(),
            duration_ms: 0,
            result: None,
            needs: self.waits_for(),
            approver: None,
            expires_at: None,
            decided_by: decision.map(|decision| decision.by.clone()),
            decided_at: decision.map(|decision| decision.at),
            visibility: self.visibility,
            unknown: UnknownMembers::default(),
        }
    }

    /// Returns the call as clients see it; `unanswered` says how a call without an answer is shown.
    pub fn shown(&self, kept: &mut KeptCallData, unanswered: Unanswered) -> ToolCall {
        let begun = self.begun(kept);
        let outlives_turn = self.waits_for_staff() && unanswered != Unanswered::Cancelled;
        // One that is approved waits for the answers to the others, but needs nothing itself.
        let is_unmade = self.end.is_none() && !self.may_have_begun();
        if outlives_turn || is_unmade && unanswered == Unanswered::Waiting {
            let wait = self.wait.as_ref().filter(|_| self.is_waiting());
            return ToolCall {
                status: ToolCall::WAITING.to_owned(),
                needs: wait.map(|wait| wait.needs),
                approver: wait.and_then(|wait| wait.approver),
                expires_at: wait.map(|wait| wait.expires_at),
                result: outlives_turn.then(|| ToolEnd::waits_for_staff().result),
                ..begun
            };
        }
        let end = self.settled_end(unanswered);
        ToolCall {
            status: end.status.clone(),
            duration_ms: end.duration_ms,
            result: kept.keep_result(&end),
            needs: None,
            ..begun
        }
    }

    /// Returns the text of the result, or why there is none.
    pub fn text(&self) -> String {
        self.settled_end(Unanswered::Dismissed).into_owned().result
    }

    /// Returns the result as models read it: one JSON object in which the tool's result is a string.
    pub fn answer(&self) -> String {
        let end = self.settled_end(Unanswered::Dismissed);
        let mut answer = json!({"status": end.status});
        let member = if end.status == ToolCall::OK {
            "data"
        } else {
            "error"
        };
        answer[member] = end.result.as_str().into();
        let mut notes = Vec::new();
        if let Some(edited) = self.edited_arguments() {
            notes.push("approved with other arguments");
            answer["arguments"] = Value::Object(read_arguments(edited));
        }
        if end.is_cut {
            notes.push("only the beginning: the answer was too long");
        }
        if !notes.is_empty() {
            answer["note"] = notes.join("; ").into();
        }
        answer.to_string()
    }
}

/// Returns arguments as tools receive them and clients see them; none if a number in them would be rounded.
fn read_arguments(text: &str) -> Map<String, Value> {
    if has_large_integer(text) {
        return Map::new();
    }
    match serde_json::from_str(text).map(replace_nul) {
        Ok(Value::Object(arguments)) => arguments,
        _ => Map::new(),
    }
}

/// The fate of calls without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    /// They still wait.
    Waiting,
    /// The user has continued without an answer.
    Dismissed,
    /// The turn was cancelled.
    Cancelled,
    /// Nobody has answered in time.
    Expired,
}

impl Unanswered {
    /// The end of such a call.
    pub fn end(self) -> ToolEnd {
        let (status, result) = match self {
            Self::Waiting => (ToolCall::WAITING, ""),
            Self::Dismissed => (
                ToolCall::DISMISSED,
                "not run: the user continued without answering",
            ),
            Self::Cancelled => (ToolCall::CANCELLED, "not run: the turn was cancelled"),
            Self::Expired => (ToolCall::EXPIRED, "not run: nobody answered in time"),
        };
        ToolEnd::new(status, result.to_owned(), Duration::ZERO)
    }
}

#[cfg(test)]
mod tests;
