//! A turn in a store that tests hold in their hands.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use domain::{
    AgentId, AsOf, ConversationId, MessageId, NodeId, PrincipalId, Seq, Stamp, TenantId, Timestamp,
    Turn, TurnId, TurnStarted, TurnStatus, config::Metadata,
};
use ports::{
    BeginOutcome, BeginTurn, CancelOutcome, Exchange, ExchangeOutcome, FinishOutcome, FinishTurn,
    FoundTurn, Reply, RepositoryError, TurnRepository,
};
use uuid::Uuid;

use super::live_turn::TurnSubject;

/// A turn in a store, or that store's absence.
pub(super) struct StoredTurn {
    status: Mutex<Option<TurnStatus>>,
    asked: AtomicUsize,
}

impl StoredTurn {
    /// A turn of this status; without one the store is away.
    pub(super) fn new(status: Option<TurnStatus>) -> Arc<Self> {
        Arc::new(Self {
            status: Mutex::new(status),
            asked: AtomicUsize::new(0),
        })
    }

    pub(super) fn set(&self, status: Option<TurnStatus>) {
        *self.status.lock().unwrap() = status;
    }

    /// How often it was asked for since this was called last.
    pub(super) fn asked(&self) -> usize {
        self.asked.swap(0, Ordering::SeqCst)
    }
}

pub(super) fn subject() -> TurnSubject {
    TurnSubject {
        tenant: "default".parse().unwrap(),
        turn_id: TurnId::new(Uuid::from_u128(1)),
        conversation_id: ConversationId::new(Uuid::from_u128(2)),
        agent_id: AgentId::new(Uuid::from_u128(3)),
        user_id: None,
        asker: asker(),
        request_id: None,
    }
}

pub(super) fn started() -> TurnStarted {
    let subject = subject();
    TurnStarted {
        turn_id: subject.turn_id,
        conversation_id: subject.conversation_id,
        message_id: MessageId::new(Uuid::from_u128(4)),
        agent_id: subject.agent_id,
        agent_version: 1,
    }
}

fn asker() -> PrincipalId {
    PrincipalId::new("key:000000000000")
}

fn found(status: TurnStatus) -> FoundTurn {
    let (subject, started) = (subject(), started());
    let time = Timestamp::from_milliseconds(1_000);
    let has_started = status != TurnStatus::Queued;
    FoundTurn {
        turn: Turn {
            id: subject.turn_id,
            conversation_id: subject.conversation_id,
            agent_id: subject.agent_id,
            agent_version: has_started.then_some(started.agent_version),
            status,
            input: "Hello".to_owned(),
            reply: None,
            engine: None,
            degraded: false,
            finish_reason: None,
            usage: None,
            tool_calls: Vec::new(),
            metadata: Metadata::default(),
            error: None,
            created_at: time,
            started_at: has_started.then_some(time),
            finished_at: status.is_final().then_some(time),
        },
        message_id: started.message_id,
        principal: asker(),
        user_id: None,
    }
}

#[async_trait]
impl TurnRepository for StoredTurn {
    async fn record_exchange(&self, _: Exchange) -> Result<ExchangeOutcome, RepositoryError> {
        unreachable!("who follows a turn writes nothing")
    }

    async fn begin_turn(&self, _: BeginTurn) -> Result<BeginOutcome, RepositoryError> {
        unreachable!("who follows a turn writes nothing")
    }

    async fn finish_turn(&self, _: FinishTurn) -> Result<FinishOutcome, RepositoryError> {
        unreachable!("who follows a turn writes nothing")
    }

    async fn cancel_turn(
        &self,
        _: &TenantId,
        _: TurnId,
        _: Option<Reply>,
        _: Option<NodeId>,
        _: &Stamp,
    ) -> Result<CancelOutcome, RepositoryError> {
        unreachable!("who follows a turn writes nothing")
    }

    async fn find(
        &self,
        _: &TenantId,
        _: TurnId,
    ) -> Result<AsOf<Option<FoundTurn>>, RepositoryError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let status = *self.status.lock().unwrap();
        let status = status.ok_or(RepositoryError::Unavailable("away".into()))?;
        Ok(AsOf {
            value: Some(found(status)),
            position: Seq(1),
        })
    }
}
