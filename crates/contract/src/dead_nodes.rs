//! Fixtures for processes that die while their turns run, and for sweeps after them.

use std::time::Duration;

use domain::{
    Agent, ClientTool, Conversation, NodeId, Problem, ProblemCode, ResponseSchema, Resumption,
    TurnId, TurnStatus, TurnStep,
};
use serde_json::Map;
use writes::{BeginTurn, ReleaseTurn, Sweep, SweepOutcome};

use crate::{Store, fixture, lookup, results::ResultExt as _, setup};

/// The process that stays alive and sweeps.
pub(crate) fn sweeper() -> NodeId {
    fixture::node_id(9)
}

/// A duration longer than any wait in a test.
pub(crate) const LONG: Duration = Duration::from_hours(1);

/// Registers a numbered process that runs turns and can be marked as dead at once.
pub(crate) async fn dying_node(storage: &Store, number: u32) {
    let id = fixture::node_id(number);
    storage
        .nodes
        .insert(id, &fixture::process(), Duration::ZERO)
        .await
        .success();
}

/// Stores agent 1, process 1, which can be marked as dead, and the sweeper.
pub(crate) async fn two_nodes(storage: &Store) -> Agent {
    dying_node(storage, 1).await;
    storage
        .nodes
        .insert(sweeper(), &fixture::process(), LONG)
        .await
        .success();
    setup::agent(storage, 1).await
}

/// Marks all processes that can be marked as dead. Returns their number.
pub(crate) async fn mark_dead_nodes(storage: &Store) -> u64 {
    storage.sweep.mark_dead_nodes(sweeper()).await.success()
}

/// A conversation with a turn that runs on process 1, and queued turns behind it.
pub(crate) struct TurnQueue {
    pub(crate) conversation: Conversation,
    pub(crate) running: BeginTurn,
    pub(crate) waiting: Vec<BeginTurn>,
}

impl TurnQueue {
    /// As [`Self::begin`], but the next loss of the running turn is its last.
    pub(crate) async fn begin_lost(
        storage: &Store,
        agent: &Agent,
        number: u32,
        waiting: u32,
    ) -> Self {
        let queue = Self::begin(storage, agent, number, waiting).await;
        lose_once(storage, &queue.running).await;
        queue
    }

    /// Stores a numbered conversation with its turns. The running turn has a hundred times its
    /// number, and the queued turns follow. Their idempotency keys contain the number of their
    /// turn.
    pub(crate) async fn begin(storage: &Store, agent: &Agent, number: u32, waiting: u32) -> Self {
        let conversation = setup::conversation(storage, number, agent).await;
        let first = 100 * number;
        let running = with_key(fixture::begin_turn(
            first,
            agent,
            fixture::existing(&conversation, 0),
        ));
        setup::start_turn(storage, &running).await;
        let mut waits = Vec::new();
        for number in first + 1..=first + waiting {
            let target = fixture::existing(&conversation, 1);
            let begin = with_key(fixture::begin_turn(number, agent, target));
            setup::queue_turn(storage, &begin).await;
            waits.push(begin);
        }
        Self {
            conversation,
            running,
            waiting: waits,
        }
    }
}

/// Gives up a running turn, as a process does that ends.
pub(crate) async fn release(storage: &Store, begin: &BeginTurn) {
    give_up(storage, begin, false).await;
}

/// Gives up a turn that does not run in its process any more.
pub(crate) async fn report_lost(storage: &Store, begin: &BeginTurn) {
    give_up(storage, begin, true).await;
}

async fn give_up(storage: &Store, begin: &BeginTurn, was_lost: bool) {
    let release = ReleaseTurn {
        tenant: begin.tenant.clone(),
        turn_id: begin.turn_id,
        conversation_id: begin.target.id(),
        node: begin.node,
        was_lost,
    };
    assert!(storage.writes.write(release).await.success());
}

/// Records that another process of a running turn has died before: the next such loss is its last.
pub(crate) async fn lose_once(storage: &Store, begin: &BeginTurn) {
    let resumption = TurnStep::Resumed(Resumption::after(&[], true));
    let record = fixture::record_steps(begin, vec![(0, resumption)]);
    assert!(storage.writes.write(record).await.success().is_recorded());
}

fn with_key(begin: BeginTurn) -> BeginTurn {
    let key = fixture::entry(&format!("key-of-{}", begin.turn_id));
    BeginTurn {
        idempotency: Some(key),
        client_tools: vec![ClientTool {
            name: "open_cart".to_owned(),
            ..ClientTool::default()
        }],
        response_schema: Some(ResponseSchema::new(Map::new())),
        ..begin
    }
}

/// A sweep of the fixture's tenant in which no turn has waited for too long.
pub(crate) fn sweep() -> Sweep {
    Sweep {
        tenant: fixture::tenant(),
        node: Some(sweeper()),
        max_wait: LONG,
        now: fixture::at(700_000),
        limit: 100,
    }
}

/// Runs a sweep.
pub(crate) async fn run_sweep(storage: &Store, sweep: &Sweep) -> SweepOutcome {
    storage.sweep.sweep(sweep).await.success()
}

/// Returns the turns that a sweep has promoted.
pub(crate) fn promoted_ids(swept: &SweepOutcome) -> Vec<TurnId> {
    swept
        .promoted
        .iter()
        .map(|promoted| promoted.turn.id)
        .collect()
}

/// Returns the ids of turns.
pub(crate) fn ids<'t>(turns: impl IntoIterator<Item = &'t BeginTurn>) -> Vec<TurnId> {
    turns.into_iter().map(|begin| begin.turn_id).collect()
}

/// Asserts that a turn runs on the node of the sweep, and that its key is kept.
pub(crate) async fn assert_resumed(storage: &Store, begin: &BeginTurn) {
    let turn = lookup::turn(storage, begin.turn_id).await;
    let turn = turn.expect("the turn is kept");
    assert_eq!((turn.status, turn.error), (TurnStatus::InProgress, None));
    let running = storage.sweep.in_progress_under(sweeper()).await.success();
    assert!(running.iter().any(|it| it.turn_id == begin.turn_id));
    let entry = begin.idempotency.as_ref().expect("the turn has a key");
    let record = lookup::record(storage, entry).await;
    let record = record.expect("the key is stored");
    let named = (record.turn_id, record.released_into);
    assert_eq!(named, (Some(begin.turn_id), None));
}

/// Asserts that the sweep failed the turn with this problem and released its key.
pub(crate) async fn assert_failed(storage: &Store, begin: &BeginTurn, code: ProblemCode) {
    let turn = lookup::turn(storage, begin.turn_id).await;
    let turn = turn.expect("the turn is kept");
    assert_eq!(turn.status, TurnStatus::Failed);
    assert_eq!(turn.error, Some(Problem::new(code)));
    assert_eq!(turn.finished_at, Some(sweep().now));
    let record = lookup::record(
        storage,
        begin
            .idempotency
            .as_ref()
            .expect("the turn has an idempotency entry"),
    )
    .await;
    let record = record.expect("the key is stored");
    let named = (record.turn_id, record.released_into);
    assert_eq!(named, (None, Some(turn.conversation_id)));
}
