//! Journals of turns, and turns that their nodes give up.

use std::{
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use domain::{
    Action, ActionNeeded, Approver, CallDecision, ConversationId, ModelResponse, NodeId, Reasoning,
    Repetition, Resumption, ShowReasoning, TenantId, ToolEnd, ToolStep, ToolVisibility, TurnId,
    TurnStatus, TurnStep, Wait,
};
use futures::future::join_all;
use ports::{Decided, Decision, Facts, FactsQuery, Lane, Rows, write_store::TurnAssignment};
use serde_json::json;
use tokio_util::task::TaskTracker;
use writes::{BeginTurn, CancelOutcome, FinishOutcome, RecordSteps, ReleaseTurn, TurnEnding};

use crate::{
    Store,
    dead_nodes::sweeper,
    fixture, lookup,
    purging::{deleted_before, purge_all},
    results::ResultExt as _,
    setup,
    sweep_candidates::started_of,
};

/// A text that is difficult to store, with the one character that no text column takes.
const TEXT: &str = "🦊 '; drop table turns; -- \" \\ $1 ? \u{0}\u{1}\u{7f}\u{2028}\u{10ffff}";

/// Starts numbered turn in a conversation of its own.
async fn started(storage: &Store, number: u32) -> BeginTurn {
    let agent = fixture::agent(1);
    let conversation = setup::conversation(storage, number, &agent).await;
    let begin = fixture::begin_turn(number, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
    begin
}

/// Stores process 1 and agent 1, and starts turn 1.
async fn running(storage: &Store) -> BeginTurn {
    setup::node(storage, 1).await;
    setup::agent(storage, 1).await;
    started(storage, 1).await
}

async fn record(storage: &Store, record: RecordSteps) -> bool {
    storage.writes.write(record).await.success().is_recorded()
}

fn begun(call: &str) -> TurnStep {
    TurnStep::Tool(fixture::tool_step(call))
}

fn ended(call: &str, status: &str) -> TurnStep {
    TurnStep::Tool(ToolStep {
        end: Some(ToolEnd::new(status, "noon".to_owned(), Duration::ZERO)),
        ..fixture::tool_step(call)
    })
}

fn ends(begin: &BeginTurn, ended: Vec<(usize, TurnStep)>) -> RecordSteps {
    RecordSteps {
        changed: ended,
        ..fixture::record_steps(begin, Vec::new())
    }
}

fn release(begin: &BeginTurn) -> ReleaseTurn {
    ReleaseTurn {
        tenant: begin.tenant.clone(),
        turn_id: begin.turn_id,
        conversation_id: begin.target.id(),
        node: begin.node,
        was_lost: false,
    }
}

/// Steps of all kinds, with all their values.
fn all_steps() -> Vec<TurnStep> {
    let text = || TEXT.to_owned();
    let response = ModelResponse {
        reasoning: Some(Reasoning {
            text: text(),
            shown_to: ShowReasoning::Everyone,
        }),
        engine: text(),
        model: Some(text()),
        text: text(),
        state: Some(json!({ TEXT: [TEXT, 0.1, u64::MAX, i64::MIN, null, {}] })),
        ..ModelResponse::default()
    };
    let full = ToolStep {
        call_id: text(),
        name: text(),
        function: text(),
        arguments: json!({ TEXT: TEXT }).to_string(),
        at: usize::try_from(u32::MAX).unwrap_or(0),
        visibility: Some(ToolVisibility::Full),
        repetition: Repetition::HarmlessWithId,
        wait: Some(Box::new(Wait {
            needs: ActionNeeded::Approval,
            approver: Some(Approver::User),
            expires_at: fixture::at(5),
            decision: Some(CallDecision {
                action: Action::Deny {
                    reason: Some(text()),
                },
                by: fixture::principal(),
                at: fixture::at(4),
                continuation: Some(fixture::turn_id(9)),
            }),
            has_begun: true,
            resumptions_before: 1,
        })),
        timeout_ms: Some(600_000),
        end: Some(ToolEnd {
            status: text(),
            result: text(),
            is_cut: true,
            duration_ms: i64::MAX,
        }),
    };
    let harmless = ToolStep {
        repetition: Repetition::Harmless,
        end: None,
        ..full.clone()
    };
    let resumption = Resumption {
        ended_steps: 3,
        losses: u32::MAX,
    };
    vec![
        TurnStep::Model(response),
        TurnStep::Tool(full),
        TurnStep::Tool(harmless),
        begun("call"),
        TurnStep::Resumed(resumption),
        TurnStep::Model(ModelResponse::default()),
    ]
}

/// Whatever they contain, and in the order of their numbers, also beyond 9.
pub async fn steps_are_stored_as_given_and_read_in_order(storage: &Store) {
    let begin = running(storage).await;
    assert_eq!(lookup::journal(storage, begin.turn_id).await, []);
    let steps: Vec<_> = all_steps().into_iter().cycle().take(24).collect();
    for numbers in [0..1, 1..7, 7..24] {
        let first = numbers.start;
        let part = (first..).zip(steps[numbers].iter().cloned());
        // Their order in the write makes no difference.
        let part = part.collect::<Vec<_>>().into_iter().rev().collect();
        assert!(record(storage, fixture::record_steps(&begin, part)).await);
    }
    assert_eq!(lookup::journal(storage, begin.turn_id).await, steps);
}

/// The same or other steps with numbers that are stored already change nothing.
pub async fn steps_that_are_written_twice_are_stored_once(storage: &Store) {
    let begin = running(storage).await;
    let steps = || (0..).zip(all_steps()).collect();
    for _ in 0..2 {
        assert!(record(storage, fixture::record_steps(&begin, steps())).await);
    }
    let with_new = vec![(0, begun("other")), (6, begun("new"))];
    assert!(record(storage, fixture::record_steps(&begin, with_new)).await);
    let mut expected = all_steps();
    expected.push(begun("new"));
    assert_eq!(lookup::journal(storage, begin.turn_id).await, expected);
}

/// Neither another end nor a late begin of the same step changes it. Only named steps end.
pub async fn the_end_of_a_step_is_final(storage: &Store) {
    let begin = running(storage).await;
    let calls = ["one", "two", "three"];
    let steps: Vec<_> = (0..).zip(calls.map(begun)).collect();
    assert!(record(storage, fixture::record_steps(&begin, steps.clone())).await);
    let first = vec![(0, ended("one", "ok")), (2, ended("three", "failed"))];
    assert!(record(storage, ends(&begin, first)).await);
    let expected = [ended("one", "ok"), begun("two"), ended("three", "failed")];
    assert_eq!(lookup::journal(storage, begin.turn_id).await, expected);
    let again = vec![(0, ended("one", "timed_out")), (2, ended("three", "ok"))];
    assert!(record(storage, ends(&begin, again)).await);
    assert!(record(storage, fixture::record_steps(&begin, steps)).await);
    assert_eq!(lookup::journal(storage, begin.turn_id).await, expected);
}

/// On another node or on none, or which does not exist, waits in the queue or has ended.
pub async fn steps_of_a_turn_that_runs_elsewhere_are_not_written(storage: &Store) {
    let begin = running(storage).await;
    let step = |begin: &BeginTurn| fixture::record_steps(begin, vec![(0, begun("call"))]);
    let target = fixture::existing(&fixture::conversation(1, fixture::agent_id(1)), 1);
    let waiting = fixture::begin_turn(100, &fixture::agent(1), target);
    setup::queue_turn(storage, &waiting).await;
    let elsewhere = BeginTurn {
        node: sweeper(),
        ..begin.clone()
    };
    let foreign = BeginTurn {
        tenant: setup::second_tenant(storage).await,
        ..begin.clone()
    };
    let unknown = BeginTurn {
        turn_id: fixture::turn_id(404),
        ..begin.clone()
    };
    for other in [&elsewhere, &waiting, &foreign, &unknown] {
        assert!(!record(storage, step(other)).await);
        assert!(!record(storage, ends(other, vec![(0, ended("call", "ok"))])).await);
    }
    let released = started(storage, 2).await;
    assert!(storage.writes.write(release(&released)).await.success());
    let cancelled = started(storage, 3).await;
    setup::cancel_turn(storage, &cancelled, None).await;
    setup::complete_turn(storage, &begin, 1).await;
    for turn in [&begin, &released, &cancelled] {
        assert!(!record(storage, step(turn)).await);
        assert_eq!(lookup::journal(storage, turn.turn_id).await, []);
    }
}

/// At the same time, also those of turns that run elsewhere: each has its own outcome.
pub async fn steps_of_several_tenants_are_written_together(storage: &Store) {
    let mut turns = vec![running(storage).await];
    for number in 2..=4 {
        turns.push(started(storage, number).await);
    }
    let other = setup::second_tenant(storage).await;
    turns.push(started_of(storage, &other).await);
    let elsewhere = BeginTurn {
        node: sweeper(),
        ..started(storage, 5).await
    };
    for round in 0..8 {
        let with_elsewhere = round % 2 == 1;
        let all = turns.iter().chain(with_elsewhere.then_some(&elsewhere));
        let steps = all.map(|begin| {
            let step = begun(&format!("{}-{round}", begin.turn_id));
            record(storage, fixture::record_steps(begin, vec![(round, step)]))
        });
        let mut written = join_all(steps).await;
        if with_elsewhere {
            assert_eq!(written.pop(), Some(false));
        }
        assert!(written.iter().all(|is_written| *is_written));
    }
    for begin in turns {
        let journal = lookup::journal_in(storage, &begin.tenant, begin.turn_id).await;
        let step = |round| begun(&format!("{}-{round}", begin.turn_id));
        assert_eq!(journal, (0..8).map(step).collect::<Vec<_>>());
    }
    assert_eq!(lookup::journal(storage, elsewhere.turn_id).await, []);
}

/// Another process that gives a turn to a node, and holds the lock of the tenant until it is told to
/// commit.
struct SlowAssignment {
    tenant: TenantId,
    turn: TurnId,
    node: Option<NodeId>,
    is_locked: mpsc::Sender<()>,
    commits: Mutex<mpsc::Receiver<()>>,
}

impl Decision for SlowAssignment {
    fn decide(&self, round: usize, _: &Facts) -> Decided {
        if round == 0 {
            return Decided::Read(FactsQuery {
                tenants: [self.tenant.clone()].into(),
                ..FactsQuery::default()
            });
        }
        // Both channels are closed only if the test has failed.
        let _ = self.is_locked.send(());
        if let Ok(commits) = self.commits.lock() {
            let _ = commits.recv_timeout(Duration::from_secs(10));
        }
        Decided::Write(Rows {
            assignments: vec![TurnAssignment {
                tenant: self.tenant.clone(),
                id: self.turn,
                node: self.node,
            }],
            ..Rows::default()
        })
    }
}

/// A step that is written while another transaction takes the turn away waits for it, and is then
/// rejected.
pub async fn steps_that_waited_for_the_lock_are_not_written_for_a_lost_turn(storage: &Store) {
    let tasks = TaskTracker::new();
    let mut turns = vec![running(storage).await];
    turns.push(started(storage, 2).await);
    for (begin, node) in turns.iter().zip([Some(sweeper()), None]) {
        let ((is_locked, locked), (commit, commits)) = (mpsc::channel(), mpsc::channel());
        let assignment = Arc::new(SlowAssignment {
            tenant: begin.tenant.clone(),
            turn: begin.turn_id,
            node,
            is_locked,
            commits: Mutex::new(commits),
        });
        let holder = Arc::clone(&storage.ports().writes);
        let holder = tasks.spawn(async move { holder.transact(assignment, Lane::Alone).await });
        let wait = move || locked.recv_timeout(Duration::from_secs(10));
        let locked = tokio::task::spawn_blocking(wait).await;
        locked.expect("no panic").expect("the tenant is locked");
        let (writes, begin) = (storage.writes.clone(), begin.clone());
        let step = fixture::record_steps(&begin, vec![(0, begun("call"))]);
        let step = tasks.spawn(async move { writes.write(step).await });
        // This test needs real time: nothing shows that a statement waits.
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(!step.is_finished());
        commit.send(()).expect("the transaction waits");
        holder.await.expect("no panic").expect("a commit");
        assert!(!step.await.expect("no panic").success().is_recorded());
        assert_eq!(lookup::journal(storage, begin.turn_id).await, []);
    }
}

/// Nothing is left of them.
pub async fn journals_are_purged_with_their_turns(storage: &Store) {
    let begin = running(storage).await;
    let kept = started(storage, 2).await;
    for turn in [&begin, &kept] {
        let steps = (0..).zip(all_steps()).collect();
        assert!(record(storage, fixture::record_steps(turn, steps)).await);
    }
    let doomed = fixture::conversation(1, fixture::agent_id(1));
    setup::delete_conversation(storage, &doomed).await;
    assert!(purge_all(storage, 2, deleted_before(fixture::at(10_000))).await > 0);
    assert_eq!(lookup::journal(storage, begin.turn_id).await, []);
    assert_eq!(lookup::journal(storage, kept.turn_id).await, all_steps());
}

/// Once, and it can no longer end it.
pub async fn a_turn_is_released_by_its_node_alone(storage: &Store) {
    let begin = running(storage).await;
    let elsewhere = BeginTurn {
        node: sweeper(),
        ..begin.clone()
    };
    for (turn, expected) in [(&elsewhere, false), (&begin, true), (&begin, false)] {
        let is_released = storage.writes.write(release(turn)).await.success();
        assert_eq!(is_released, expected);
    }
    let finish = fixture::finish(&begin, TurnEnding::Completed(fixture::reply(1)));
    let outcome = storage.turns.finish_turn(finish).await.success();
    assert_eq!(outcome, FinishOutcome::NotOwned);
    let ended = started(storage, 2).await;
    setup::complete_turn(storage, &ended, 2).await;
    assert!(!storage.writes.write(release(&ended)).await.success());
}

async fn status(storage: &Store, id: TurnId) -> Option<TurnStatus> {
    lookup::turn(storage, id).await.map(|turn| turn.status)
}

/// Other turns of its conversation wait for it, and it can be cancelled, with its calls.
pub async fn a_released_turn_is_still_in_progress(storage: &Store) {
    let begin = running(storage).await;
    let steps = vec![(0, begun("call"))];
    assert!(record(storage, fixture::record_steps(&begin, steps)).await);
    assert!(storage.writes.write(release(&begin)).await.success());
    assert_eq!(
        status(storage, begin.turn_id).await,
        Some(TurnStatus::InProgress)
    );
    let id: ConversationId = begin.target.id();
    let context = lookup::state(storage, id).await;
    assert_eq!(context.running_turn, Some(begin.turn_id));
    let target = fixture::existing(&fixture::conversation(1, fixture::agent_id(1)), 1);
    let waiting = fixture::begin_turn(100, &fixture::agent(1), target);
    setup::queue_turn(storage, &waiting).await;
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(900));
    let node = Some(fixture::node_id(1));
    let cancel = storage
        .turns
        .cancel_turn(&tenant, begin.turn_id, None, node, &stamp);
    let outcome = cancel.await.success();
    let promoted = match outcome {
        CancelOutcome::Cancelled { promoted, .. } => promoted.map(|turn| turn.turn.id),
        other => panic!("{other:?}"),
    };
    assert_eq!(promoted, Some(waiting.turn_id));
    let turn = lookup::turn(storage, begin.turn_id).await;
    let calls = turn.expect("the turn is kept").tool_calls;
    assert_eq!((calls.len(), &*calls[0].id), (1, "call"));
}
