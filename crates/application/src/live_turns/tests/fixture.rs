//! A store with one turn, under the control of a test.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use domain::{
    AgentId, AsOf, ConversationId, Listed, MessageId, Page, PrincipalId, Seq, TenantId, Timestamp,
    Turn, TurnId, TurnStarted, TurnStatus, config::Metadata,
};
use ports::{FoundTurn, RepositoryError, ScannedTurns, TurnQuery, TurnRepository, TurnScan};
use uuid::Uuid;

use super::super::{TurnUser, registry::TurnSubject};

/// A store with one turn, which can be made slow or unavailable.
pub(crate) struct StoredTurn {
    status: Mutex<Option<TurnStatus>>,
    read_time: Mutex<Duration>,
    reads: AtomicUsize,
}

impl StoredTurn {
    /// Creates a store with a turn of this status; `None` is an unavailable store.
    pub(crate) fn new(status: Option<TurnStatus>) -> Arc<Self> {
        Arc::new(Self {
            status: Mutex::new(status),
            read_time: Mutex::default(),
            reads: AtomicUsize::new(0),
        })
    }

    pub(crate) fn set(&self, status: Option<TurnStatus>) {
        *self.status.lock().unwrap() = status;
    }

    /// Sets the duration of further reads.
    pub(crate) fn set_read_time(&self, time: Duration) {
        *self.read_time.lock().unwrap() = time;
    }

    /// Returns the number of reads since the last call.
    pub(crate) fn reads(&self) -> usize {
        self.reads.swap(0, Ordering::SeqCst)
    }
}

pub(crate) fn subject() -> TurnSubject {
    TurnSubject {
        tenant: "default".parse().unwrap(),
        turn_id: TurnId::new(Uuid::from_u128(1)),
        conversation_id: ConversationId::new(Uuid::from_u128(2)),
        agent_id: AgentId::new(Uuid::from_u128(3)),
        user: TurnUser::default(),
        started_by: principal(),
        credential: None,
        request_id: None,
        is_ephemeral: false,
    }
}

pub(super) fn started() -> TurnStarted {
    let subject = subject();
    TurnStarted {
        turn_id: subject.turn_id,
        conversation_id: Some(subject.conversation_id),
        message_id: MessageId::new(Uuid::from_u128(4)),
        reply_id: Some(MessageId::new(Uuid::from_u128(5))),
        agent_id: subject.agent_id,
        agent_version: 1,
        continues: None,
    }
}

fn principal() -> PrincipalId {
    PrincipalId::new("key:000000000000")
}

fn found(status: TurnStatus) -> FoundTurn {
    let (subject, started) = (subject(), started());
    let time = Timestamp::from_milliseconds(1_000);
    let has_started = status != TurnStatus::Queued;
    FoundTurn {
        turn: Turn {
            reasoning: None,
            continues: None,
            instruction: None,
            id: subject.turn_id,
            conversation_id: subject.conversation_id,
            agent_id: subject.agent_id,
            agent_version: has_started.then_some(started.agent_version),
            status,
            input: "Hello".to_owned(),
            files: Vec::new(),
            client_message_id: None,
            retry_of: None,
            reply: None,
            engine: None,
            model: None,
            degraded: false,
            finish_reason: None,
            usage: None,
            tool_calls: Vec::new(),
            output: None,
            repaired: false,
            metadata: Metadata::default(),
            error: None,
            created_at: time,
            started_at: has_started.then_some(time),
            finished_at: status.is_final().then_some(time),
        },
        message_id: started.message_id,
        reply_id: started.reply_id,
        principal: principal(),
        user_id: None,
        response_schema: None,
    }
}

#[async_trait]
impl TurnRepository for StoredTurn {
    async fn find(
        &self,
        _: &TenantId,
        _: TurnId,
    ) -> Result<AsOf<Option<FoundTurn>>, RepositoryError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        let time = *self.read_time.lock().unwrap();
        tokio::time::sleep(time).await;
        let status = *self.status.lock().unwrap();
        let status = status.ok_or(RepositoryError::Unavailable("unavailable".into()))?;
        Ok(AsOf {
            value: Some(found(status)),
            position: Seq(1),
        })
    }

    async fn find_current(
        &self,
        _: &TenantId,
        _: ConversationId,
    ) -> Result<Option<FoundTurn>, RepositoryError> {
        unreachable!("a waiter reads its own turn")
    }

    async fn list(
        &self,
        _: &TenantId,
        _: ConversationId,
        _: &TurnQuery,
    ) -> Result<AsOf<Option<Page<Listed<Turn>>>>, RepositoryError> {
        unreachable!("a waiter reads its own turn")
    }

    async fn scan(
        &self,
        _: &TenantId,
        _: &TurnScan,
    ) -> Result<AsOf<ScannedTurns>, RepositoryError> {
        unreachable!("a waiter reads its own turn")
    }
}
