//! The task that runs a follower while this node has its lease.

use std::{collections::HashMap, sync::Arc, time::Duration};

use domain::{Seq, TenantId};
use ports::{
    FollowerPosition, FollowerRepository, FollowerStep, LogHead, RepositoryError, error::one_line,
};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::FollowerWork;
use crate::{
    background::round,
    node::Node,
    realtime::{EventFilter, LogReader, PageSize},
};

/// The interval at which a node claims a follower. With the lease of a node that has died, the time until another
/// one takes it over.
const CLAIM_INTERVAL: Duration = Duration::from_secs(3);

/// The shortest pause after a round that has read all events, so that the next one takes the events of many commits.
const MIN_PAUSE: Duration = Duration::from_millis(250);
/// The pause after a round while the logs grow, in proportion to the time that the round took. For the rest of the
/// time, the processor and the disk serve those who write.
const PAUSE_PER_WORK: u32 = 19;
/// The longest pause, also after a round that waited for the store.
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// The time without a new event after which nobody seems to write. The heads are read every second.
const QUIET: Duration = Duration::from_secs(2);

/// The size of a page of events.
const PAGE: PageSize = PageSize {
    events: 500,
    bytes: 1024 * 1024,
};

/// Runs a follower while this node has its lease.
pub struct FollowerRunner {
    work: Arc<dyn FollowerWork>,
    followers: Arc<dyn FollowerRepository>,
    log: Arc<LogReader>,
    node: Arc<Node>,
    heads: watch::Receiver<Arc<[LogHead]>>,
    /// The positions in the store, once they are loaded.
    positions: HashMap<TenantId, FollowerPosition>,
    /// False at first, without the lease, and after an error or a step of another node.
    is_loaded: bool,
    claimed_at: Option<Instant>,
}

impl FollowerRunner {
    /// Creates a runner of `work` that follows the logs up to `heads`.
    pub fn new(
        work: Arc<dyn FollowerWork>,
        followers: Arc<dyn FollowerRepository>,
        log: Arc<LogReader>,
        node: Arc<Node>,
        heads: watch::Receiver<Arc<[LogHead]>>,
    ) -> Self {
        Self {
            work,
            followers,
            log,
            node,
            heads,
            positions: HashMap::new(),
            is_loaded: false,
            claimed_at: None,
        }
    }

