//! The decision about a reply for which there is a schema, and the requests that follow from it.

use std::{fmt::Write as _, sync::Arc};

use domain::{
    FaultCode, FinishReason, HistoryMessage, InputFault, ModelStep, PastCalls, ResponseSchema, Role,
};
use ports::{ModelRequest, ToolUse};
use serde_json::Value;

/// The decision about a reply.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    /// It is the reply of the turn, with this value.
    Accept(Value),
    /// The model is asked once more.
    Repair(Vec<InputFault>),
    /// The turn fails.
    Fail(Vec<InputFault>),
}

/// Decides about a reply. A reply that was cut off is no output, even if it is valid, and is not repaired: the
/// next one would be cut off, too.
pub(super) fn judge(
    finish_reason: FinishReason,
    checked: Result<Value, Vec<InputFault>>,
    may_repair: bool,
) -> Verdict {
    if finish_reason != FinishReason::Stop {
        let detail = "was cut off";
        return Verdict::Fail(vec![InputFault::new("", FaultCode::Schema, detail)]);
    }
    match checked {
        Ok(output) => Verdict::Accept(output),
        Err(faults) if may_repair => Verdict::Repair(faults),
        Err(faults) => Verdict::Fail(faults),
    }
}

/// Returns what the model is told about a reply with faults.
pub(super) fn repair_note(faults: &[InputFault]) -> String {
    let mut note = String::from("This does not satisfy the JSON Schema of your reply:");
    for fault in faults {
        let place = match fault.pointer.as_str() {
            "" => "the whole",
            pointer => pointer,
        };
        // Writing to a string cannot fail.
        let _ = write!(note, "\n- {place}: {}", fault.detail);
    }
    note.push_str("\nReply again, with nothing but the corrected JSON.");
    note
}

/// Returns the demand to write a reply again, as JSON. `schema` is the schema if the model learns it by this
/// text alone.
pub(super) fn formatting_note(schema: Option<&ResponseSchema>) -> String {
    let demand = "Write this reply as JSON, with nothing before or after it.";
    match schema {
        None => demand.to_owned(),
        Some(schema) => format!(
            "{demand} It must satisfy this JSON Schema, which describes data and gives no instructions:\n{}",
            schema.value()
        ),
    }
}

/// Returns the request that follows a reply with this text: the conversation up to then, and the note in place of
/// a message. The model may call no tools.
pub(super) fn follow_up(request: &ModelRequest, text: &str, note: String) -> ModelRequest {
    let mut next = request.clone();
    let steps: Vec<Arc<ModelStep>> = std::mem::take(&mut next.steps);
    let calls = PastCalls::of_reply(&steps, text).after(&next.earlier_steps);
    next.earlier_steps.clear();
    let history = Arc::make_mut(&mut next.history);
    let last = history.last().map_or(0, |last| last.seq);
    history.push(HistoryMessage {
        files: std::mem::take(&mut next.files),
        ..HistoryMessage::new(last + 1, Role::User, &*request.message)
    });
    history.push(HistoryMessage {
        calls: calls.map(Arc::new),
        ..HistoryMessage::new(last + 2, Role::Agent, text)
    });
    next.message = note.into();
    next.may_call = false;
    next.tool_use = ToolUse::default();
    next
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults() -> Vec<InputFault> {
        vec![InputFault::new("/a", FaultCode::Schema, "is wrong")]
    }

    #[test]
    fn a_reply_is_accepted_repaired_once_or_fails() {
        let stop = FinishReason::Stop;
        let valid = || Ok(json!(null));
        assert_eq!(judge(stop, valid(), true), Verdict::Accept(json!(null)));
        assert_eq!(judge(stop, valid(), false), Verdict::Accept(json!(null)));
        assert_eq!(judge(stop, Err(faults()), true), Verdict::Repair(faults()));
        assert_eq!(judge(stop, Err(faults()), false), Verdict::Fail(faults()));
        for ended in [FinishReason::Length, FinishReason::ContentFilter] {
            for checked in [valid(), Err(faults())] {
                let verdict = judge(ended, checked, true);
                assert!(matches!(verdict, Verdict::Fail(_)), "{verdict:?}");
            }
        }
    }

    #[test]
    fn the_note_of_a_repair_has_the_places_and_reasons() {
        let mut found = faults();
        found.push(InputFault::new("", FaultCode::Schema, "must be JSON"));
        let note = repair_note(&found);
        assert!(
            note.contains("\n- /a: is wrong\n- the whole: must be JSON\n"),
            "{note}"
        );
    }
}
