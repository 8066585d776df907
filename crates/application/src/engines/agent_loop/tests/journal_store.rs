//! A turn whose journal is in memory.

use std::{
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use contract::fixture;
use domain::{
    AsOf, ConversationId, Listed, MessageId, Page, Problem, Seq, TenantId, Timestamp, ToolCall,
    Turn, TurnId, TurnStep,
};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use ports::{
    Clock, ConditionalRows, Decided, Decision, Facts, FoundTurn, Lane, ModelChunk, ModelRequest,
    RepositoryError, Rows, ScannedTurns, Transacted, TurnQuery, TurnRepository, TurnScan,
    WriteError, WriteStore,
};
use single_node::LocalBus;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use writes::{Reply, WriteTimeouts, Writes};

use super::fixture::Model;
use crate::{
    cache::{CachedWrites, Caches},
    engines::{Journal, OpenCallStatus, run_engine_chain},
    live_turns::{LiveTurns, TurnOwnership, TurnSubject},
};

/// A store with the journal of one turn.
#[derive(Default)]
pub(super) struct JournalStore {
    pub(super) entries: Mutex<Vec<TurnStep>>,
    /// The numbers of entries and of ends of each write.
    pub(super) writes: Mutex<Vec<(usize, usize)>>,
    /// True if the turn belongs to another process.
    pub(super) is_lost: AtomicBool,
    pub(super) is_unavailable: AtomicBool,
}

impl JournalStore {
    fn apply(&self, rows: &Rows) {
        let mut entries = self.entries.lock();
        let counts = (rows.steps.len(), rows.changed_steps.len());
        if counts != (0, 0) {
            self.writes.lock().push(counts);
        }
        for row in &rows.steps {
            assert_eq!(row.number, entries.len());
            entries.push(row.step.clone());
        }
        for row in &rows.changed_steps {
            let begun = mem::replace(&mut entries[row.number], row.step.clone());
            // The beginning of an approved call is recorded, too.
            let has_waited = begun.call().is_some_and(|call| call.wait.is_some());
            assert!(!begun.has_ended() && (has_waited || row.step.has_ended()));
        }
    }

    fn check(&self) -> Result<(), WriteError> {
        if self.is_unavailable.load(Ordering::SeqCst) {
            return Err(RepositoryError::Unavailable("down".into()).into());
        }
        Ok(())
    }
}

#[async_trait]
impl WriteStore for JournalStore {
    async fn transact(
        &self,
        decision: Arc<dyn Decision>,
        _: Lane,
    ) -> Result<Transacted, WriteError> {
        self.check()?;
        let mut facts = Facts::default();
        let mut round = 0;
        loop {
            match decision.decide(round, &facts) {
                Decided::Read(query) if !self.is_lost.load(Ordering::SeqCst) => {
                    facts.running_turns.extend(query.running_turns);
                }
                Decided::Read(_) => {}
                Decided::Write(rows) => {
                    self.apply(&rows);
                    return Ok(Transacted { facts, rows });
                }
            }
            round += 1;
        }
    }

    async fn write_if(&self, write: Arc<ConditionalRows>) -> Result<bool, WriteError> {
        self.check()?;
        assert!(!write.conditions.running_turns.is_empty());
        let is_running = !self.is_lost.load(Ordering::SeqCst);
        if is_running {
            self.apply(&write.rows);
        }
        Ok(is_running)
    }

    fn spawn(&self, writer: BoxFuture<'static, ()>) {
        Handle::current().spawn(writer);
    }
}

/// A turn that runs here.
pub(super) struct RunningTurn {
    pub(super) store: Arc<JournalStore>,
    writes: CachedWrites,
    pub(super) is_draining: AtomicBool,
    pub(super) ownership: TurnOwnership,
    _turns: Arc<LiveTurns>,
}

/// The end of such a turn, and what its model was asked.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) reply: Result<Reply, Problem>,
    pub(super) calls: Vec<ToolCall>,
    pub(super) requests: Vec<ModelRequest>,
}

