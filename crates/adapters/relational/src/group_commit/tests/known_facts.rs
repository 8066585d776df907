//! Tests of commits with known facts.

use domain::{Agent, TurnStatus};
use ports::{BeginOutcome, BeginTurn, FinishOutcome, TurnEnding};

use super::{model::ModelStore, *};
use crate::{
    CreateAgent, CreateConversation, CreateCredential, DeleteConversation, InTenant,
    RevokeCredential, UpdateAgent, UpdateConversation,
};

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

    /// The creation of an agent.
    fn create_agent(&mut self) -> WriteOp {
        self.last_number += 1;
        WriteOp::CreateAgent(Box::new(CreateAgent {
            tenant: fixture::tenant(),
            agent: fixture::agent(self.last_number),
            stamp: fixture::stamp(1),
            idempotency: None,
        }))
    }

    /// The update of the agent to its next version.
    fn update_agent(&mut self) -> WriteOp {
        self.agent.version += 1;
        WriteOp::UpdateAgent(Box::new(UpdateAgent {
            tenant: fixture::tenant(),
            agent: self.agent.clone(),
            stamp: fixture::stamp(1),
        }))
    }

    /// The creation of a conversation.
    fn create_conversation(&mut self) -> WriteOp {
        self.last_number += 1;
        WriteOp::CreateConversation(Box::new(CreateConversation {
            tenant: fixture::tenant(),
            conversation: fixture::conversation(self.last_number, self.agent.id),
            first_messages: ports::FirstMessages::None,
            stamp: fixture::stamp(1),
            idempotency: None,
        }))
    }

    /// The update of a conversation to its next version, if it exists.
    fn update_conversation(&self, number: u32) -> Option<WriteOp> {
        let conversation = fixture::conversation(number, self.agent.id);
        let key = (fixture::tenant(), conversation.id);
        let version = self.model.0.lock().conversations.get(&key)?.version;
        Some(WriteOp::UpdateConversation(Box::new(UpdateConversation {
            tenant: fixture::tenant(),
            conversation: domain::Conversation {
                version: version + 1,
                ..conversation
            },
            stamp: fixture::stamp(1),
        })))
    }

    /// One of six changes.
    fn change(&mut self, change: u64, conversation: u32, key: u64) -> WriteOp {
        match change {
            0 => self.create_agent(),
            1 => self.update_agent(),
            2 => match self.update_conversation(conversation) {
                Some(update) => update,
                None => self.create_conversation(),
            },
            3 => delete_conversation(conversation),
            4 => self.create_key(),
            _ => revoke_key(101 + u32::try_from(key).unwrap()),
        }
    }

    /// The creation of a key.
    fn create_key(&mut self) -> WriteOp {
        self.last_number += 1;
        WriteOp::CreateCredential(Box::new(CreateCredential {
            credential: fixture::key(self.last_number),
            idempotency: None,
        }))
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
async fn heads_and_agents_that_are_read_ahead_are_known_facts() {
    let mut writing = Writing::start();
    writing.model.0.lock().reads_ahead = true;
    let op = writing.update_agent();
    assert!(writing.group.submit(op).await.unwrap().is_applied());
    assert_eq!(writing.counts(), (0, 1, 0));
    writing.started(1).await;
    assert_eq!(writing.counts(), (0, 2, 0));
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

fn delete_conversation(number: u32) -> WriteOp {
    WriteOp::DeleteConversation(Box::new(DeleteConversation {
        tenant: fixture::tenant(),
        id: fixture::conversation_id(number),
        expected: None,
        stamp: fixture::stamp(1),
    }))
}

fn revoke_key(number: u32) -> WriteOp {
    let key = fixture::key(number);
    WriteOp::RevokeCredential(Box::new(RevokeCredential {
        tenant: key.tenant,
        kind: key.kind,
        id: key.id,
        at: fixture::at(1),
    }))
}

/// Each change, twice: after another process has written, and directly afterwards.
#[tokio::test]
async fn changes_use_known_facts_unless_another_process_has_written() {
    type Change = fn(&mut Writing, u32) -> WriteOp;
    let changes: [Change; 7] = [
        |writing, _| writing.create_agent(),
        |writing, _| writing.update_agent(),
        |writing, _| writing.create_conversation(),
        |writing, _| writing.update_conversation(2).unwrap(),
        |_, round| delete_conversation(round),
        |writing, _| writing.create_key(),
        |_, round| revoke_key(round),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut writing = Writing::start();
        for conversation in 1..=2 {
            let begin = writing.started(conversation).await;
            writing.finished(&begin).await;
        }
        for key in 1..=2 {
            let op = WriteOp::CreateCredential(Box::new(CreateCredential {
                credential: fixture::key(key),
                idempotency: None,
            }));
            writing.group.submit(op).await.unwrap();
        }
        assert_eq!(writing.counts(), (1, 5, 0), "{number}");
        writing.raise_head();
        let op = change(&mut writing, 1);
        assert!(writing.group.submit(op).await.unwrap().is_applied());
        assert_eq!(writing.counts(), (2, 5, 1), "{number}");
        // The facts of conversation 2 were outdated, too.
        writing.started(2).await;
        writing.finished(&writing.running(2).unwrap()).await;
        let (read, known, _) = writing.counts();
        let op = change(&mut writing, 2);
        assert!(writing.group.submit(op).await.unwrap().is_applied());
        assert_eq!(writing.counts(), (read, known + 1, 1), "{number}");
    }
}

#[tokio::test]
async fn a_revoked_key_is_read_before_it_is_revoked_again() {
    let mut writing = Writing::start();
    let begin = writing.started(1).await;
    writing.finished(&begin).await;
    let create = WriteOp::CreateCredential(Box::new(CreateCredential {
        credential: fixture::key(1),
        idempotency: None,
    }));
    writing.group.submit(create).await.unwrap();
    for _ in 0..2 {
        let outcome = writing.group.submit(revoke_key(1)).await.unwrap();
        assert_eq!(outcome, WriteOutcome::RevokeCredential(true));
    }
    let outcome = writing.group.submit(revoke_key(404)).await.unwrap();
    assert_eq!(outcome, WriteOutcome::RevokeCredential(false));
    let (read, known, _) = writing.counts();
    assert_eq!((read, known), (3, 3));
}

/// The model compares known facts with its own at every commit.
#[tokio::test]
async fn known_facts_are_those_of_the_store_after_any_sequence_of_writes() {
    for seed in 0..40_u64 {
        let mut writing = Writing::start();
        writing.model.0.lock().reads_ahead = seed % 2 == 0;
        let mut state = seed * 7_919 + 1;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let conversation = u32::try_from(random(4)).unwrap() + 1;
            let op = match (random(14), writing.running(conversation)) {
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
                (8..=13, _) => writing.change(random(6), conversation, random(40)),
                _ => WriteOp::Begin(Box::new(writing.begin(conversation))),
            };
            writing.group.submit(op).await.unwrap();
        }
        let (read, known, _) = writing.counts();
        assert!(known > 0 && read > 0, "{read} {known}");
    }
}
