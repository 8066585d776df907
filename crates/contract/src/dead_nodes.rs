//! Processes that die while their turns run, and sweeps after them.

use std::time::Duration;

use domain::{Agent, Conversation, NodeId, Problem, ProblemCode, TurnId, TurnStatus};
use ports::{BeginTurn, Storage, Sweep, Swept};

use crate::{answers::Answer as _, found, given, samples};

/// The process that lives on and sweeps.
pub(crate) fn sweeper() -> NodeId {
    samples::node_id(9)
}

/// Longer than anything waits in a test.
pub(crate) const LONG: Duration = Duration::from_hours(1);

/// A numbered process that runs turns; from now on it can be marked as dead.
pub(crate) async fn dying_node(storage: &Storage, number: u32) {
    let id = samples::node_id(number);
    storage.nodes.insert(id, Duration::ZERO).await.answered();
}

/// Agent 1, process 1, which is about to die, and the one that sweeps.
pub(crate) async fn two_nodes(storage: &Storage) -> Agent {
    dying_node(storage, 1).await;
    storage.nodes.insert(sweeper(), LONG).await.answered();
    given::agent(storage, 1).await
}

/// That the processes which can be marked as dead are. Answers how many that were.
pub(crate) async fn marked(storage: &Storage) -> u64 {
    storage.recovery.mark_dead_nodes(sweeper()).await.answered()
}

/// A conversation in which a turn runs on process 1, and others wait behind it.
pub(crate) struct Talk {
    pub(crate) conversation: Conversation,
    pub(crate) running: BeginTurn,
    pub(crate) waiting: Vec<BeginTurn>,
}

impl Talk {
    /// A numbered conversation with its turns: the one that runs has a hundred times its number,
    /// and those that wait follow. Their keys are called after theirs.
    pub(crate) async fn begun(storage: &Storage, agent: &Agent, number: u32, waiting: u32) -> Self {
        let conversation = given::conversation(storage, number, agent).await;
        let first = 100 * number;
        let running = with_key(samples::question(
            first,
            agent,
            samples::existing(&conversation, 0),
        ));
        given::started(storage, &running).await;
        let mut waits = Vec::new();
        for number in first + 1..=first + waiting {
            let target = samples::existing(&conversation, 1);
            let question = with_key(samples::question(number, agent, target));
            given::queued(storage, &question).await;
            waits.push(question);
        }
        Self {
            conversation,
            running,
            waiting: waits,
        }
    }
}

fn with_key(question: BeginTurn) -> BeginTurn {
    let key = samples::claim(&format!("key-of-{}", question.turn_id));
    BeginTurn {
        claim: Some(key),
        ..question
    }
}

/// A pass over the samples' tenant in which nothing has waited for too long.
pub(crate) fn sweep() -> Sweep {
    Sweep {
        tenant: samples::tenant(),
        node: Some(sweeper()),
        longest_wait: LONG,
        now: samples::at(700_000),
        limit: 100,
    }
}

/// What this pass does.
pub(crate) async fn swept(storage: &Storage, sweep: &Sweep) -> Swept {
    storage.recovery.sweep(sweep).await.answered()
}

/// The turns that a pass has started.
pub(crate) fn promoted(swept: &Swept) -> Vec<TurnId> {
    swept
        .promoted
        .iter()
        .map(|promoted| promoted.turn.id)
        .collect()
}

/// The turns of these questions.
pub(crate) fn ids<'t>(turns: impl IntoIterator<Item = &'t BeginTurn>) -> Vec<TurnId> {
    turns.into_iter().map(|question| question.turn_id).collect()
}

/// Fails unless the turn has failed with this problem by the pass, and has given its key back.
pub(crate) async fn assert_failed(storage: &Storage, question: &BeginTurn, code: ProblemCode) {
    let turn = found::turn(storage, question.turn_id).await;
    let turn = turn.expect("the turn is kept");
    assert_eq!(turn.status, TurnStatus::Failed);
    assert_eq!(turn.error, Some(Problem::new(code)));
    assert_eq!(turn.finished_at, Some(sweep().now));
    let record = found::claim(storage, question.claim.as_ref().expect("it has one")).await;
    let record = record.expect("the key is remembered");
    let named = (record.turn_id, record.released_into);
    assert_eq!(named, (None, Some(turn.conversation_id)));
}