impl Ended {
    /// The id, the status and the attempt-independent rest of each call.
    pub(super) fn statuses(&self) -> Vec<(&str, &str)> {
        let calls = self.calls.iter();
        calls.map(|it| (&*it.name, &*it.status)).collect()
    }
}

/// No other turn waits for staff.
struct NoTurns;

#[async_trait]
impl TurnRepository for NoTurns {
    async fn find(
        &self,
        _: &TenantId,
        _: TurnId,
    ) -> Result<AsOf<Option<FoundTurn>>, RepositoryError> {
        Err(RepositoryError::Unavailable("unused".into()))
    }

    async fn find_current(
        &self,
        _: &TenantId,
        _: ConversationId,
    ) -> Result<Option<FoundTurn>, RepositoryError> {
        Err(RepositoryError::Unavailable("unused".into()))
    }

    async fn list(
        &self,
        _: &TenantId,
        _: ConversationId,
        _: &TurnQuery,
    ) -> Result<AsOf<Option<Page<Listed<Turn>>>>, RepositoryError> {
        Err(RepositoryError::Unavailable("unused".into()))
    }

    async fn scan(
        &self,
        _: &TenantId,
        _: &TurnScan,
    ) -> Result<AsOf<ScannedTurns>, RepositoryError> {
        Ok(AsOf {
            value: ScannedTurns {
                items: Vec::new(),
                next: None,
            },
            position: Seq(0),
        })
    }
}

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        fixture::at(0)
    }

    fn running_for(&self) -> Duration {
        Duration::ZERO
    }
}

impl RunningTurn {
    /// A turn of `request` with these entries, which another process has written.
    pub(super) fn resumed(request: &ModelRequest, entries: &[TurnStep]) -> Self {
        let store = Arc::new(JournalStore::default());
        store.entries.lock().extend(entries.iter().cloned());
        let turns = Arc::new(LiveTurns::default());
        let live = turns.get_or_register(TurnSubject {
            tenant: request.tenant.clone(),
            turn_id: request.turn_id,
            conversation_id: fixture::conversation_id(1),
            agent_id: request.agent.id,
            user: None.into(),
            started_by: fixture::principal(),
            credential: None,
            request_id: None,
            is_ephemeral: false,
        });
        if !entries.is_empty() {
            live.resume(entries);
        }
        let writes = Arc::clone(&store) as Arc<dyn WriteStore>;
        let writes = Writes::start(writes, WriteTimeouts::default(), &TaskTracker::new());
        let caches = Caches::new(Arc::new(LocalBus::new()));
        Self {
            writes: CachedWrites::new(writes, caches),
            store,
            is_draining: AtomicBool::new(false),
            ownership: TurnOwnership::new(live, fixture::node_id(1)),
            _turns: turns,
        }
    }

    /// A turn without a journal.
    pub(super) fn new(request: &ModelRequest) -> Self {
        Self::resumed(request, &[])
    }

    /// Replies with a model of these responses; `None` if the turn was stopped.
    pub(super) async fn reply(
        &self,
        request: ModelRequest,
        responses: Vec<Vec<ModelChunk>>,
    ) -> Option<Ended> {
        self.reply_slowly(Duration::ZERO, request, responses).await
    }

    /// Replies with a model that takes this time for each of these responses.
    pub(super) async fn reply_slowly(
        &self,
        time: Duration,
        request: ModelRequest,
        responses: Vec<Vec<ModelChunk>>,
    ) -> Option<Ended> {
        let (model, chain) = Model::in_chain(time, &request, responses);
        let entries = self.store.entries.lock().clone();
        let (draining, owned) = (&self.is_draining, &self.ownership);
        let journal = Journal::new(&self.writes, &Noon, &NoTurns, owned, draining, entries);
        let live = &self.ownership.live;
        let id = MessageId::new(uuid::Uuid::nil());
        let replying = run_engine_chain(id, &chain, &request, None, &**live, Some(&journal));
        let reply = live.stopped().run_until_cancelled_owned(replying).await;
        let requests = model.requests.lock().clone();
        let calls = live.progress().reply.tool_calls(OpenCallStatus::Cut);
        reply.map(|reply| Ended {
            reply,
            calls,
            requests,
        })
    }
}
