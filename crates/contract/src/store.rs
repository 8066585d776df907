//! A store with the writes of the core, which a test calls like functions.

use std::{ops::Deref, sync::Arc};

use domain::{
    Agent, AgentId, AgentReach, Conversation, ConversationId, Credential, CredentialId,
    CredentialKind, IdempotencyEntry, NodeId, Problem, Stamp, TenantId, Timestamp, TurnId,
};
use ports::{
    AgentRepository, ConversationRepository, CredentialRepository, EventPage, EventQuery,
    FirstMessages, Idempotent, RepositoryError, Storage, SweepRepository, TurnRepository,
};
use serde_json::Value;
use tokio_util::task::TaskTracker;
use writes::{
    BeginOutcome, BeginTurn, CancelOutcome, CancelTurn, Committed, CompletedTurn, CreateAgent,
    CreateConversation, CreateCredential, DeleteAgent, DeleteConversation, DeleteOutcome,
    FailQueuedTurn, FinishOutcome, FinishTurn, RecordTurnOutcome, Reply, RevokeCredential,
    ShownEvents, Sweep, SweepOutcome, UpdateAgent, UpdateConversation, UpdateCredential,
    WriteTimeouts, Writes,
};

type Result<T> = std::result::Result<T, RepositoryError>;

/// A port with the writes of the core.
pub struct Written<P: ?Sized> {
    port: Arc<P>,
    writes: Writes,
}

impl<P: ?Sized> Clone for Written<P> {
    fn clone(&self) -> Self {
        written(&self.port, &self.writes)
    }
}

impl<P: ?Sized> Deref for Written<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.port
    }
}

/// A store with the writes of the core.
#[derive(Clone)]
pub struct Store {
    storage: Storage,
    /// The writes.
    pub writes: Writes,
    /// Agents.
    pub agents: Written<dyn AgentRepository>,
    /// Conversations and messages.
    pub conversations: Written<dyn ConversationRepository>,
    /// Turns.
    pub turns: Written<dyn TurnRepository>,
    /// Turns without a live node, and turns that waited too long.
    pub sweep: Sweeps,
    /// API keys and OAuth clients.
    pub credentials: Written<dyn CredentialRepository>,
}

impl Store {
    /// Starts the writer of a store.
    pub fn new(storage: Storage) -> Self {
        let store = Arc::clone(&storage.writes);
        let writes = Writes::start(store, WriteTimeouts::default(), &TaskTracker::new());
        let turns = written(&storage.turns, &writes);
        Self {
            agents: written(&storage.agents, &writes),
            conversations: written(&storage.conversations, &writes),
            sweep: Sweeps {
                port: Arc::clone(&storage.sweep),
                turns: turns.clone(),
            },
            turns,
            credentials: written(&storage.credentials, &writes),
            writes,
            storage,
        }
    }

    /// Reads a page of events as clients see them.
    pub async fn event_page(&self, tenant: &TenantId, query: &EventQuery) -> Result<EventPage> {
        self.events.page(tenant, query, &ShownEvents).await
    }

    /// The ports of the store.
    pub const fn ports(&self) -> &Storage {
        &self.storage
    }
}

fn written<P: ?Sized>(port: &Arc<P>, writes: &Writes) -> Written<P> {
    Written {
        port: Arc::clone(port),
        writes: writes.clone(),
    }
}

impl Deref for Store {
    type Target = Storage;

    fn deref(&self) -> &Storage {
        &self.storage
    }
}

