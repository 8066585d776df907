//! Receives the replies of turns that other nodes run, for the readers of this node.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use domain::{ConversationId, TenantId, TurnId, TurnStatus};
use futures::{StreamExt as _, stream::BoxStream};
use ports::{EventBus, ReplyPart, Signal, TurnRepository};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::REQUEST_INTERVAL;
use crate::{
    background::round,
    live_turns::{LiveTurn, LiveTurns, ReplyReaders, RequestedConversations},
    node::Node,
};

/// The shortest time between two requests for the lost parts of a reply.
const GAP_REQUEST_INTERVAL: Duration = Duration::from_millis(200);
/// The pause in which no turn is read, after the store did not respond.
const READ_PAUSE: Duration = Duration::from_secs(1);
/// The time without a part after which the store is asked whether the turn still runs.
const SILENCE: Duration = Duration::from_secs(30);
/// The maximum number of turns whose parts are ignored.
const MAX_IGNORED: usize = 1_024;

/// Receives the replies of turns that other nodes run, for the readers of this node.
pub struct ReplyReceiver {
    bus: Arc<dyn EventBus>,
    live: Arc<LiveTurns>,
    turns: Arc<dyn TurnRepository>,
    node: Arc<Node>,
    received: HashMap<TurnId, ReceivedReply>,
    /// Turns that have ended or do not exist, whose parts are ignored.
    ignored: HashSet<TurnId>,
    /// The time until which no turn is read, because the store did not respond.
    paused_until: Option<Instant>,
}

/// A reply of another node, held for its readers until the turn ends.
struct ReceivedReply {
    turn: Arc<LiveTurn>,
    last_part: Instant,
    last_gap: Option<Instant>,
}

/// A part, and the turn that it belongs to.
struct ReceivedPart {
    tenant: TenantId,
    conversation: ConversationId,
    turn: TurnId,
    part: ReplyPart,
}

impl ReplyReceiver {
    /// Creates a receiver for the readers of `live`; `turns` is read without a cache.
    pub fn new(
        bus: Arc<dyn EventBus>,
        live: Arc<LiveTurns>,
        turns: Arc<dyn TurnRepository>,
        node: Arc<Node>,
    ) -> Self {
        Self {
            bus,
            live,
            turns,
            node,
            received: HashMap::new(),
            ignored: HashSet::new(),
            paused_until: None,
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
        loop {
            tokio::select! {
                signal = signals.next() => match signal {
                    Some(Signal::ReplyPart { tenant, conversation_id, turn_id, part, .. }) => {
                        let conversation = conversation_id;
                        self.receive(ReceivedPart { tenant, conversation, turn: turn_id, part }).await;
                    }
                    // Signals were lost.
                    Some(_) => self.request(readers.all(), true),
                    None => return,
                },
                added = readers.added() => self.request(added, true),
                _ = ticks.tick() => {
                    self.request(readers.all(), false);
                    self.drop_ended().await;
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

    async fn receive(&mut self, received: ReceivedPart) {
        let id = received.turn;
        if self.ignored.contains(&id)
            || !(self.received.contains_key(&id) || self.find(&received).await)
        {
            return;
        }
        let Some(reply) = self.received.get_mut(&id) else {
            return;
        };
        reply.last_part = Instant::now();
        if reply.turn.apply_part(received.part) || !reply.may_request_gap() {
            return;
        }
        let wanted = HashMap::from([(received.tenant, Some(vec![received.conversation]))]);
        self.request(wanted, true);
    }

    /// Reads a turn whose first part has arrived from the store, which decides on the readers that
    /// may see it. Returns whether it is running.
    async fn find(&mut self, part: &ReceivedPart) -> bool {
        if self
            .paused_until
            .is_some_and(|until| Instant::now() < until)
        {
            return false;
        }
        let found = match self.turns.find(&part.tenant, part.turn).await {
            Ok(found) => found,
            Err(error) => {
                self.paused_until = Some(Instant::now() + READ_PAUSE);
                let error = ports::error::one_line(&error);
                tracing::debug!(error, turn = %part.turn, "cannot read a turn of another node");
                return false;
            }
        };
        let position = found.position;
        let running = found.value.filter(|found| {
            found.turn.status == TurnStatus::InProgress
                && found.turn.conversation_id == part.conversation
        });
        let Some(running) = running else {
            self.ignore(part.turn);
            return false;
        };
        let live = self.live.get_or_register_found(&part.tenant, running);
        self.received.insert(
            part.turn,
            ReceivedReply {
                turn: Arc::clone(&live),
                last_part: Instant::now(),
                last_gap: None,
            },
        );
        self.live.readers.deliver(&live, position);
        true
    }

    fn ignore(&mut self, turn: TurnId) {
        if self.ignored.len() >= MAX_IGNORED {
            self.ignored.clear();
        }
        self.ignored.insert(turn);
    }

    /// Drops the replies of turns that have ended or have lost their readers.
    async fn drop_ended(&mut self) {
        let readers: &ReplyReaders = &self.live.readers;
        self.received.retain(|_, reply| {
            let subject = reply.turn.subject();
            !reply.turn.is_over() && readers.has_reader(&subject.tenant, subject.conversation_id)
        });
        let silent = self
            .received
            .values_mut()
            .filter(|reply| reply.last_part.elapsed() > SILENCE);
        for reply in silent {
            reply.last_part = Instant::now();
            let subject = reply.turn.subject();
            let found = self.turns.find(&subject.tenant, subject.turn_id).await;
            if let Ok(found) = found {
                let is_running = |status| status == TurnStatus::InProgress;
                if !found
                    .value
                    .is_some_and(|found| is_running(found.turn.status))
                {
                    reply.turn.stop();
                }
            }
        }
    }
}

impl ReceivedReply {
    fn may_request_gap(&mut self) -> bool {
        let may = self
            .last_gap
            .is_none_or(|last| last.elapsed() > GAP_REQUEST_INTERVAL);
        if may {
            self.last_gap = Some(Instant::now());
        }
        may
    }
}
