//! The events of a run, made from those of its turn.

use domain::{ChatReply, Problem, ProblemCode, ReplyDelta, TurnEvent, TurnId};
use kit::sse::Events;
use serde_json::{Value, json};

use super::{
    cursor::{EventCursor, Received},
    event::{Outcome, PROTOCOL_VERSION, RunEvent},
    reply::Reply,
};
use crate::answers::Seen;

mod reasoning;
mod tool_calls;

/// A run, as its client names it.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) thread: String,
    pub(super) id: String,
    /// True if the client knows the outcomes of version 1.0.
    pub(super) knows_outcomes: bool,
    /// True if the client shows the parts of a message in their order.
    pub(super) is_one_message: bool,
}

/// The events of a run that were emitted and not sent yet.
pub(super) struct RunEvents {
    run: Run,
    /// The turn; `None` if only stored messages are sent.
    turn_id: Option<TurnId>,
    reply: Reply,
    is_message_open: bool,
    /// The id of the reasoning that is open.
    reasoning: Option<String>,
    /// The part of the turn whose events were emitted, from its beginning.
    emitted: Received,
    /// The part of the turn that the client has received on an earlier connection.
    received: Received,
    /// The events of the turn up to that part, until it is reached. If the turn never had it, they
    /// are sent as well.
    passed: Vec<TurnEvent>,
    ready: Events,
    has_ended: bool,
    /// The part of the reply that the client has from earlier runs.
    seen: Seen,
}

impl RunEvents {
    /// Starts a run. A client that has received a part of it is sent the rest.
    pub(super) fn new(run: Run, turn_id: TurnId, received: Option<Received>) -> Self {
        Self::start(run, Some(turn_id), received)
    }

    /// Leaves out what the client has from earlier runs.
    pub(super) fn without_seen(self, seen: Seen) -> Self {
        Self { seen, ..self }
    }

    /// Starts a run without a turn, for stored messages.
    pub(super) fn without_turn(run: Run) -> Self {
        Self::start(run, None, None)
    }

    fn start(run: Run, turn_id: Option<TurnId>, received: Option<Received>) -> Self {
        let mut events = Self {
            run,
            turn_id,
            reply: Reply::default(),
            is_message_open: false,
            reasoning: None,
            emitted: Received::default(),
            received: received.unwrap_or_default(),
            passed: Vec::new(),
            ready: Events::default(),
            has_ended: false,
            seen: Seen::default(),
        };
        if received.is_none() {
            events.add_start();
        }
        events
    }

    fn add_start(&mut self) {
        let event = RunEvent::RunStarted {
            thread_id: &self.run.thread,
            run_id: &self.run.id,
            protocol_version: self.run.knows_outcomes.then_some(PROTOCOL_VERSION),
        };
        self.ready.push(None, self.id(), &event);
    }

    /// Sends the run from its beginning to a client that has lost it at a position that its turn,
    /// which is complete, never had.
    fn restart(&mut self) {
        let passed = std::mem::take(&mut self.passed);
        (self.emitted, self.received) = (Received::default(), Received::default());
        self.ready.clear();
        self.add_start();
        for event in passed {
            self.add_turn_event(event);
        }
    }

    /// Moves the events that were emitted since the last call to others. Until the turn has reached the
    /// part that the client has received, they are kept: it may never reach it.
    pub(super) fn take_into(&mut self, events: &mut Events) {
        if self.has_ended || self.received.is_within(self.emitted) {
            events.append(&mut self.ready);
        }
    }

    /// Adds the messages before the run.
    pub(super) fn add_snapshot(&mut self, messages: Vec<Value>) {
        self.add(&RunEvent::MessagesSnapshot { messages });
    }

    /// Adds an event that the protocol does not define.
    pub(super) fn add_custom(&mut self, name: &'static str, value: Value) {
        self.add(&RunEvent::Custom { name, value });
    }

    /// Adds the events for an event of the turn. Those for what the client has seen are only counted.
    pub(super) fn add_turn_event(&mut self, event: TurnEvent) {
        if !matches!(event, TurnEvent::Reasoning(_)) {
            self.close_reasoning();
        }
        let sent = self
            .seen
            .has(&event)
            .then(|| std::mem::take(&mut self.ready));
        self.add_events_of(event);
        if let Some(sent) = sent {
            self.ready = sent;
            self.received = self.received.max(self.emitted);
        }
    }

