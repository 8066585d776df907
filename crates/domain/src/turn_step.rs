//! The journal of a turn: the responses of models that called tools, and the calls, in order.
//!
//! A call is recorded before it is made, and again when it has ended. So a turn that loses its process
//! goes on elsewhere without making a call twice.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Reasoning, RequestUsage, ToolCall, ToolStep, Unanswered, response_schema::is_false,
    tool_call::KeptCallData,
};

/// One entry of a journal. What it contains at its start holds to its end, whatever is configured
/// later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum TurnStep {
    /// The response to a request to a model. Its tool calls follow.
    Model(ModelResponse),
    /// A tool call.
    Tool(ToolStep),
    /// Another process goes on with the turn, or the same one after a restart.
    Resumed(Resumption),
    /// A step that only a newer version knows.
    #[serde(other)]
    Unknown,
}

impl TurnStep {
    /// Returns `false` for a tool call without an end.
    pub const fn has_ended(&self) -> bool {
        match self {
            Self::Tool(call) => call.end.is_some(),
            Self::Model(_) | Self::Resumed(_) | Self::Unknown => true,
        }
    }

    /// Returns the tool call, if it is one.
    pub const fn call(&self) -> Option<&ToolStep> {
        match self {
            Self::Tool(call) => Some(call),
            Self::Model(_) | Self::Resumed(_) | Self::Unknown => None,
        }
    }

    /// Returns the step as JSON text. It consists of texts, numbers and JSON, so this cannot fail.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns whether it has brought the turn further.
    fn is_progress(&self) -> bool {
        match self {
            Self::Model(_) => true,
            Self::Tool(call) => {
                let end = call.end.as_ref();
                end.is_some_and(|end| end.status != ToolCall::OUTCOME_UNKNOWN)
            }
            Self::Resumed(_) | Self::Unknown => false,
        }
    }
}

/// The response to a request to a model, with tool calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelResponse {
    /// The engine.
    pub engine: String,
    /// The model, if the engine reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The text before the calls.
    pub text: String,
    /// True if the text is a draft, which nobody receives: the turn has a schema, and only the last response can
    /// be the reply.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_draft: bool,
    /// The model's reasoning since the step before, for those who see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// Data of the engine that it receives again with this step. Opaque to all others, and bound to the
    /// engine and the model that sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    /// The requests to models since the step before, with that of this response.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestUsage>,
}

/// A continuation of a turn by another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resumption {
    /// The number of steps that had ended before.
    pub ended_steps: usize,
    /// The number of processes that have died, up to now, without ending a step.
    pub losses: u32,
}

impl Resumption {
    /// Returns the next entry of a journal whose turn goes on elsewhere. `was_lost` is `true` if its
    /// process has died, and `false` if it has handed the turn over.
    pub fn after(journal: &[TurnStep], was_lost: bool) -> Self {
        let ended_steps = journal.iter().filter(|step| step.is_progress()).count();
        let before = journal.iter().rev().find_map(|step| match step {
            TurnStep::Resumed(resumption) => Some(*resumption),
            _ => None,
        });
        let before = before.unwrap_or(Self {
            ended_steps: 0,
            losses: 0,
        });
        let counts = was_lost && ended_steps == before.ended_steps;
        Self {
            ended_steps,
            losses: before.losses + u32::from(counts),
        }
    }

    /// Returns whether the turn is not to be tried once more.
    pub const fn is_last_loss(&self) -> bool {
        self.losses >= 2
    }
}

/// The response to one request to a model that called tools, with the calls in the order in which the
/// model asked for them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelStep {
    /// The response.
    pub response: ModelResponse,
    /// The calls.
    pub calls: Vec<ToolStep>,
}

/// Returns the responses of a journal with their calls.
pub fn model_steps(journal: &[TurnStep]) -> Vec<Arc<ModelStep>> {
    let mut steps: Vec<ModelStep> = Vec::new();
    for step in journal {
        match step {
            TurnStep::Model(response) => steps.push(ModelStep {
                response: response.clone(),
                calls: Vec::new(),
            }),
            TurnStep::Tool(call) => {
                if let Some(step) = steps.last_mut() {
                    step.calls.push(call.clone());
                }
            }
            TurnStep::Resumed(_) | TurnStep::Unknown => {}
        }
    }
    steps.into_iter().map(Arc::new).collect()
}

