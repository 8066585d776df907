//! The history of a conversation from its stored messages and turns.
//!
//! A message gets the tool calls of its turn. Calls that may have acted are not forgotten with the reply for
//! which they were made: those of a turn without a reply, because it failed or was superseded, belong to the
//! user's message that it answered, or to the reply of the turn that has answered that again. While a turn that
//! repeats them runs, they are calls of that turn. If the message is
//! superseded, too, it appears with its calls before the message that has replaced it.

use std::sync::Arc;

use super::{
    HistoryMessage,
    past_calls::{PastCalls, PastEnding, acts, without_state},
};
use crate::{
    ConversationId, ModelStep, Role, TurnId, TurnStatus, TurnStep, turn_step::model_steps,
};

/// The newest messages of a conversation, oldest first.
#[derive(Debug)]
pub struct HistoryWindow {
    /// The conversation.
    pub conversation: ConversationId,
    /// The position of the message that is answered now.
    pub before: i64,
    /// True if the calls of turns with replies are shown.
    pub has_tool_results: bool,
    /// The messages.
    pub messages: Vec<WindowMessage>,
}

/// A message, and its turn.
#[derive(Debug)]
pub struct WindowMessage {
    /// The message, without calls.
    pub message: HistoryMessage,
    /// Its turn; `None` for a greeting, and if the turn is purged.
    pub turn: Option<MessageTurn>,
}

/// The place of a message in its turn. A copied message has the turn of the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageTurn {
    /// The turn.
    pub id: TurnId,
    /// The conversation of the turn.
    pub conversation: ConversationId,
    /// The position of the user's message there.
    pub message_seq: i64,
    /// The position of this message there.
    pub seq: i64,
}

impl MessageTurn {
    fn exchange(self) -> (ConversationId, i64) {
        (self.conversation, self.message_seq)
    }
}

/// A turn that has ended and has called tools. If it has answered a message of which this conversation has a copy
/// that belongs to another turn by now, or is superseded, it counts as a turn of this conversation.
#[derive(Debug)]
pub struct PastTurn {
    /// The turn.
    pub id: TurnId,
    /// Its conversation.
    pub conversation: ConversationId,
    /// The position of the user's message there.
    pub message_seq: i64,
    /// Its end.
    pub status: TurnStatus,
    /// The user's text.
    pub input: String,
    /// Its journal.
    pub journal: Vec<TurnStep>,
    /// True if the turn that runs now, or an earlier one for the same message, repeats it.
    pub is_retried: bool,
    /// True if the text is that of the message that is answered now.
    pub is_repeated: bool,
    /// True if the version of the agent is that which answers now.
    pub has_same_agent: bool,
}

/// Where the calls of a turn without a reply appear.
enum Place {
    /// With the message that is answered now.
    Now,
    /// With the message at this index.
    With(usize),
    /// With a superseded message before that at this index, or before the one that is answered now.
    Before(usize),
}

/// A message of the window with what it gets.
struct Slot {
    message: HistoryMessage,
    turn: Option<MessageTurn>,
    /// The superseded messages before it.
    withdrawn: Vec<HistoryMessage>,
    calls: PastCalls,
}

/// Returns the history. `turns` are those with tool calls since the first message of the window, in order, and
/// those that are repeated. If some are repeated, have answered the message at `before`, or one with the same text
/// that it replaces, their calls that may have acted follow as a last entry at that position, without text.
pub fn assemble(window: HistoryWindow, turns: Vec<PastTurn>) -> Vec<HistoryMessage> {
    let (conversation, before) = (window.conversation, window.before);
    let slot = |WindowMessage { message, turn }| Slot {
        message,
        turn,
        withdrawn: Vec::new(),
        calls: PastCalls::default(),
    };
    let mut slots: Vec<Slot> = window.messages.into_iter().map(slot).collect();
    let (mut last_withdrawn, mut now) = (Vec::new(), Vec::new());
    for turn in turns {
        let steps = model_steps(&turn.journal);
        let acts = acts(&steps);
        if let Some(slot) = slots.iter_mut().find(|slot| slot.is_reply_of(turn.id)) {
            slot.add_own(&steps, &acts, turn.status, window.has_tool_results);
            continue;
        }
        if acts.is_empty() {
            continue;
        }
        match place(&turn, &slots, conversation, before) {
            Place::Now => now.extend(acts.into_iter().map(|step| if_same_agent(&turn, step))),
            Place::With(index) => slots[index].add_lost(&acts, turn.status),
            Place::Before(index) => match slots.get_mut(index) {
                Some(slot) => {
                    let is_copied = turn.conversation != conversation;
                    let seq = if is_copied {
                        slot.message.seq - 1
                    } else {
                        turn.message_seq
                    };
                    withdraw(&mut slot.withdrawn, seq, turn.input, &acts);
                }
                None => withdraw(&mut last_withdrawn, turn.message_seq, turn.input, &acts),
            },
        }
    }
    let mut history: Vec<_> = slots.into_iter().flat_map(Slot::into_messages).collect();
    history.append(&mut last_withdrawn);
    if !now.is_empty() {
        let calls = PastCalls {
            steps: now,
            ..PastCalls::default()
        };
        history.push(HistoryMessage {
            calls: Some(Arc::new(calls)),
            ..HistoryMessage::new(before, Role::User, "")
        });
    }
    history
}

