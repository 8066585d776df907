//! Resources that all processes of a test share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use contract::{Store, fixture};
use domain::{
    Agent, Conversation, LlmSettings, Resumption, ShowReasoning, Timestamp, TurnId, TurnStep,
};
use ports::{Clock, FirstMessages, FoundTurn, IdSource, WriteStore};
use scripted_engine::Script;
use sqlite_store::{SqliteOptions, SqliteStore};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;
use uuid::Uuid;
use writes::{BeginOutcome, BeginTurn, ConversationTarget};

use crate::tools::{ACT, LOOK, TestTools};

/// A clock that advances by one millisecond at each reading, and panics once if a test wants.
pub(crate) struct TickingClock(AtomicI64, pub(crate) AtomicBool);

impl Clock for TickingClock {
    fn now(&self) -> Timestamp {
        assert!(!self.1.swap(false, Ordering::SeqCst), "as the test wants");
        Timestamp::from_milliseconds(self.0.fetch_add(1, Ordering::SeqCst))
    }

    fn running_for(&self) -> Duration {
        Duration::ZERO
    }
}

/// A source of increasing ids, all greater than those of the fixtures.
#[derive(Default)]
pub(crate) struct SequentialIds(AtomicU64);

impl IdSource for SequentialIds {
    fn next_id(&self) -> Uuid {
        let number = self.0.fetch_add(1, Ordering::SeqCst);
        Uuid::from_u128(0x019b_a0c2_0000_7000_8000_0000_0000_0000 + u128::from(number))
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

/// A store with an agent whose replies take some time, and a conversation with it.
pub(crate) struct Fixture {
    pub(crate) storage: Store,
    /// The store to which processes write.
    pub(crate) writes: Arc<dyn WriteStore>,
    /// The store to which they write cancellations.
    pub(crate) cancellations: Arc<dyn WriteStore>,
    pub(crate) clock: Arc<TickingClock>,
    pub(crate) ids: Arc<SequentialIds>,
    /// The tools of all processes.
    pub(crate) tools: Arc<TestTools>,
    pub(crate) agent: Agent,
    pub(crate) conversation: Conversation,
    _folder: TempDir,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder for the store");
        let url = format!("sqlite://{}", folder.path().join("test.db").display());
        let store = SqliteStore::open(&url, SqliteOptions::default(), &TaskTracker::new()).await;
        let store = store.expect("a store");
        store.migrate().await.expect("a schema");
        let storage = store.storage();
        let writes = Arc::clone(&storage.writes);
        let storage = Store::new(storage);
        let (tenant, stamp) = (fixture::tenant(), fixture::stamp(0));
        let mut agent = fixture::agent_able_to(1, &[ACT, LOOK]);
        agent.config.llm = Some(LlmSettings {
            show_reasoning: Some(ShowReasoning::Everyone),
            ..LlmSettings::default()
        });
        let made = storage.agents.insert(&tenant, &agent, &stamp, None).await;
        made.expect("the agent is made");
        let conversation = fixture::conversation(1, agent.id);
        let conversations = &storage.conversations;
        let made = conversations.insert(&tenant, &conversation, &FirstMessages::None, &stamp, None);
        made.await.expect("the conversation is made");
        Self {
            storage,
            cancellations: Arc::clone(&writes),
            writes,
            clock: Arc::new(TickingClock(
                AtomicI64::new(1_795_167_000_000),
                AtomicBool::new(false),
            )),
            ids: Arc::default(),
            tools: Arc::default(),
            agent,
            conversation,
            _folder: folder,
        }
    }

    /// The command of another process that begins a turn with this script.
    pub(crate) fn begin_turn(&self, number: u32, script: &Script) -> BeginTurn {
        let target = ConversationTarget::Existing {
            id: self.conversation.id,
            turn_count: 0,
        };
        BeginTurn {
            input: script.to_message(),
            ..fixture::begin_turn(number, &self.agent, target)
        }
    }

    /// Begins or queues a turn without notifying the process whose id it carries.
    pub(crate) async fn begin(&self, begin: BeginTurn) -> BeginOutcome {
        let outcome = self.storage.turns.begin_turn(begin).await;
        outcome.expect("the store answers")
    }

    /// Records that another process of a running turn has died before: the next such loss is its last.
    pub(crate) async fn lose_once(&self, begin: &BeginTurn) {
        let loss = TurnStep::Resumed(Resumption::after(&[], true));
        let record = fixture::record_steps(begin, vec![(0, loss)]);
        let is_recorded = self.storage.writes.write(record).await;
        assert!(is_recorded.expect("the store answers").is_recorded());
    }

    /// The journal of a turn.
    pub(crate) async fn journal(&self, turn: TurnId) -> Vec<TurnStep> {
        contract::journal(&self.storage, turn).await
    }

    pub(crate) async fn turn(&self, id: TurnId) -> FoundTurn {
        let found = self.storage.turns.find(&fixture::tenant(), id).await;
        found.expect("the store answers").value.expect("the turn")
    }
}
