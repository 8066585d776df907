//! The replies of turns that run here, as far as they were sent to other nodes.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Weak},
};

use domain::{ConversationId, TenantId, TurnId};
use parking_lot::Mutex;
use ports::{EventBus, ReplyPart, Signal};
use tokio::{
    sync::Notify,
    time::{Duration, Instant},
};

use super::requested_replies::RequestedReplies;
use crate::{
    live_turns::{Interest, LiveTurn, LiveTurns, ReplyCursor},
    node::Node,
};

/// The first part of every reply.
const START: ReplyPart = ReplyPart::Text {
    from: 0,
    text: String::new(),
};
/// The shortest time between two starts of the same reply: requests of many readers are answered
/// together.
const RESTART_INTERVAL: Duration = Duration::from_millis(200);

/// The replies of turns that run here, as far as they were sent to other nodes.
pub struct ForwardedReplies {
    bus: Arc<dyn EventBus>,
    node: Arc<Node>,
    /// Notified by every forwarded turn.
    wake: Arc<Notify>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    requested: RequestedReplies,
    forwarded: HashMap<TurnId, ForwardedReply>,
}

/// A reply, and the part of it that was sent.
struct ForwardedReply {
    turn: Weak<LiveTurn>,
    sent: ReplyCursor,
    started: Instant,
    /// True if it is to be sent from the start again.
    is_restart_due: bool,
}

impl ForwardedReplies {
    /// Creates the state of a process that sends the replies of `node` over `bus`.
    pub fn new(bus: Arc<dyn EventBus>, node: Arc<Node>) -> Self {
        Self {
            bus,
            node,
            wake: Arc::default(),
            state: Mutex::default(),
        }
    }

    pub(super) fn bus(&self) -> &Arc<dyn EventBus> {
        &self.bus
    }

    pub(super) fn node(&self) -> &Node {
        &self.node
    }

    /// Waits until a forwarded turn has changed.
    pub(super) async fn changed(&self) {
        self.wake.notified().await;
    }

    /// Adds the conversations whose replies another node requests, and sends those that run here from
    /// the start: all of them, or those that were not requested before.
    pub(super) fn add_requests(
        &self,
        live: &LiveTurns,
        tenant: &TenantId,
        conversations: &[Option<ConversationId>],
        from_start: bool,
    ) {
        let mut state = self.state.lock();
        let new = state.requested.add(tenant, conversations);
        live.starts.watch(true);
        let restarted = if from_start { conversations } else { &new };
        if restarted.is_empty() {
            return;
        }
        let includes_all = restarted.contains(&None);
        let turns = live.matching(|subject| {
            let conversation = Some(subject.conversation_id);
            subject.tenant == *tenant && (includes_all || restarted.contains(&conversation))
        });
        for turn in turns {
            match state.forwarded.get_mut(&turn.subject().turn_id) {
                Some(known) => known.is_restart_due = true,
                None => self.add_if_requested(&mut state, &turn),
            }
        }
        self.wake.notify_one();
    }

    /// Forwards the replies of turns that have started here, if a node has requested them.
    pub(super) fn add_started(&self, turns: &[Arc<LiveTurn>]) {
        let mut state = self.state.lock();
        for turn in turns {
            self.add_if_requested(&mut state, turn);
        }
    }

    fn add_if_requested(&self, state: &mut State, turn: &Arc<LiveTurn>) {
        let runs_here = turn.local_node().is_some() && !turn.has_ended();
        let subject = turn.subject();
        if !runs_here || subject.is_ephemeral || !state.requested.includes(subject) {
            return;
        }
        let Entry::Vacant(vacant) = state.forwarded.entry(subject.turn_id) else {
            return;
        };
        turn.listen(&self.wake, Interest::Reply);
        self.publish(turn, START);
        vacant.insert(ForwardedReply {
            turn: Arc::downgrade(turn),
            sent: ReplyCursor::default(),
            started: Instant::now(),
            is_restart_due: false,
        });
        self.wake.notify_one();
    }

    /// Returns the earliest time at which a reply is to be sent from the start again.
    pub(super) fn restart_due(&self) -> Option<Instant> {
        let state = self.state.lock();
        let due = state.forwarded.values().filter(|it| it.is_restart_due);
        due.map(|it| it.started + RESTART_INTERVAL).min()
    }

    /// Sends the parts of all replies that are new since the last call.
    pub(super) fn send_new_parts(&self) {
        self.state.lock().forwarded.retain(|_, it| {
            let Some(turn) = it.turn.upgrade() else {
                return false;
            };
            if it.started.elapsed() >= RESTART_INTERVAL {
                self.restart_if_due(it, &turn);
            }
            self.send(it, &turn);
            !turn.has_ended()
        });
    }

    /// Sends what a reply lacks at other nodes before the end of its turn is stored. Their clients
    /// would otherwise receive the end first, which ends the stream.
    pub(crate) fn send_last_parts(&self, turn: &Arc<LiveTurn>) {
        let mut state = self.state.lock();
        if state.requested.is_empty() {
            return;
        }
        // It may have started just now.
        self.add_if_requested(&mut state, turn);
        if let Some(known) = state.forwarded.get_mut(&turn.subject().turn_id) {
            self.restart_if_due(known, turn);
            self.send(known, turn);
        }
    }

    fn restart_if_due(&self, reply: &mut ForwardedReply, turn: &LiveTurn) {
        if std::mem::replace(&mut reply.is_restart_due, false) {
            (reply.sent, reply.started) = (ReplyCursor::default(), Instant::now());
            self.publish(turn, START);
        }
    }

    fn send(&self, reply: &mut ForwardedReply, turn: &LiveTurn) {
        loop {
            // The lock is held for one part only.
            let part = reply.sent.next_part(&turn.progress());
            match part {
                Some(part) => self.publish(turn, part),
                None => return,
            }
        }
    }

    fn publish(&self, turn: &LiveTurn, part: ReplyPart) {
        let subject = turn.subject();
        self.bus.publish(Signal::ReplyPart {
            tenant: subject.tenant.clone(),
            conversation_id: subject.conversation_id,
            turn_id: subject.turn_id,
            node: self.node.id(),
            resumptions: turn.progress().reply.resumptions,
            part,
        });
    }

    /// Forgets expired requests, and the replies without a request.
    pub(super) fn expire(&self, live: &LiveTurns) {
        let State {
            requested,
            forwarded,
        } = &mut *self.state.lock();
        requested.expire();
        live.starts.watch(!requested.is_empty());
        forwarded.retain(|_, it| {
            let turn = it.turn.upgrade();
            turn.is_some_and(|turn| requested.includes(turn.subject()))
        });
    }
}
