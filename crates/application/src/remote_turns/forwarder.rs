//! Sends the replies of turns that run here to the nodes that have readers of them.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use domain::{ConversationId, TenantId};
use futures::StreamExt as _;
use ports::{EventBus, ReplyPart, Signal};
use tokio::{
    sync::Notify,
    time::{Instant, MissedTickBehavior, interval, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{REQUEST_INTERVAL, requested_replies::RequestedReplies};
use crate::{
    background::round,
    live_turns::{Interest, LiveTurn, LiveTurns, ReplyCursor},
    node::Node,
};

/// The pause after new parts were sent, so that pieces which arrive meanwhile are sent together.
const PAUSE: Duration = Duration::from_millis(2);

/// The first part of every reply.
const START: ReplyPart = ReplyPart::Text {
    from: 0,
    text: String::new(),
};
/// The shortest time between two starts of the same reply: requests of many readers are answered
/// together.
const RESTART_INTERVAL: Duration = Duration::from_millis(200);

/// Sends the replies of turns that run here to the nodes that have readers of them.
pub struct ReplyForwarder {
    bus: Arc<dyn EventBus>,
    live: Arc<LiveTurns>,
    node: Arc<Node>,
    requested: RequestedReplies,
    forwarded: Vec<ForwardedReply>,
    /// Notified by every forwarded turn.
    wake: Arc<Notify>,
}

/// A reply, and the part of it that was sent.
struct ForwardedReply {
    turn: Weak<LiveTurn>,
    sent: ReplyCursor,
    started: Instant,
    /// True if it is to be sent from the start again.
    is_restart_due: bool,
}

impl ReplyForwarder {
    /// Creates a forwarder of the turns in `live` that run under the id of `node`.
    pub fn new(bus: Arc<dyn EventBus>, live: Arc<LiveTurns>, node: Arc<Node>) -> Self {
        Self {
            bus,
            live,
            node,
            requested: RequestedReplies::default(),
            forwarded: Vec::new(),
            wake: Arc::default(),
        }
    }

    /// Forwards replies until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        let forwarding = async { while round(self.forward()).await.is_none() {} };
        stop.run_until_cancelled(forwarding).await;
    }

    async fn forward(&mut self) {
        let (node, live, wake) = (
            self.node.watch(),
            Arc::clone(&self.live),
            Arc::clone(&self.wake),
        );
        let mut requests = self.bus.subscribe(Box::new(move |signal| {
            matches!(signal, Signal::RepliesRequested { node: from, .. } if *from != *node.borrow())
        }));
        let mut ticks = interval(REQUEST_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let restart_due = self.restart_due();
            tokio::select! {
                request = requests.next() => match request {
                    Some(request) => self.accept(request),
                    None => return,
                },
                started = live.starts.next() => {
                    for turn in &started {
                        self.forward_if_requested(turn);
                    }
                }
                () = wake.notified() => {
                    self.send_new_parts();
                    sleep(PAUSE).await;
                }
                () = sleep_until(restart_due.unwrap_or_else(Instant::now)), if restart_due.is_some() => {
                    self.send_new_parts();
                }
                _ = ticks.tick() => self.expire(),
            }
        }
    }

    fn accept(&mut self, request: Signal) {
        let Signal::RepliesRequested {
            tenant,
            conversations,
            from_start,
            ..
        } = request
        else {
            return;
        };
        let all_of_tenant = vec![None];
        let conversations = conversations.map_or(all_of_tenant, |conversations| {
            conversations.into_iter().map(Some).collect()
        });
        let new = self.requested.add(&tenant, &conversations);
        self.live.starts.watch(true);
        let restarted = if from_start { &conversations } else { &new };
        if !restarted.is_empty() {
            self.send_from_start(&tenant, restarted);
        }
    }

    /// Sends the running replies of these conversations from the start.
    fn send_from_start(&mut self, tenant: &TenantId, conversations: &[Option<ConversationId>]) {
        let includes_all = conversations.contains(&None);
        let turns = self.live.matching(|subject| {
            let conversation = Some(subject.conversation_id);
            subject.tenant == *tenant && (includes_all || conversations.contains(&conversation))
        });
        for turn in turns {
            match self.forwarded.iter_mut().find(|it| it.is_of(&turn)) {
                Some(known) => known.is_restart_due = true,
                None => self.forward_if_requested(&turn),
            }
        }
        self.wake.notify_one();
    }

    /// Returns the earliest time at which a reply is to be sent from the start again.
    fn restart_due(&self) -> Option<Instant> {
        let due = self.forwarded.iter().filter(|it| it.is_restart_due);
        due.map(|it| it.started + RESTART_INTERVAL).min()
    }

    /// Forwards a reply that runs here, if a node has requested it.
    fn forward_if_requested(&mut self, turn: &Arc<LiveTurn>) {
        let runs_here = turn.local_node().is_some() && !turn.has_ended();
        let subject = turn.subject();
        let is_known = self.forwarded.iter().any(|it| it.is_of(turn));
        if !runs_here || subject.is_ephemeral || is_known || !self.requested.includes(subject) {
            return;
        }
        turn.listen(&self.wake, Interest::Reply);
        self.publish(turn, START);
        self.forwarded.push(ForwardedReply {
            turn: Arc::downgrade(turn),
            sent: ReplyCursor::default(),
            started: Instant::now(),
            is_restart_due: false,
        });
        self.wake.notify_one();
    }

    fn send_new_parts(&mut self) {
        let mut forwarded = std::mem::take(&mut self.forwarded);
        forwarded.retain_mut(|it| {
            let Some(turn) = it.turn.upgrade() else {
                return false;
            };
            if it.is_restart_due && it.started.elapsed() >= RESTART_INTERVAL {
                (it.sent, it.started) = (ReplyCursor::default(), Instant::now());
                it.is_restart_due = false;
                self.publish(&turn, START);
            }
            loop {
                // The lock is held for one part only.
                let part = it.sent.next_part(&turn.progress());
                match part {
                    Some(part) => self.publish(&turn, part),
                    None => return !turn.has_ended(),
                }
            }
        });
        self.forwarded = forwarded;
    }

    fn publish(&self, turn: &LiveTurn, part: ReplyPart) {
        let subject = turn.subject();
        self.bus.publish(Signal::ReplyPart {
            tenant: subject.tenant.clone(),
            conversation_id: subject.conversation_id,
            turn_id: subject.turn_id,
            node: self.node.id(),
            part,
        });
    }

    fn expire(&mut self) {
        self.requested.expire();
        self.live.starts.watch(!self.requested.is_empty());
        let requested = &self.requested;
        self.forwarded.retain(|it| {
            let turn = it.turn.upgrade();
            turn.is_some_and(|turn| requested.includes(turn.subject()))
        });
    }
}

impl ForwardedReply {
    fn is_of(&self, turn: &Arc<LiveTurn>) -> bool {
        self.turn.as_ptr() == Arc::as_ptr(turn)
    }
}