    fn add_events_of(&mut self, event: TurnEvent) {
        if self.received.is_within(self.emitted) {
            self.passed.clear();
        } else if !matches!(event, TurnEvent::Completed(_)) {
            self.passed.push(event.clone());
        }
        match event {
            TurnEvent::Queued(place) => {
                self.add_custom("queued", json!({ "turnId": place.turn_id }));
            }
            TurnEvent::Started(started) => {
                let id = started.reply_id.unwrap_or(started.message_id);
                self.reply = Reply::new(id, self.run.is_one_message);
            }
            TurnEvent::Reasoning(delta) => self.add_reasoning(&delta),
            TurnEvent::Delta(delta) => self.add_text(&delta),
            TurnEvent::ToolCalled(call) => self.add_call(&call),
            TurnEvent::ToolReturned(call) => self.add_result(&call),
            TurnEvent::Completed(reply) => self.complete(&reply),
            TurnEvent::Failed(failed) => self.fail(&failed.error),
            TurnEvent::Resumed(_) => {}
            TurnEvent::RequiresAction(waiting) => {
                self.finish(Outcome::waiting(&waiting.tool_calls));
            }
            TurnEvent::Cancelled(_) if self.run.knows_outcomes => {
                self.finish(Outcome::Cancelled);
            }
            TurnEvent::Cancelled(_) => self.fail(&Problem::new(ProblemCode::TurnCancelled)),
        }
    }

    /// Ends the run with an error.
    pub(super) fn fail(&mut self, problem: &Problem) {
        self.has_ended = true;
        self.add(&RunEvent::RunError {
            message: &problem.text(),
            code: problem.code.as_str(),
        });
    }

    /// Ends the run without an error, and without a reply.
    pub(super) fn finish(&mut self, outcome: Outcome) {
        self.finish_with(outcome, None);
    }

    fn finish_with(&mut self, outcome: Outcome, reply: Option<&ChatReply>) {
        self.close_message();
        self.has_ended = true;
        // Clients without the other outcomes know interrupts.
        let is_known = self.run.knows_outcomes || matches!(outcome, Outcome::Interrupt { .. });
        let event = RunEvent::RunFinished {
            thread_id: &self.run.thread,
            run_id: &self.run.id,
            outcome: is_known.then_some(outcome),
            result: reply.and_then(|reply| reply.output.as_ref()),
            usage: reply.and_then(|it| it.usage).map(|it| [it.into()]),
        };
        self.ready.push_data(&event);
    }

    fn complete(&mut self, reply: &ChatReply) {
        self.close_message();
        if !self.received.is_within(self.emitted) {
            self.restart();
        }
        if reply.degraded {
            self.close_message();
            self.add_custom("degraded", json!({ "engine": reply.engine }));
        }
        self.finish_with(Outcome::SUCCESS, Some(reply));
    }

    fn add_text(&mut self, delta: &ReplyDelta) {
        if !self.is_message_open {
            self.is_message_open = true;
            self.reply.add_text();
            self.emitted.boundaries += 1;
            if self.emitted.boundaries > self.received.boundaries {
                let event = RunEvent::TextMessageStart {
                    message_id: self.reply.message_id(),
                    role: "assistant",
                };
                self.ready.push(None, self.id(), &event);
            }
        }
        self.emitted.text = delta.to;
        if delta.to > self.received.text {
            let skipped = self.received.text.saturating_sub(delta.from);
            let event = RunEvent::TextMessageContent {
                message_id: self.reply.message_id(),
                delta: delta.text.get(skipped..).unwrap_or(&delta.text),
            };
            self.ready.push(None, self.id(), &event);
        }
    }

    fn close_message(&mut self) {
        if !self.is_message_open {
            return;
        }
        self.is_message_open = false;
        self.emitted.boundaries += 1;
        if self.emitted.boundaries > self.received.boundaries {
            let event = RunEvent::TextMessageEnd {
                message_id: self.reply.message_id(),
            };
            self.ready.push(None, self.id(), &event);
        }
    }

    /// Adds an event that a client may receive again.
    fn add(&mut self, event: &RunEvent<'_>) {
        self.ready.push_data(event);
    }

    /// Returns the id of the event that was emitted last.
    fn id(&self) -> Option<EventCursor> {
        Some(EventCursor {
            turn_id: self.turn_id?,
            received: self.emitted.max(self.received),
        })
    }
}

#[cfg(test)]
mod tests;
