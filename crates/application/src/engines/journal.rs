//! The journal of a turn that runs here.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use domain::{
    ModelStep, NodeId, Stamp, Timestamp, ToolCall, ToolStep, TurnStep,
    tool_call::turn_of_call,
    turn_step::{calls, model_steps},
};
use parking_lot::Mutex;
use ports::{Clock, ListingOrder, TurnFilter, TurnQuery, TurnRepository};
use serde_json::Value;
use writes::{RecordSteps, RecordStepsOutcome};

use crate::{
    cache::CachedWrites,
    live_turns::{LiveTurn, TurnOwnership},
    pauses::Pauses,
};

/// The number of turns whose calls are compared with a new one.
const MAX_COMPARED_TURNS: usize = 100;

/// The journal of a turn that runs here. Its writes stop the turn if it belongs to another process by
/// now: they then never return.
pub(crate) struct Journal<'a> {
    writes: &'a CachedWrites,
    clock: &'a dyn Clock,
    turns: &'a dyn TurnRepository,
    live: &'a Arc<LiveTurn>,
    node: NodeId,
    /// True once this process begins to shut down.
    is_draining: &'a AtomicBool,
    entries: Mutex<Vec<TurnStep>>,
}

impl<'a> Journal<'a> {
    /// Creates the journal of a turn with the entries that it has already.
    pub(crate) fn new(
        writes: &'a CachedWrites,
        clock: &'a dyn Clock,
        turns: &'a dyn TurnRepository,
        ownership: &'a TurnOwnership,
        is_draining: &'a AtomicBool,
        entries: Vec<TurnStep>,
    ) -> Self {
        Self {
            writes,
            clock,
            turns,
            live: &ownership.live,
            node: ownership.node,
            is_draining,
            entries: Mutex::new(entries),
        }
    }

    /// Returns whether a call of this tool with these arguments waits for staff already, in this
    /// conversation. If the store does not answer, staff may be asked twice.
    pub(crate) async fn waits_for_staff(&self, name: &str, arguments: &Value) -> bool {
        let is_equal = |call: &ToolStep| {
            let own = Value::Object(call.read_arguments());
            call.waits_for_staff() && call.name == name && own == *arguments
        };
        let entries = self.entries.lock().clone();
        if calls(&entries).any(is_equal) {
            return true;
        }
        let subject = self.live.subject();
        let query = TurnQuery {
            filter: TurnFilter::Waiting,
            order: ListingOrder::Descending,
            after: None,
            limit: MAX_COMPARED_TURNS,
        };
        let listed = self
            .turns
            .list(&subject.tenant, subject.conversation_id, &query);
        let waiting = match listed.await {
            Ok(page) => page.value.map(|page| page.items).unwrap_or_default(),
            Err(error) => {
                tracing::warn!(
                    error = ports::error::one_line(&error),
                    "cannot read the calls that wait for staff"
                );
                return false;
            }
        };
        let is_staffs = |call: &ToolCall| call.needs.is_some() && call.needs_of_user().is_none();
        let mut calls = waiting.iter().flat_map(|turn| &turn.item.tool_calls);
        calls.any(|call| is_staffs(call) && call.name == name && call.arguments == *arguments)
    }

    /// Returns the responses of models so far, with their calls.
    pub(crate) fn model_steps(&self) -> Vec<Arc<ModelStep>> {
        model_steps(&self.entries.lock())
    }

    /// Returns the engine of the last response of this turn, and its model. No other one continues it. One whose call the turn
    /// has taken over from another turn does not count: the agent may have another engine by now.
    pub(crate) fn engine(&self) -> Option<(String, Option<String>)> {
        let own = Some(self.live.subject().turn_id);
        let entries = self.entries.lock();
        let is_taken_over = |at: usize| {
            let next = entries.get(at + 1).and_then(TurnStep::call);
            next.is_some_and(|call| turn_of_call(&call.call_id) != own)
        };
        let mut newest_first = entries.iter().enumerate().rev();
        newest_first.find_map(|(at, step)| match step {
            TurnStep::Model(response) if !is_taken_over(at) => {
                let last = response.requests.last();
                Some((
                    response.engine.clone(),
                    last.and_then(|it| it.model.clone()),
                ))
            }
            _ => None,
        })
    }

    /// Returns the number of times that the turn was resumed since a call was recorded.
    pub(crate) fn resumptions_since(&self, call_id: &str) -> u32 {
        let entries = self.entries.lock();
        let begun = entries.iter().position(|it| has_call_id(it, call_id));
        let after = begun.map_or(&[][..], |begun| &entries[begun..]);
        domain::turn_step::resumptions(after)
    }

    /// Records entries before their calls are made.
    pub(crate) async fn begin(&self, steps: Vec<TurnStep>) {
        let first = {
            let mut entries = self.entries.lock();
            let first = entries.len();
            entries.extend(steps.iter().cloned());
            first
        };
        self.write((first..).zip(steps).collect(), Vec::new()).await;
    }

    /// Returns the entries so far.
    pub(crate) fn entries(&self) -> Vec<TurnStep> {
        self.entries.lock().clone()
    }

    /// Returns the current time.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Records that approved calls are about to be made, or that calls have ended.
    pub(crate) async fn change(&self, steps: Vec<TurnStep>) {
        let mut changed = Vec::new();
        {
            let mut entries = self.entries.lock();
            for step in steps {
                let Some(call) = step.call() else {
                    continue;
                };
                let begun = entries.iter().position(|it| has_call_id(it, &call.call_id));
                if let Some(number) = begun {
                    entries[number] = step.clone();
                    changed.push((number, step));
                }
            }
        }
        self.write(Vec::new(), changed).await;
    }

    /// Leaves the rest of the turn to another process, or to this one after a restart, if this one
    /// begins to shut down. Then never returns.
    pub(crate) async fn release_if_draining(&self) {
        if self.is_draining.load(Ordering::SeqCst) {
            self.live.interrupt();
            pending::<()>().await;
        }
    }

    /// Writes entries, however long the store is unavailable.
    async fn write(&self, begun: Vec<(usize, TurnStep)>, changed: Vec<(usize, TurnStep)>) {
        let subject = self.live.subject();
        let record = RecordSteps {
            tenant: subject.tenant.clone(),
            turn_id: subject.turn_id,
            conversation_id: subject.conversation_id,
            node: self.node,
            begun,
            changed,
            stamp: Stamp {
                time: self.now(),
                actor: subject.started_by.clone(),
            },
        };
        let mut pauses = Pauses::default();
        loop {
            // Boxed: it would enlarge the task of every turn, of which most record nothing.
            let written = Box::pin(self.writes.write(record.clone()));
            let error = match written.await {
                Ok(RecordStepsOutcome::Recorded(_)) => return,
                Ok(RecordStepsOutcome::NotOwned) => break,
                Err(error) => error,
            };
            tracing::warn!(
                error = ports::error::one_line(&error),
                turn = %subject.turn_id,
                "cannot record the tool calls of a turn; retrying"
            );
            pauses.wait().await;
        }
        self.live.stop();
        pending::<()>().await;
    }
}

fn has_call_id(step: &TurnStep, call_id: &str) -> bool {
    step.call().is_some_and(|call| call.call_id == call_id)
}