impl Written<dyn AgentRepository> {
    /// [`CreateAgent`].
    pub async fn insert(
        &self,
        tenant: &TenantId,
        agent: &Agent,
        stamp: &Stamp,
        idempotency: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<Committed>> {
        let create = CreateAgent {
            tenant: tenant.clone(),
            agent: agent.clone(),
            stamp: stamp.clone(),
            idempotency: idempotency.cloned(),
        };
        self.writes.write(create).await
    }

    /// [`UpdateAgent`].
    pub async fn update(
        &self,
        tenant: &TenantId,
        agent: &Agent,
        stamp: &Stamp,
    ) -> Result<Option<Committed>> {
        let update = UpdateAgent {
            tenant: tenant.clone(),
            agent: agent.clone(),
            stamp: stamp.clone(),
        };
        self.writes.write(update).await
    }

    /// [`DeleteAgent`].
    pub async fn delete(
        &self,
        tenant: &TenantId,
        id: AgentId,
        expected: Option<i64>,
        stamp: &Stamp,
    ) -> Result<DeleteOutcome> {
        let delete = DeleteAgent {
            tenant: tenant.clone(),
            id,
            expected,
            stamp: stamp.clone(),
        };
        self.writes.write(delete).await
    }
}

impl Written<dyn ConversationRepository> {
    /// [`CreateConversation`].
    pub async fn insert(
        &self,
        tenant: &TenantId,
        conversation: &Conversation,
        first_messages: &FirstMessages,
        stamp: &Stamp,
        idempotency: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<Option<Committed>>> {
        let create = CreateConversation {
            tenant: tenant.clone(),
            conversation: conversation.clone(),
            first_messages: first_messages.clone(),
            stamp: stamp.clone(),
            idempotency: idempotency.cloned(),
        };
        self.writes.write(create).await
    }

    /// [`UpdateConversation`].
    pub async fn update(
        &self,
        tenant: &TenantId,
        conversation: &Conversation,
        stamp: &Stamp,
    ) -> Result<Option<(Committed, Conversation)>> {
        let update = UpdateConversation {
            tenant: tenant.clone(),
            conversation: conversation.clone(),
            stamp: stamp.clone(),
        };
        self.writes.write(update).await
    }

    /// [`DeleteConversation`].
    pub async fn delete(
        &self,
        tenant: &TenantId,
        id: ConversationId,
        expected: Option<i64>,
        stamp: &Stamp,
    ) -> Result<DeleteOutcome> {
        let delete = DeleteConversation {
            tenant: tenant.clone(),
            id,
            expected,
            only_of: None,
            is_erasure: false,
            idle_since_before: None,
            stamp: stamp.clone(),
        };
        self.writes.write(delete).await
    }
}

impl Written<dyn TurnRepository> {
    /// [`CompletedTurn`].
    pub async fn record_completed_turn(&self, turn: CompletedTurn) -> Result<RecordTurnOutcome> {
        self.writes.write(turn).await
    }

    /// [`BeginTurn`].
    pub async fn begin_turn(&self, begin: BeginTurn) -> Result<BeginOutcome> {
        self.writes.write(begin).await
    }

    /// [`FinishTurn`].
    pub async fn finish_turn(&self, finish: FinishTurn) -> Result<FinishOutcome> {
        self.writes.write(finish).await
    }

    /// [`CancelTurn`], in the conversation of the turn as it is found.
    pub async fn cancel_turn(
        &self,
        tenant: &TenantId,
        id: TurnId,
        partial: Option<Reply>,
        node: Option<NodeId>,
        stamp: &Stamp,
    ) -> Result<CancelOutcome> {
        let Some(found) = self.find(tenant, id).await?.value else {
            return Ok(CancelOutcome::NotFound);
        };
        let cancel = CancelTurn {
            reasoning: None,
            tenant: tenant.clone(),
            turn_id: id,
            conversation_id: found.turn.conversation_id,
            partial,
            node,
            stamp: stamp.clone(),
        };
        self.writes.write(cancel).await
    }
}

/// Turns without a live node, with the writes of the core.
#[derive(Clone)]
pub struct Sweeps {
    port: Arc<dyn SweepRepository>,
    turns: Written<dyn TurnRepository>,
}

impl Deref for Sweeps {
    type Target = dyn SweepRepository;

    fn deref(&self) -> &Self::Target {
        &*self.port
    }
}

impl Sweeps {
    /// [`Sweep`].
    pub async fn sweep(&self, sweep: &Sweep) -> Result<SweepOutcome> {
        self.turns.writes.write(sweep.clone()).await
    }

    /// [`FailQueuedTurn`], in the conversation of the turn as it is found.
    pub async fn fail_queued(
        &self,
        tenant: &TenantId,
        id: TurnId,
        problem: &Problem,
        time: Timestamp,
    ) -> Result<Option<Committed>> {
        let Some(found) = self.turns.find(tenant, id).await?.value else {
            return Ok(None);
        };
        let fail = FailQueuedTurn {
            tenant: tenant.clone(),
            turn_id: id,
            conversation_id: found.turn.conversation_id,
            problem: problem.clone(),
            time,
        };
        self.turns.writes.write(fail).await
    }
}

impl Written<dyn CredentialRepository> {
    /// [`CreateCredential`].
    pub async fn insert(
        &self,
        credential: &Credential,
        idempotency: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<()>> {
        let create = CreateCredential {
            credential: credential.clone(),
            idempotency: idempotency.cloned(),
        };
        self.writes.write(create).await
    }

    /// [`UpdateCredential`], by a caller that reaches all agents.
    pub async fn update(
        &self,
        kind: CredentialKind,
        tenant: &TenantId,
        id: &CredentialId,
        patch: Value,
    ) -> Result<Option<Credential>> {
        let update = UpdateCredential {
            tenant: tenant.clone(),
            kind,
            id: id.clone(),
            reach: AgentReach::ALL,
            patch,
        };
        self.writes.write(update).await
    }

    /// [`RevokeCredential`].
    pub async fn revoke(
        &self,
        kind: CredentialKind,
        tenant: &TenantId,
        id: &CredentialId,
        at: Timestamp,
    ) -> Result<bool> {
        let revoke = RevokeCredential {
            tenant: tenant.clone(),
            kind,
            id: id.clone(),
            at,
        };
        self.writes.write(revoke).await
    }
}