/// Returns the calls of a journal.
pub fn calls(journal: &[TurnStep]) -> impl Iterator<Item = &ToolStep> {
    journal.iter().filter_map(TurnStep::call)
}

/// Returns the calls of a journal as clients see them.
pub fn tool_calls(journal: &[TurnStep], unanswered: Unanswered) -> Vec<ToolCall> {
    let mut kept = KeptCallData::default();
    let shown = calls(journal).map(|call| call.shown(&mut kept, unanswered));
    shown.collect()
}

/// Returns the requests to models in a journal.
pub fn requests(journal: &[TurnStep]) -> Vec<RequestUsage> {
    let responses = journal.iter().filter_map(|step| match step {
        TurnStep::Model(response) => Some(response),
        _ => None,
    });
    responses
        .flat_map(|response| response.requests.iter().cloned())
        .collect()
}

/// Returns the reasoning in a journal.
pub fn reasoning(journal: &[TurnStep]) -> Option<Reasoning> {
    let mut all: Option<Reasoning> = None;
    for step in journal {
        if let TurnStep::Model(ModelResponse {
            reasoning: Some(part),
            ..
        }) = step
        {
            let all = all.get_or_insert_with(|| Reasoning::empty(part.shown_to));
            all.push_paragraph(&part.text);
        }
    }
    all
}

/// Returns the number of times that a turn was resumed.
pub fn resumptions(journal: &[TurnStep]) -> u32 {
    let resumed = journal
        .iter()
        .filter(|it| matches!(it, TurnStep::Resumed(_)));
    u32::try_from(resumed.count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::{Repetition, ToolEnd};

    fn call(end: Option<ToolEnd>) -> TurnStep {
        TurnStep::Tool(ToolStep {
            call_id: "t-1".to_owned(),
            name: "shop/refund".to_owned(),
            function: "shop_refund".to_owned(),
            arguments: r#"{"order": "A-77"}"#.to_owned(),
            at: 3,
            visibility: None,
            repetition: Repetition::Acts,
            wait: None,
            timeout_ms: Some(15_000),
            end,
        })
    }

    fn ended(status: &str) -> TurnStep {
        call(Some(ToolEnd::new(
            status,
            "done".to_owned(),
            Duration::ZERO,
        )))
    }

    fn model() -> TurnStep {
        TurnStep::Model(ModelResponse::default())
    }

    /// Adds the loss of a process, and returns whether the turn is not to be tried once more.
    fn lose(journal: &mut Vec<TurnStep>) -> bool {
        let next = Resumption::after(journal, true);
        journal.push(TurnStep::Resumed(next));
        next.is_last_loss()
    }

    #[test]
    fn the_second_loss_without_a_newly_ended_step_is_the_last() {
        let mut journal = Vec::new();
        assert!(!lose(&mut journal));
        assert!(lose(&mut journal.clone()));
        journal.extend([model(), call(None)]);
        assert!(!lose(&mut journal));
        journal[2] = ended(ToolCall::OUTCOME_UNKNOWN);
        assert!(
            lose(&mut journal.clone()),
            "what a resumption settles is no progress"
        );
        journal[2] = ended(ToolCall::OK);
        assert!(!lose(&mut journal));
        assert!(lose(&mut journal));
    }

    #[test]
    fn a_turn_that_is_handed_over_is_not_lost() {
        let mut journal = Vec::new();
        for _ in 0..5 {
            let next = Resumption::after(&journal, false);
            assert!(!next.is_last_loss());
            journal.push(TurnStep::Resumed(next));
        }
        assert_eq!(resumptions(&journal), 5);
    }

    #[test]
    fn steps_are_read_as_they_were_stored() {
        for step in [
            model(),
            call(None),
            ended("ok"),
            TurnStep::Resumed(Resumption::after(&[], true)),
        ] {
            let text = serde_json::to_string(&step).unwrap();
            assert_eq!(
                serde_json::from_str::<TurnStep>(&text).unwrap(),
                step,
                "{text}"
            );
        }
    }

    #[test]
    fn steps_of_newer_versions_are_unknown() {
        let step: TurnStep = serde_json::from_str(r#"{"kind": "dream", "of": 1}"#).unwrap();
        assert_eq!(step, TurnStep::Unknown);
        let stored = json!({"kind": "tool", "callId": "1", "name": "a", "function": "a",
            "arguments": "{}", "mood": 1});
        assert!(serde_json::from_value::<TurnStep>(stored).is_ok());
    }
}
