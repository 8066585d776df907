//! Data of a server that it receives again with its tool calls: their ids, its additions to them, and the
//! reasoning before them as text or as blocks.

use std::{collections::HashSet, sync::Arc};

use domain::ModelStep;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::tool_call_accumulator::Call;

const REASONING: &str = "reasoning";
const BLOCKS: &str = "blocks";
const CALLS: &str = "calls";
const ID: &str = "id";
const EXTRA_CONTENT: &str = "extraContent";

/// A part of a response that the server requires back unchanged, with its place.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KeptBlock {
    /// The number of bytes of the response's text before it.
    pub(crate) text_bytes: usize,
    /// The number of calls before it.
    pub(crate) calls: usize,
    pub(crate) block: Map<String, Value>,
}

/// Returns the state of a response; `None` if it has no tool calls.
pub(crate) fn of(reasoning: &str, blocks: &[KeptBlock], calls: &[Call]) -> Option<Value> {
    let of_call = |call: &Call| json!({ID: call.id, EXTRA_CONTENT: call.extra_content});
    let of_calls: Vec<_> = calls.iter().map(of_call).collect();
    let mut state = json!({CALLS: of_calls});
    if blocks.is_empty() {
        state[REASONING] = reasoning.into();
    } else {
        // They contain the reasoning.
        state[BLOCKS] = json!(blocks);
    }
    (!calls.is_empty()).then_some(state)
}

/// Returns the parts of the response of a step that the server requires back.
pub(crate) fn blocks(step: &ModelStep) -> Vec<KeptBlock> {
    let blocks = step.response.state.as_ref().and_then(|it| it.get(BLOCKS));
    let blocks = blocks.and_then(|it| Vec::deserialize(it).ok());
    blocks.unwrap_or_default()
}

/// Returns the reasoning before the calls of a step. Some servers require it back.
pub(crate) fn reasoning(step: &ModelStep) -> Option<&str> {
    let reasoning = step.response.state.as_ref()?.get(REASONING)?.as_str()?;
    (!reasoning.is_empty()).then_some(reasoning)
}

/// Returns the id that the server gave to a call of a step.
pub(crate) fn call_id(step: &ModelStep, call: usize) -> Option<&str> {
    of_call(step, call)?.get(ID)?.as_str()
}

/// Returns what the server added to a call of a step.
pub(crate) fn extra_content(step: &ModelStep, call: usize) -> Option<&Value> {
    let extra = of_call(step, call)?.get(EXTRA_CONTENT)?;
    (!extra.is_null()).then_some(extra)
}

/// Returns the ids of all calls of these steps.
pub(crate) fn call_ids(steps: &[Arc<ModelStep>]) -> HashSet<String> {
    let ids_of = |step: &'_ Arc<ModelStep>| {
        let ids = (0..step.calls.len()).filter_map(|call| call_id(step, call));
        ids.map(str::to_owned).collect::<Vec<_>>()
    };
    steps.iter().flat_map(ids_of).collect()
}

fn of_call(step: &ModelStep, call: usize) -> Option<&Value> {
    step.response.state.as_ref()?.get(CALLS)?.get(call)
}
