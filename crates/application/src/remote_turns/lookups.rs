//! Reads of turns that run beside the receiver, which therefore never waits for the store.

use std::{collections::HashMap, future::pending, sync::Arc, time::Duration};

use domain::{AsOf, Seq, TenantId, TurnId, TurnStatus};
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use ports::{FoundTurn, RepositoryError, TurnRepository};
use tokio::time::Instant;

use super::receiver::ReceivedPart;
use crate::live_turns::LiveTurn;

/// The maximum number of concurrent reads. Parts of further turns are ignored: the next one starts a
/// read, and the gap before it is requested.
const MAX_READS: usize = 16;
/// The maximum number of parts of a turn that are kept while it is read: those of about 300 ms.
const MAX_PARTS: usize = 16;
/// The pause in which no turn is read, after the store did not respond.
const READ_PAUSE: Duration = Duration::from_secs(1);

type Read = (TurnId, Result<AsOf<Option<FoundTurn>>, RepositoryError>);

/// The turns that are being read.
pub(super) struct Lookups {
    turns: Arc<dyn TurnRepository>,
    reads: FuturesUnordered<BoxFuture<'static, Read>>,
    waiting: HashMap<TurnId, Lookup>,
    /// The time until which no turn is read, because the store did not respond.
    paused_until: Option<Instant>,
}

/// The reason of a read.
pub(super) enum Lookup {
    /// The first parts of a turn have arrived.
    First {
        /// The parts.
        parts: Vec<ReceivedPart>,
        /// True if more parts have arrived than are kept.
        has_missed: bool,
    },
    /// No part of this turn has arrived for a while.
    Silent(TurnId),
}

/// The result of a read.
pub(super) struct Found {
    pub(super) lookup: Lookup,
    /// The turn and its position in the log, if it is running.
    pub(super) running: Option<(FoundTurn, Seq)>,
}

impl Lookups {
    pub(super) fn new(turns: Arc<dyn TurnRepository>) -> Self {
        Self {
            turns,
            reads: FuturesUnordered::new(),
            waiting: HashMap::new(),
            paused_until: None,
        }
    }

    /// Forgets all reads.
    pub(super) fn clear(&mut self) {
        self.reads.clear();
        self.waiting.clear();
    }

    /// Starts to read the turn of a part. If this is being done already, the part is kept.
    pub(super) fn start_first(&mut self, part: ReceivedPart) {
        if let Some(waiting) = self.waiting.get_mut(&part.turn) {
            if let Lookup::First { parts, has_missed } = waiting {
                *has_missed |= parts.len() >= MAX_PARTS;
                if !*has_missed {
                    parts.push(part);
                }
            }
            return;
        }
        let (tenant, turn) = (part.tenant.clone(), part.turn);
        let lookup = Lookup::First {
            parts: vec![part],
            has_missed: false,
        };
        self.start(tenant, turn, lookup);
    }

    /// Starts to read a turn without new parts. Returns false if this is not possible now.
    pub(super) fn start_silent(&mut self, turn: &LiveTurn) -> bool {
        let subject = turn.subject();
        let id = subject.turn_id;
        self.start(subject.tenant.clone(), id, Lookup::Silent(id))
    }

    fn start(&mut self, tenant: TenantId, turn: TurnId, lookup: Lookup) -> bool {
        let is_paused = self
            .paused_until
            .is_some_and(|until| Instant::now() < until);
        if is_paused || self.reads.len() >= MAX_READS || self.waiting.contains_key(&turn) {
            return false;
        }
        let turns = Arc::clone(&self.turns);
        let read = async move { (turn, turns.find(&tenant, turn).await) };
        self.reads.push(read.boxed());
        self.waiting.insert(turn, lookup);
        true
    }

    /// Returns the result of the next read that succeeds; waits while none is running.
    pub(super) async fn next(&mut self) -> Found {
        loop {
            let Some((turn, found)) = self.reads.next().await else {
                return pending().await;
            };
            let lookup = self.waiting.remove(&turn);
            match (lookup, found) {
                (Some(lookup), Ok(found)) => return lookup.found(found),
                (_, Err(error)) => {
                    self.paused_until = Some(Instant::now() + READ_PAUSE);
                    let error = ports::error::one_line(&error);
                    tracing::debug!(error, %turn, "cannot read a turn of another node");
                }
                (None, Ok(_)) => {}
            }
        }
    }
}

impl Lookup {
    fn found(self, found: AsOf<Option<FoundTurn>>) -> Found {
        let conversation = match &self {
            Self::First { parts, .. } => parts.first().map(|part| part.conversation),
            Self::Silent(_) => None,
        };
        let running = found.value.filter(|found| {
            let turn = &found.turn;
            turn.status == TurnStatus::InProgress
                && conversation.is_none_or(|it| turn.conversation_id == it)
        });
        let position = found.position;
        Found {
            lookup: self,
            running: running.map(|running| (running, position)),
        }
    }
}
