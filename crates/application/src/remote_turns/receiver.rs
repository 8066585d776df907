//! Receives the replies of turns that other nodes run, for the readers of this node.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use domain::{ConversationId, Seq, TenantId, TurnId};
use futures::{StreamExt as _, stream::BoxStream};
use ports::{EventBus, FoundTurn, ReplyPart, Signal, TurnRepository};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{
    GAP_REQUEST_INTERVAL, REQUEST_INTERVAL,
    lookups::{Found, Lookup, Lookups},
    received_reply::ReceivedReply,
};
use crate::{
    background::round,
    cache::LogProgress,
    live_turns::{LiveTurns, ReplyReaders, RequestedConversations},
    node::Node,
};

/// The time without a part after which the store is asked whether the turn still runs.
const SILENCE: Duration = Duration::from_secs(30);
/// The maximum number of turns whose parts are ignored.
const MAX_IGNORED: usize = 1_024;

/// Receives the replies of turns that other nodes run, for the readers of this node.
pub struct ReplyReceiver {
    bus: Arc<dyn EventBus>,
    live: Arc<LiveTurns>,
    /// Reports the ends of turns, once their tenant is followed.
    applied: Arc<LogProgress>,
    node: Arc<Node>,
    received: HashMap<TurnId, ReceivedReply>,
    /// Turns that have ended or do not exist, whose parts are ignored.
    ignored: HashSet<TurnId>,
    lookups: Lookups,
    /// The time of the last request for all replies from the start.
    last_loss: Option<Instant>,
    /// The time at which to request all replies from the start, because signals were lost.
    loss_due: Option<Instant>,
}

/// A part, and the turn that it belongs to.
pub(super) struct ReceivedPart {
    pub(super) tenant: TenantId,
    pub(super) conversation: ConversationId,
    pub(super) turn: TurnId,
    pub(super) resumptions: u32,
    pub(super) part: ReplyPart,
}

impl ReplyReceiver {
    /// Creates a receiver for the readers of `live`; `turns` is read without a cache.
    pub fn new(
        bus: Arc<dyn EventBus>,
        live: Arc<LiveTurns>,
        turns: Arc<dyn TurnRepository>,
        applied: Arc<LogProgress>,
        node: Arc<Node>,
    ) -> Self {
        Self {
            bus,
            live,
            applied,
            node,
            received: HashMap::new(),
            ignored: HashSet::new(),
            lookups: Lookups::new(turns),
            last_loss: None,
            loss_due: None,
        }
    }

