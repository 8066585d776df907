//! Tests of commits with known facts.

use domain::{Agent, TurnStatus};
use ports::{BeginOutcome, BeginTurn, FinishOutcome, TurnEnding};

use super::{model::ModelStore, *};
use crate::InTenant;

/// A writer on a model with agent 1 and node 1.
struct Writing {
    group: GroupCommit,
    model: ModelStore,
    agent: Agent,
    last_number: u32,
}

impl Writing {
    fn start() -> Self {
        let model = ModelStore::default();
        let agent = fixture::agent(1);
        let key = (fixture::tenant(), agent.id);
        model.0.lock().agents.insert(key, agent.version);
        let timeouts = WriteTimeouts::default();
        Self {
            group: GroupCommit::start(
                model.clone(),
                timeouts,
                &TaskTracker::new(),
                &Handle::current(),
            ),
            model,
            agent,
            last_number: 100,
        }
    }

    /// A turn in a conversation, which it creates if it does not exist.
    fn begin(&mut self, conversation: u32) -> BeginTurn {
        let conversation = fixture::conversation(conversation, self.agent.id);
        let key = (fixture::tenant(), conversation.id);
        let target = match self.model.0.lock().conversations.get(&key) {
            Some(stored) => fixture::existing(&conversation, stored.turn_count),
            None => ConversationTarget::New(conversation),
        };
        self.last_number += 1;
        fixture::begin_turn(self.last_number, &self.agent, target)
    }

    async fn started(&mut self, conversation: u32) -> BeginTurn {
        let begin = self.begin(conversation);
        let outcome = self.group.submit(WriteOp::Begin(Box::new(begin.clone())));
        let outcome = outcome.await.unwrap();
        assert!(matches!(
            outcome,
            WriteOutcome::Begin(BeginOutcome::Started { .. })
        ));
        begin
    }

    async fn finished(&self, begin: &BeginTurn) {
        let ending = TurnEnding::Completed(fixture::reply(self.last_number));
        let finish = fixture::finish(begin, ending);
        let outcome = self.group.submit(WriteOp::Finish(Box::new(finish))).await;
        assert!(matches!(
            outcome,
            Ok(WriteOutcome::Finish(FinishOutcome::Finished { .. }))
        ));
    }

    /// The batches with read facts, with known facts, and with outdated ones.
    fn counts(&self) -> (usize, usize, usize) {
        let tables = self.model.0.lock();
        (tables.read, tables.known, tables.outdated)
    }

    /// A change by another process.
    fn raise_head(&self) {
        let mut tables = self.model.0.lock();
        let head = tables.heads.entry(fixture::tenant()).or_default();
        *head = head.plus(1);
    }

    /// The running turn of a conversation.
    fn running(&self, conversation: u32) -> Option<BeginTurn> {
        let tables = self.model.0.lock();
        let id = fixture::conversation_id(conversation);
        let mut rows = tables.turns.values();
        let row = rows.find(|row| {
            row.turn.conversation_id == id && row.turn.status == TurnStatus::InProgress
        })?;
        let target = ConversationTarget::Existing { id, turn_count: 0 };
        Some(BeginTurn {
            turn_id: row.turn.id,
            ..fixture::begin_turn(0, &self.agent, target)
        })
    }
}

#[tokio::test]
async fn facts_are_read_for_the_first_write_alone() {
    let mut writing = Writing::start();
    for conversation in 1..=3 {
        let begin = writing.started(conversation).await;
        writing.finished(&begin).await;
    }
    let begin = writing.started(1).await;
    writing.finished(&begin).await;
    assert_eq!(writing.counts(), (1, 7, 0));
}

#[tokio::test]
async fn facts_are_read_again_after_another_process_has_written() {
    let mut writing = Writing::start();
    let begin = writing.started(1).await;
    writing.raise_head();
    writing.finished(&begin).await;
    assert_eq!(writing.counts(), (2, 0, 1));
    writing.started(2).await;
    assert_eq!(writing.counts(), (2, 1, 1));
}

#[tokio::test]
async fn known_facts_are_rarely_tried_while_another_process_writes() {
    let mut writing = Writing::start();
    for conversation in 1..=100 {
        writing.started(conversation).await;
        writing.raise_head();
    }
    let (read, known, outdated) = writing.counts();
    assert_eq!((read, known), (100, 0));
    assert!(outdated <= 7, "{outdated}");
}

#[tokio::test(start_paused = true)]
async fn an_unconfirmed_commit_is_retried_with_read_facts() {
    let mut writing = Writing::start();
    let begin = writing.started(1).await;
    let heads = writing.model.0.lock().heads.clone();
    let source = unavailable("cut");
    let failure = BatchError::Unknown { heads, source };
    writing.model.0.lock().failures.push(failure);
    writing.finished(&begin).await;
    assert_eq!(writing.counts(), (2, 0, 0));
}

#[tokio::test]
async fn rejected_data_is_reported_by_the_write_with_read_facts() {
    let mut writing = Writing::start();
    let begin = writing.started(1).await;
    writing.model.0.lock().failures.push(corrupt().into());
    writing.finished(&begin).await;
    assert_eq!(writing.counts(), (2, 0, 0));
}

/// The model compares known facts with its own at every commit.
#[tokio::test]
async fn known_facts_are_those_of_the_store_after_any_sequence_of_writes() {
    for seed in 0..40_u64 {
        let mut writing = Writing::start();
        let mut state = seed * 7_919 + 1;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let conversation = u32::try_from(random(4)).unwrap() + 1;
            let op = match (random(8), writing.running(conversation)) {
                (0, _) => {
                    writing.raise_head();
                    continue;
                }
                (1, _) => {
                    writing.raise_head();
                    writing.agent.version += 1;
                    let key: InTenant<_> = (fixture::tenant(), writing.agent.id);
                    let version = writing.agent.version;
                    writing.model.0.lock().agents.insert(key, version);
                    continue;
                }
                (2..=4, Some(running)) => {
                    writing.last_number += 1;
                    let ending = match random(3) {
                        0 => TurnEnding::Failed {
                            problem: fixture::retryable_problem(),
                            tool_calls: Vec::new(),
                        },
                        _ => TurnEnding::Completed(fixture::reply(writing.last_number)),
                    };
                    WriteOp::Finish(Box::new(fixture::finish(&running, ending)))
                }
                (5, _) => {
                    let begin = writing.begin(conversation);
                    let number = writing.last_number;
                    WriteOp::CompletedTurn(Box::new(ports::CompletedTurn {
                        begin,
                        reply: fixture::reply(number),
                        finished_at: fixture::at(i64::from(number)),
                    }))
                }
                _ => WriteOp::Begin(Box::new(writing.begin(conversation))),
            };
            writing.group.submit(op).await.unwrap();
        }
        let (read, known, _) = writing.counts();
        assert!(known > 0 && read > 0, "{read} {known}");
    }
}