    /// Follows the logs until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        stop.run_until_cancelled(self.follow()).await;
    }

    async fn follow(&mut self) {
        let (mut is_failing, mut grown_at) = (false, Instant::now());
        loop {
            if self.heads.borrow_and_update().has_changed() {
                grown_at = Instant::now();
            }
            let (follower, was_failing) = (self.work.name(), is_failing);
            let (begun, mut has_more) = (Instant::now(), false);
            match round(self.follow_once_in_all()).await {
                Some(Ok(more)) => (is_failing, has_more) = (false, more),
                failed => {
                    is_failing = true;
                    // The positions may have been moved, or not.
                    self.is_loaded = false;
                    let error = failed.and_then(Result::err);
                    let error =
                        error.map_or_else(|| "a panic".to_owned(), |error| one_line(&error));
                    if was_failing {
                        tracing::debug!(error, follower, "cannot follow the event logs");
                    } else {
                        tracing::warn!(error, follower, "cannot follow the event logs; retrying");
                    }
                }
            }
            let pause = MAX_PAUSE.min(begun.elapsed() * PAUSE_PER_WORK);
            if has_more {
                if self.heads.has_changed().unwrap_or_default() {
                    grown_at = Instant::now();
                }
                if grown_at.elapsed() < QUIET {
                    sleep(pause).await;
                }
            // Without new events, the lease is still claimed.
            } else if timeout(CLAIM_INTERVAL, self.heads.changed()).await.is_ok() {
                grown_at = Instant::now();
                sleep(MIN_PAUSE.max(pause)).await;
            }
        }
    }

    /// Follows each log by one page, or by one step of its backfill, so that no tenant waits for another. Returns
    /// whether more is left.
    async fn follow_once_in_all(&mut self) -> Result<bool, RepositoryError> {
        if !self.claim().await? {
            self.report_lag(&[]);
            return Ok(false);
        }
        let heads = Arc::clone(&*self.heads.borrow());
        let (mut outcome, mut has_more) = (Ok(()), false);
        for head in heads.iter() {
            match self.follow_once(head).await {
                Ok(more) => has_more |= more,
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        self.report_lag(&heads);
        outcome.map(|()| has_more)
    }

    /// Returns whether this node has the lease, and loads the positions if it is new.
    async fn claim(&mut self) -> Result<bool, RepositoryError> {
        let is_due = |at: Instant| at.elapsed() >= CLAIM_INTERVAL;
        if self.claimed_at.is_none_or(is_due) {
            let follower = self.work.name();
            self.claimed_at = None;
            if !self.followers.claim(follower, self.node.id()).await? {
                self.is_loaded = false;
                return Ok(false);
            }
            self.claimed_at = Some(Instant::now());
        }
        if !self.is_loaded {
            self.positions = self.work.positions().await?.into_iter().collect();
            self.is_loaded = true;
        }
        Ok(true)
    }

    /// Follows one log by a page, then by a step of its backfill. Returns whether more is left.
    async fn follow_once(&mut self, head: &LogHead) -> Result<bool, RepositoryError> {
        let tenant = &head.tenant;
        let Some(mut position) = self.positions.get(tenant).copied() else {
            let begun = self.work.begin(tenant, None, head.head).await?;
            return Ok(self.move_to(tenant, begun));
        };
        let mut has_more = false;
        if position.seq != head.head {
            let next = self.read(head, position).await?;
            if !self.move_to(tenant, next) {
                return Ok(false);
            }
            let read_to = next.unwrap_or(position);
            has_more = position.seq < read_to.seq && read_to.seq < head.head;
            position = read_to;
        }
        if position.backfilled_to.is_some() {
            let next = self.work.backfill(tenant, position).await?;
            has_more |= next.is_some_and(|next| next.backfilled_to.is_some());
            self.move_to(tenant, next);
        }
        Ok(has_more)
    }

    /// Reads a page and does its work. Returns the new position, or `None` if another process has moved it.
    async fn read(
        &self,
        head: &LogHead,
        position: FollowerPosition,
    ) -> Result<Option<FollowerPosition>, RepositoryError> {
        let tenant = &head.tenant;
        let filter = EventFilter {
            types: self.work.types().to_vec(),
            ..EventFilter::everything()
        };
        // Not from the tail, which would read the events of each commit at once.
        let page = self.log.page(tenant, &filter, position.seq, PAGE).await?;
        if !page.bounds().reach(position.seq) {
            return self.work.begin(tenant, Some(position), page.head).await;
        }
        if page.next_since <= position.seq {
            return Ok(Some(position));
        }
        let to = FollowerPosition {
            seq: page.next_since,
            ..position
        };
        let step = FollowerStep::new(tenant, Some(position), to);
        let is_moved = self.work.apply(&step, &page.events).await?;
        Ok(is_moved.then_some(to))
    }

    /// Remembers a new position. Without one, another process has moved it: positions are read again.
    fn move_to(&mut self, tenant: &TenantId, position: Option<FollowerPosition>) -> bool {
        match position {
            Some(position) => {
                self.positions.insert(tenant.clone(), position);
            }
            None => self.is_loaded = false,
        }
        position.is_some()
    }

    /// Reports the number of events that the follower is behind, in the log in which it is furthest behind; 0 if
    /// another node runs it.
    fn report_lag(&self, heads: &[LogHead]) {
        let behind = heads.iter().map(|head| {
            let position = self.positions.get(&head.tenant);
            let position = position.map_or(Seq(0), |position| position.seq);
            head.head.0.saturating_sub(position.0)
        });
        let events = u32::try_from(behind.max().unwrap_or_default()).map_or(f64::MAX, f64::from);
        metrics::gauge!("follower_lag", "follower" => self.work.name()).set(events);
    }
}