/// Finds the place for the calls of a turn whose reply is not shown.
fn place(turn: &PastTurn, slots: &[Slot], conversation: ConversationId, before: i64) -> Place {
    let is_own = turn.conversation == conversation;
    if is_own && (turn.message_seq == before || turn.is_retried) {
        return Place::Now;
    }
    let answered = (turn.conversation, turn.message_seq);
    if let Some(index) = last_of_exchange(slots, answered) {
        return Place::With(index);
    }
    let is_later = |slot: &Slot| {
        let of = slot.turn.filter(|of| of.conversation == turn.conversation);
        of.is_some_and(|of| of.seq > turn.message_seq)
    };
    let next = slots.iter().position(is_later);
    let Some((next, exchange)) = next.and_then(|at| Some((at, slots[at].turn?.exchange()))) else {
        let is_replaced = is_own && turn.message_seq < before;
        return if is_replaced && turn.is_repeated {
            Place::Now
        } else {
            Place::Before(slots.len())
        };
    };
    let is_next = slots[next].message.role == Role::User;
    if is_next && *slots[next].message.content == *turn.input {
        return Place::With(last_of_exchange(slots, exchange).unwrap_or(next));
    }
    let first = slots.iter().position(|slot| slot.is_of(exchange));
    Place::Before(first.unwrap_or(next))
}

/// Returns the index of the last message for a user's message, if that is shown.
fn last_of_exchange(slots: &[Slot], exchange: (ConversationId, i64)) -> Option<usize> {
    let is_shown = |slot: &Slot| slot.is_of(exchange) && slot.message.role == Role::User;
    slots.iter().position(is_shown)?;
    slots.iter().rposition(|slot| slot.is_of(exchange))
}

/// The text in place of a message of the user in a turn without one, or without text.
const NO_MESSAGE: &str = "[Note of the operator, not of the user: here staff had decided on a tool call that \
    waited, or had asked for a message, or the user had sent files without text.]";

/// Adds a superseded message, or calls to it.
fn withdraw(withdrawn: &mut Vec<HistoryMessage>, seq: i64, input: String, acts: &[Arc<ModelStep>]) {
    let input = if input.is_empty() {
        NO_MESSAGE.to_owned()
    } else {
        input
    };
    let mut steps = Vec::new();
    let is_same = |last: &mut HistoryMessage| last.seq == seq && *last.content == *input;
    if let Some(calls) = withdrawn.pop_if(is_same).and_then(|last| last.calls) {
        steps.clone_from(&calls.steps);
    }
    steps.extend(without_state(acts));
    let calls = PastCalls {
        steps,
        ending: Some(PastEnding::Withdrawn),
        ..PastCalls::default()
    };
    withdrawn.push(HistoryMessage {
        calls: Some(Arc::new(calls)),
        ..HistoryMessage::new(seq, Role::User, input)
    });
}

/// Returns a step for the turn that runs now. Without its engine and the engine's data, it is one of another
/// turn: the agent may have another model by now.
fn if_same_agent(turn: &PastTurn, step: Arc<ModelStep>) -> Arc<ModelStep> {
    let mut step = step;
    if !turn.has_same_agent {
        let response = &mut Arc::make_mut(&mut step).response;
        response.state = None;
        response.engine.clear();
    }
    step
}

impl Slot {
    fn is_reply_of(&self, turn: TurnId) -> bool {
        self.message.role == Role::Agent && self.turn.is_some_and(|of| of.id == turn)
    }

    fn is_of(&self, exchange: (ConversationId, i64)) -> bool {
        self.turn.is_some_and(|of| of.exchange() == exchange)
    }

    /// Adds the calls of the turn whose reply this is.
    fn add_own(
        &mut self,
        steps: &[Arc<ModelStep>],
        acts: &[Arc<ModelStep>],
        status: TurnStatus,
        has_tool_results: bool,
    ) {
        let is_cancelled = status == TurnStatus::Cancelled && !acts.is_empty();
        if has_tool_results {
            let own = PastCalls::of_reply(steps, &self.message.content);
            self.calls.steps.extend(own.steps);
            self.calls.text_bytes = own.text_bytes;
        } else if is_cancelled {
            self.calls.steps.extend(without_state(acts));
        }
        self.calls.ending = is_cancelled.then_some(PastEnding::Cancelled);
    }

    /// Adds the calls of a turn whose reply is not shown. They were made before those of a turn whose reply
    /// is.
    fn add_lost(&mut self, acts: &[Arc<ModelStep>], status: TurnStatus) {
        self.calls.steps.extend(without_state(acts));
        if self.message.role == Role::User {
            self.calls.ending = Some(match status {
                TurnStatus::Failed => PastEnding::Failed,
                TurnStatus::Cancelled => PastEnding::Cancelled,
                _ => PastEnding::LeftOut,
            });
        }
    }

    fn into_messages(self) -> impl Iterator<Item = HistoryMessage> {
        let calls = (!self.calls.steps.is_empty()).then(|| Arc::new(self.calls));
        let message = HistoryMessage {
            calls,
            ..self.message
        };
        self.withdrawn.into_iter().chain([message])
    }
}

#[cfg(test)]
mod tests;