    /// Receives replies until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        let receiving = async { while round(self.receive_all()).await.is_none() {} };
        stop.run_until_cancelled(receiving).await;
    }

    async fn receive_all(&mut self) {
        let readers = Arc::clone(&self.live.readers);
        let mut signals = self.signals();
        let mut ticks = interval(REQUEST_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.lookups.clear();
        loop {
            let loss_due = self.loss_due;
            tokio::select! {
                signal = signals.next() => match signal {
                    Some(Signal::ReplyPart { tenant, conversation_id, turn_id, resumptions, part, .. }) => {
                        let conversation = conversation_id;
                        self.receive(ReceivedPart { tenant, conversation, turn: turn_id, resumptions, part });
                    }
                    // Signals were lost.
                    Some(_) => self.schedule_request_for_all(),
                    None => return,
                },
                found = self.lookups.next() => self.complete(found),
                () = sleep_until(loss_due.unwrap_or_else(Instant::now)), if loss_due.is_some() => {
                    (self.last_loss, self.loss_due) = (Some(Instant::now()), None);
                    self.request(readers.all(), true);
                }
                added = readers.added() => self.request(added, true),
                _ = ticks.tick() => {
                    self.request(readers.all(), false);
                    self.drop_ended();
                }
            }
        }
    }

    /// Returns the parts that readers of this node want, and reports of lost signals.
    fn signals(&self) -> BoxStream<'static, Signal> {
        let (node, readers) = (self.node.watch(), Arc::clone(&self.live.readers));
        self.bus.subscribe(Box::new(move |signal| match signal {
            Signal::ReplyPart {
                tenant,
                conversation_id,
                node: from,
                ..
            } => *from != *node.borrow() && readers.has_reader(tenant, *conversation_id),
            Signal::SignalsLost => true,
            _ => false,
        }))
    }

    fn request(&self, wanted: HashMap<TenantId, RequestedConversations>, from_start: bool) {
        for (tenant, conversations) in wanted {
            self.bus.publish(Signal::RepliesRequested {
                tenant,
                conversations,
                node: self.node.id(),
                from_start,
            });
        }
    }

    /// Requests all replies from the start as soon as the last such request is old enough.
    fn schedule_request_for_all(&mut self) {
        let now = Instant::now();
        let earliest = self.last_loss.map(|last| last + GAP_REQUEST_INTERVAL);
        let due = || earliest.map_or(now, |earliest| earliest.max(now));
        self.loss_due.get_or_insert_with(due);
    }

    fn receive(&mut self, received: ReceivedPart) {
        if self.ignored.contains(&received.turn) {
            return;
        }
        match self.received.get_mut(&received.turn) {
            Some(reply) => {
                reply.last_part = Instant::now();
                if !reply.turn.apply_part(received.part, received.resumptions) {
                    self.request_gap(received.turn);
                }
            }
            // The store decides on the readers that may see the turn.
            None => self.lookups.start_first(received),
        }
    }

    /// Requests a reply from the start, of which parts were lost.
    fn request_gap(&mut self, turn: TurnId) {
        let Some(reply) = self.received.get_mut(&turn) else {
            return;
        };
        if reply.may_request_gap() {
            let subject = reply.turn.subject();
            let conversations = Some(vec![subject.conversation_id]);
            let wanted = HashMap::from([(subject.tenant.clone(), conversations)]);
            self.request(wanted, true);
        }
    }

    fn complete(&mut self, found: Found) {
        match found.lookup {
            Lookup::First { parts, has_missed } => {
                self.complete_first(parts, found.running, has_missed);
            }
            Lookup::Silent(turn) => {
                let reply = self.received.get(&turn);
                if let (Some(reply), None) = (reply, found.running) {
                    reply.turn.stop();
                }
            }
        }
    }

    fn complete_first(
        &mut self,
        parts: Vec<ReceivedPart>,
        running: Option<(FoundTurn, Seq)>,
        has_missed: bool,
    ) {
        let Some(ReceivedPart { tenant, turn, .. }) = parts.first() else {
            return;
        };
        let (tenant, turn) = (tenant.clone(), *turn);
        let Some((running, position)) = running else {
            return self.ignore(turn);
        };
        let live = self.live.get_or_register_found(&tenant, running);
        let reply = ReceivedReply::new(Arc::clone(&live));
        self.received.insert(turn, reply);
        self.applied.follow(&tenant, position);
        if self.applied.position(&tenant) > Some(position) {
            // The end of the turn may have been applied before it was registered.
            self.lookups.start_silent(&live);
        }
        self.live.readers.deliver(&live, position);
        let mut parts = parts.into_iter();
        let fits = parts.all(|received| live.apply_part(received.part, received.resumptions));
        if !fits || has_missed {
            self.request_gap(turn);
        }
    }

    fn ignore(&mut self, turn: TurnId) {
        if self.ignored.len() >= MAX_IGNORED {
            self.ignored.clear();
        }
        self.ignored.insert(turn);
    }

    /// Drops the replies of turns that have ended or have lost their readers.
    fn drop_ended(&mut self) {
        let readers: &ReplyReaders = &self.live.readers;
        self.received.retain(|_, reply| {
            let subject = reply.turn.subject();
            !reply.turn.is_over() && readers.has_reader(&subject.tenant, subject.conversation_id)
        });
        for reply in self.received.values_mut() {
            if reply.last_part.elapsed() > SILENCE && self.lookups.start_silent(&reply.turn) {
                reply.last_part = Instant::now();
            }
        }
    }
}
