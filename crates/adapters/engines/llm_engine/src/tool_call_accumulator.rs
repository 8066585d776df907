//! Assembles tool calls from the pieces of a response.

mod nesting;
mod part;

use std::collections::HashSet;

use serde_json::Value;

use self::nesting::Nesting;
pub(crate) use self::part::{CallPart, FunctionPart};
use crate::error::LlmError;

/// The maximum number of tool calls in one response. A turn may make only 16; this limits the
/// number of rejections.
const MAX_CALLS_PER_RESPONSE: usize = 64;

/// A tool call by the model.
#[derive(Default)]
pub(crate) struct Call {
    /// The index of the call in the response, if the upstream sends one.
    index: Option<u32>,
    pub(crate) id: String,
    pub(crate) name: String,
    /// JSON text, unless the model made a mistake.
    pub(crate) arguments: String,
    nesting: Nesting,
    /// The call has no arguments, and the response has some of which it is not certain whose they are.
    pub(crate) lacks_arguments: bool,
    pub(crate) extra_content: Option<Value>,
}

/// The tool calls of one response, in the order of their first pieces.
#[derive(Default)]
pub(crate) struct ToolCallAccumulator {
    calls: Vec<Call>,
    bytes: usize,
    /// Arguments arrived of which it is not certain whose they are.
    has_stray_arguments: bool,
}

/// The call that a piece belongs to.
enum Owner {
    Known(usize),
    /// Probably this one, although its index is another.
    Guessed(usize),
    New,
    Unknown,
}

impl ToolCallAccumulator {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The number of calls so far.
    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    /// The number of bytes that are kept.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds the pieces of one list.
    pub(crate) fn push(&mut self, parts: Vec<CallPart>) -> Result<(), LlmError> {
        // The calls whose names are in this list: its elements are different calls.
        let mut named = HashSet::new();
        for part in parts {
            let has_name = part.name().is_some();
            if let Some(position) = self.push_part(part, &named)?
                && has_name
            {
                named.insert(position);
            }
        }
        Ok(())
    }

    /// Adds a piece, and returns the position of its call.
    fn push_part(
        &mut self,
        part: CallPart,
        named: &HashSet<usize>,
    ) -> Result<Option<usize>, LlmError> {
        let position = match self.owner(&part, named) {
            Owner::Known(position) => position,
            Owner::Guessed(position) => {
                self.has_stray_arguments |= part.arguments().is_some();
                position
            }
            Owner::Unknown => {
                self.has_stray_arguments |= part.arguments().is_some();
                return Ok(None);
            }
            Owner::New if self.calls.len() == MAX_CALLS_PER_RESPONSE => {
                return Err(LlmError::Unusable(
                    "the model made too many tool calls in one response",
                ));
            }
            Owner::New => {
                self.calls.push(Call {
                    index: part.index,
                    ..Call::default()
                });
                self.calls.len() - 1
            }
        };
        self.bytes += self.calls[position].add(part);
        Ok(Some(position))
    }

    /// Finds the call of a piece. Servers differ in what tells calls apart: some send no index, or
    /// the same for different calls, or another one for later pieces; some send no id, or a new one
    /// with each piece. A name is the most reliable sign that a call begins.
    fn owner(&self, part: &CallPart, named: &HashSet<usize>) -> Owner {
        let find = |is_it: &dyn Fn(&Call) -> bool| self.calls.iter().rposition(is_it);
        let by_id = part.id().and_then(|id| find(&|call| call.id == id));
        let by_index = part
            .index
            .and_then(|index| find(&|call| call.index == Some(index)));
        let last = self.calls.len().checked_sub(1);
        let by_position = if part.index.is_some() { by_index } else { last };
        let Some(name) = part.name() else {
            return self.owner_without_name(part, by_id, by_position);
        };
        // Another index is another call, whatever its id.
        let candidate = by_id.filter(|_| part.index.is_none()).or(by_position);
        match candidate {
            Some(position)
                if !named.contains(&position) && self.calls[position].continues(part, name) =>
            {
                Owner::Known(position)
            }
            _ => Owner::New,
        }
    }

    fn owner_without_name(
        &self,
        part: &CallPart,
        by_id: Option<usize>,
        by_position: Option<usize>,
    ) -> Owner {
        let can_take = |call: &Call| part.arguments().is_none() || !call.nesting.is_closed();
        if let Some(position) = by_id.or(by_position.filter(|it| can_take(&self.calls[*it]))) {
            return Owner::Known(position);
        }
        let has_new_index = part.index.is_some() && by_position.is_none();
        if part.id().is_some() && (has_new_index || self.calls.is_empty()) {
            // The name may follow.
            return Owner::New;
        }
        match self.calls.iter().rposition(can_take) {
            Some(position) => Owner::Guessed(position),
            // The arguments become invalid, rather than incomplete.
            None => by_position.map_or(Owner::Unknown, Owner::Known),
        }
    }

    /// Returns the calls with ids that are unique in the turn. `taken` contains the ids of the turn
    /// so far. Some servers send no id, or the same for different calls.
    pub(crate) fn into_calls(self, taken: &mut HashSet<String>) -> Vec<Call> {
        let mut calls = self.calls;
        for call in &mut calls {
            call.lacks_arguments = self.has_stray_arguments && call.arguments.trim().is_empty();
            if !call.id.is_empty() && !taken.insert(call.id.clone()) {
                call.id.clear();
            }
        }
        let mut numbers = 0..;
        for call in calls.iter_mut().filter(|call| call.id.is_empty()) {
            let mut accumulator = numbers
                .by_ref()
                .map(|number: usize| format!("call_{number}"));
            call.id = accumulator
                .find(|id| !taken.contains(id))
                .unwrap_or_default();
            taken.insert(call.id.clone());
        }
        calls
    }
}

impl Call {
    /// Returns whether a piece with this name continues the call, rather than beginning another one.
    fn continues(&self, part: &CallPart, name: &str) -> bool {
        let has_other_id = |id| !self.id.is_empty() && self.id != id;
        if part.id().is_some_and(has_other_id) {
            return false;
        }
        if self.name.is_empty() {
            return true;
        }
        if self.nesting.is_closed() {
            // Some servers repeat id and name at the end, without arguments.
            return self.name == name && part.id().is_some() && part.arguments().is_none();
        }
        // Another name before the arguments is the rest of a name in pieces, if the call is certain.
        let is_certain = part.id().is_some() || (!self.id.is_empty() && part.index.is_some());
        self.name == name || (is_certain && self.arguments.is_empty())
    }

    /// Adds a piece, and returns the number of bytes that are kept of it.
    fn add(&mut self, part: CallPart) -> usize {
        let mut bytes = 0;
        if self.id.is_empty()
            && let Some(id) = part.id
        {
            bytes += id.len();
            self.id = id;
        }
        let FunctionPart { name, arguments } = part.function.unwrap_or_default();
        // Some servers repeat the whole name in every piece.
        if let Some(name) = name.filter(|name| *name != self.name) {
            bytes += name.len();
            self.name.push_str(&name);
        }
        if let Some(arguments) = arguments {
            bytes += arguments.len();
            self.nesting.push(&arguments);
            self.arguments.push_str(&arguments);
        }
        if let Some(extra) = part.extra_content {
            bytes += extra.to_string().len();
            self.extra_content = Some(extra);
        }
        bytes
    }
}

#[cfg(test)]
mod tests;
