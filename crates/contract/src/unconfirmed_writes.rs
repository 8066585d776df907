//! Writes whose commit the store has not confirmed: each takes effect once, and has its outcome.

use std::{
    fmt::Debug,
    slice,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use domain::{TenantId, ToolStep, TurnStep};
use futures::future::BoxFuture;
use ports::{
    ConditionalRows, Decision, Facts, FactsQuery, FirstMessages, Idempotent, Lane, RepositoryError,
    Transacted, WriteError, WriteStore, write_store::Heads,
};
use tokio_util::task::TaskTracker;
use writes::{
    CancelOutcome, CancelTurn, ClaimKey, ClaimOutcome, Command, ConversationTarget, CreateAgent,
    CreateConversation, DeleteConversation, DeleteOutcome, FinishOutcome, RecordSteps,
    RecordStepsOutcome, RecordTurnOutcome, TurnEnding, UpdateAgent, UpdateConversation,
    WriteTimeouts, Writes,
};

use crate::{Store, fixture, log, lookup, results::ResultExt as _, setup};

/// A store that does not confirm its first commit.
struct Unconfirming {
    store: Arc<dyn WriteStore>,
    /// The heads before that commit.
    heads: Heads,
    /// True if that commit reaches the store.
    is_stored: bool,
    has_failed: AtomicBool,
}

impl Unconfirming {
    /// Returns the error of the first commit.
    fn first(&self) -> Option<WriteError> {
        let is_first = !self.has_failed.swap(true, Ordering::SeqCst);
        is_first.then(|| WriteError::Unknown {
            heads: self.heads.clone(),
            source: RepositoryError::Unavailable("not confirmed".into()),
        })
    }
}

#[async_trait]
impl WriteStore for Unconfirming {
    async fn transact(
        &self,
        decision: Arc<dyn Decision>,
        lane: Lane,
    ) -> Result<Transacted, WriteError> {
        let Some(error) = self.first() else {
            return self.store.transact(decision, lane).await;
        };
        if self.is_stored {
            self.store.transact(decision, lane).await?;
        }
        Err(error)
    }

    async fn write_if(&self, write: Arc<ConditionalRows>) -> Result<bool, WriteError> {
        let Some(error) = self.first() else {
            return self.store.write_if(write).await;
        };
        if self.is_stored {
            self.store.write_if(write).await?;
        }
        Err(error)
    }

    async fn read_ahead(&self, query: &FactsQuery) -> Result<Option<Facts>, WriteError> {
        self.store.read_ahead(query).await
    }

    fn spawn(&self, writer: BoxFuture<'static, ()>) {
        self.store.spawn(writer);
    }
}

/// Commits a command whose first commit is not confirmed, and is stored if `is_stored`. Returns the
/// outcome, and the number of events that were written.
async fn write<C: Command>(storage: &Store, command: C, is_stored: bool) -> (C::Outcome, i64) {
    let tenant = fixture::tenant();
    let before = log::head(storage, &tenant).await;
    let store = Unconfirming {
        store: Arc::clone(&storage.ports().writes),
        heads: heads(&tenant, before),
        is_stored,
        has_failed: AtomicBool::new(false),
    };
    let timeouts = WriteTimeouts::default();
    let writes = Writes::start(Arc::new(store), timeouts, &TaskTracker::new());
    let outcome = writes.write(command).await.success();
    let written = log::head(storage, &tenant).await.0 - before.0;
    (outcome, written)
}

fn heads(tenant: &TenantId, head: domain::Seq) -> Heads {
    [(tenant.clone(), head)].into()
}

/// Asserts that a command writes `events` whether its unconfirmed commit was stored or not, and
/// returns its outcome. `command` returns another command with each number.
async fn assert_written_once<C>(
    storage: &Store,
    events: i64,
    command: impl AsyncFn(u32) -> C,
) -> Vec<C::Outcome>
where
    C: Command,
    C::Outcome: Debug,
{
    let mut outcomes = Vec::new();
    for (number, is_stored) in [(1, true), (2, false)] {
        let (outcome, written) = write(storage, command(number).await, is_stored).await;
        assert_eq!(written, events, "stored: {is_stored}, {outcome:?}");
        outcomes.push(outcome);
    }
    outcomes
}

/// A completed turn.
pub async fn an_unconfirmed_turn_is_recorded_once(storage: &Store) {
    let (agent, _) = setup::chat(storage).await;
    let outcomes = assert_written_once(storage, 3, async |number| {
        let conversation = fixture::conversation(number + 10, agent.id);
        fixture::completed_turn(number, &agent, ConversationTarget::New(conversation))
    });
    for outcome in outcomes.await {
        assert!(matches!(outcome, RecordTurnOutcome::Recorded { .. }));
    }
}

/// The end of a turn behind which another one waits: the one that it starts is returned, so that it
/// is run.
pub async fn an_unconfirmed_end_returns_the_turn_that_it_has_started(storage: &Store) {
    let (agent, _) = setup::chat(storage).await;
    let outcomes = assert_written_once(storage, 2, async |number| {
        let running = with_waiting_turn(storage, &agent, number).await;
        fixture::finish(&running, TurnEnding::Completed(fixture::reply(number * 10)))
    });
    for outcome in outcomes.await {
        let is_promoted = matches!(
            outcome,
            FinishOutcome::Finished {
                promoted: Some(_),
                ..
            }
        );
        assert!(is_promoted, "{outcome:?}");
    }
}

/// The cancellation of such a turn.
pub async fn an_unconfirmed_cancellation_returns_the_turn_that_it_has_started(storage: &Store) {
    let (agent, _) = setup::chat(storage).await;
    let outcomes = assert_written_once(storage, 2, async |number| {
        let running = with_waiting_turn(storage, &agent, number).await;
        CancelTurn {
            reasoning: None,
            tenant: running.tenant,
            turn_id: running.turn_id,
            conversation_id: running.target.id(),
            partial: None,
            node: Some(fixture::node_id(1)),
            stamp: fixture::stamp(900),
        }
    });
    for outcome in outcomes.await {
        let is_promoted = matches!(
            outcome,
            CancelOutcome::Cancelled {
                promoted: Some(_),
                ..
            }
        );
        assert!(is_promoted, "{outcome:?}");
    }
}

/// Starts a turn in a new conversation, and queues another one behind it.
async fn with_waiting_turn(
    storage: &Store,
    agent: &domain::Agent,
    number: u32,
) -> writes::BeginTurn {
    let conversation = setup::conversation(storage, number + 10, agent).await;
    let target = fixture::existing(&conversation, 0);
    let running = fixture::begin_turn(number * 10, agent, target.clone());
    setup::start_turn(storage, &running).await;
    let waiting = fixture::begin_turn(number * 10 + 1, agent, target);
    setup::queue_turn(storage, &waiting).await;
    running
}

/// Entries of journals, and the end of one.
pub async fn unconfirmed_steps_are_written_once(storage: &Store) {
    let (agent, _) = setup::chat(storage).await;
    let call = fixture::tool_step("call");
    let ended = TurnStep::Tool(ToolStep {
        end: Some(fixture::tool_end()),
        ..call.clone()
    });
    let written = assert_written_once(storage, 0, async |number| {
        let running = with_waiting_turn(storage, &agent, number).await;
        fixture::record_steps(&running, vec![(0, TurnStep::Tool(call.clone()))])
    });
    assert_eq!(written.await, [RecordStepsOutcome::Recorded(None); 2]);
    let written = assert_written_once(storage, 0, async |number| {
        let target = fixture::existing(&fixture::conversation(number + 10, agent.id), 0);
        let running = fixture::begin_turn(number * 10, &agent, target);
        RecordSteps {
            changed: vec![(0, ended.clone())],
            ..fixture::record_steps(&running, Vec::new())
        }
    });
    assert_eq!(written.await, [RecordStepsOutcome::Recorded(None); 2]);
    for turn in [10, 20].map(fixture::turn_id) {
        assert_eq!(
            lookup::journal(storage, turn).await,
            slice::from_ref(&ended)
        );
    }
}

/// The claim of a key.
pub async fn an_unconfirmed_claim_is_written_once(storage: &Store) {
    setup::node(storage, 1).await;
    let claimed = assert_written_once(storage, 0, async |number| ClaimKey {
        tenant: fixture::tenant(),
        idempotency: fixture::entry(&format!("key-{number}")),
        turn_id: fixture::turn_id(number),
        node: fixture::node_id(1),
    });
    let claimed = claimed.await;
    assert_eq!(claimed, [ClaimOutcome::Claimed, ClaimOutcome::Claimed]);
}

/// Changes of agents and conversations.
pub async fn unconfirmed_changes_are_written_once(storage: &Store) {
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(700));
    let created = assert_written_once(storage, 1, async |number| CreateAgent {
        tenant: tenant.clone(),
        agent: fixture::agent(number),
        stamp: stamp.clone(),
        idempotency: None,
    });
    let created = created.await;
    assert!(
        created
            .iter()
            .all(|it| matches!(it, Idempotent::Applied(_)))
    );
    let updated = assert_written_once(storage, 1, async |number| UpdateAgent {
        tenant: tenant.clone(),
        agent: fixture::renamed(&fixture::agent(number), "Grace"),
        stamp: stamp.clone(),
    });
    assert!(updated.await.iter().all(Option::is_some));
    let conversation = |number| fixture::conversation(number, fixture::agent_id(1));
    let created = assert_written_once(storage, 1, async |number| CreateConversation {
        tenant: tenant.clone(),
        conversation: conversation(number),
        first_messages: FirstMessages::None,
        stamp: stamp.clone(),
        idempotency: None,
    });
    let created = created.await;
    assert!(
        created
            .iter()
            .all(|it| matches!(it, Idempotent::Applied(Some(_))))
    );
    let updated = assert_written_once(storage, 1, async |number| {
        let mut next = conversation(number);
        next.version += 1;
        UpdateConversation {
            tenant: tenant.clone(),
            conversation: next,
            stamp: stamp.clone(),
        }
    });
    assert!(updated.await.iter().all(Option::is_some));
    let deleted = assert_written_once(storage, 1, async |number| DeleteConversation {
        tenant: tenant.clone(),
        id: fixture::conversation_id(number),
        expected: Some(2),
        only_of: None,
        is_erasure: false,
        idle_since_before: None,
        stamp: stamp.clone(),
    });
    let deleted = deleted.await;
    assert!(
        deleted
            .iter()
            .all(|it| matches!(it, DeleteOutcome::Deleted(_)))
    );
}
