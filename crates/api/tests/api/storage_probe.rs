//! A decorator of the store's ports that records calls and injects faults.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use domain::{
    Agent, AgentId, AsOf, Conversation, ConversationId, ConversationState, Credential,
    CredentialId, CredentialKind, HistoryMessage, IdempotencyEntry, IdempotencyRecord, Listed,
    Message, NodeId, Page, RegionName, SecretDigest, Seq, SigningKey, TenantId, Timestamp, Turn,
    TurnId, TurnStatus,
};
use futures::future::BoxFuture;
use ports::{
    AgentQuery, AgentRepository, ConditionalRows, ConversationName, ConversationQuery,
    ConversationRepository, ConversationScan, ConversationText, CredentialRepository, Decided,
    Decision, EventDecision, EventLog, EventPage, EventQuery, Facts, FactsQuery, FarNodeReport,
    FollowerPosition, FollowerRepository, FollowerStep, FoundMessage, FoundTurn, HistoryQuery,
    IdempotencyRepository, Idempotent, Lane, LiveNode, LiveNodes, LogBounds, LogHead, LoggedChange,
    Maintenance, MessageQuery, MessageReference, NewProof, NodeProcess, NodeRepository,
    RepositoryError, RetentionCutoffs, Rows, ScannedConversations, ScannedTurns, ShowKey,
    SigningKeyRepository, Storage, TokenRepository, Transacted, TurnQuery, TurnRepository,
    TurnScan, WriteError, WriteStore, write_store::TurnRow,
};
use tokio::sync::Notify;
use uuid::Uuid;

/// The fault of a call, in place of the store's answer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum InjectedFault {
    /// The store is unavailable.
    Unavailable,
    /// A corrupt row.
    Corrupt,
    /// A panic in the adapter.
    Panic,
    /// The store is slow until the faults are cleared.
    Slow,
}

/// Records calls, and injects faults.
#[derive(Debug, Default)]
pub(crate) struct StorageProbe {
    calls: Mutex<Vec<&'static str>>,
    faults: Mutex<HashMap<&'static str, InjectedFault>>,
    released: Notify,
    called: Notify,
}

impl StorageProbe {
    /// Wraps the ports with this probe.
    pub(crate) fn wrap_storage(self: &Arc<Self>, storage: Storage) -> Storage {
        Storage {
            writes: Arc::new(Writes(storage.writes, Arc::clone(self))),
            agents: Arc::new(Agents(storage.agents, Arc::clone(self))),
            conversations: Arc::new(Conversations(storage.conversations, Arc::clone(self))),
            turns: Arc::new(Turns(storage.turns, Arc::clone(self))),
            idempotency: Arc::new(IdempotencyRecords(storage.idempotency, Arc::clone(self))),
            events: Arc::new(Events(storage.events, Arc::clone(self))),
            credentials: Arc::new(Credentials(storage.credentials, Arc::clone(self))),
            tokens: Arc::new(Tokens(storage.tokens, Arc::clone(self))),
            signing_keys: Arc::new(SigningKeys(storage.signing_keys, Arc::clone(self))),
            nodes: Arc::new(Nodes(storage.nodes, Arc::clone(self))),
            maintenance: Arc::new(MaintenanceCalls(storage.maintenance, Arc::clone(self))),
            followers: Arc::new(FollowersElsewhere(storage.followers)),
            ..storage
        }
    }

    /// Injects a fault into all later calls with this name, such as `agents.find`.
    pub(crate) fn inject(&self, call: &'static str, fault: InjectedFault) {
        let mut faults = self.faults.lock().expect("no panic inside");
        faults.insert(call, fault);
    }

    /// Removes a fault from later calls. Calls that wait still do.
    pub(crate) fn remove(&self, call: &'static str) {
        self.faults.lock().expect("no panic inside").remove(call);
    }

    /// Removes all faults.
    pub(crate) fn clear_faults(&self) {
        self.faults.lock().expect("no panic inside").clear();
        self.released.notify_waiters();
    }

    /// Releases waiting calls to the current fault.
    pub(crate) fn release_waiting_calls(&self) {
        self.released.notify_waiters();
    }

    /// Waits for a call with this name.
    pub(crate) async fn wait_for_call(&self, call: &'static str) {
        loop {
            // Registered before the check, so that no call in between is missed.
            let called = self.called.notified();
            if self.calls.lock().expect("no panic inside").contains(&call) {
                return;
            }
            called.await;
        }
    }

    /// The calls since the last query, without periodic ones.
    pub(crate) fn calls(&self) -> Vec<&'static str> {
        let periodic = [
            "events.heads",
            "events.changes",
            "credentials.access_version",
            "credentials.touch",
            "signing_keys.list",
            "maintenance.now",
            "maintenance.purge",
            "maintenance.trim_log",
            "nodes.renew",
        ];
        let mut calls = std::mem::take(&mut *self.calls.lock().expect("no panic inside"));
        calls.retain(|call| !periodic.contains(call));
        calls
    }

    /// The number of calls with this name since the last query of all.
    pub(crate) fn count(&self, call: &'static str) -> usize {
        let calls = self.calls.lock().expect("no panic inside");
        calls.iter().filter(|it| **it == call).count()
    }

    async fn record(&self, call: &'static str) -> Result<(), RepositoryError> {
        // Before the call is recorded: clearing the faults afterwards does not affect it.
        let mut released = self.released.notified();
        let mut fault = self.fault_of(call);
        self.note(call);
        loop {
            match fault {
                None => return Ok(()),
                Some(InjectedFault::Unavailable) => {
                    return Err(RepositoryError::Unavailable(
                        "10.0.0.7 is unavailable".into(),
                    ));
                }
                Some(InjectedFault::Corrupt) => {
                    return Err(RepositoryError::Corrupt {
                        what: "agents.config".to_owned(),
                        source: "no JSON".into(),
                    });
                }
                Some(InjectedFault::Panic) => {
                    panic!("the adapter of {call} panics, as the test wants")
                }
                Some(InjectedFault::Slow) => released.await,
            }
            released = self.released.notified();
            fault = self.fault_of(call);
        }
    }

    fn note(&self, call: &'static str) {
        self.calls.lock().expect("no panic inside").push(call);
        self.called.notify_waiters();
    }

    fn fault_of(&self, call: &'static str) -> Option<InjectedFault> {
        let faults = self.faults.lock().expect("no panic inside");
        faults.get(call).copied()
    }
}

/// Writes, which have the name of what they write; those that are committed together have one.
struct Writes(Arc<dyn WriteStore>, Arc<StorageProbe>);

fn name_of(rows: &Rows) -> &'static str {
    let is_completed = |row: &TurnRow| row.turn.status == TurnStatus::Completed;
    match rows {
        rows if *rows == Rows::default() => "writes.nothing",
        rows if !rows.ends.is_empty() => "turns.finish_turn",
        rows if rows.turns.iter().any(is_completed) => "turns.record_completed_turn",
        rows if !rows.turns.is_empty() => "turns.begin_turn",
        rows if !rows.agents.is_empty() => "agents.insert",
        _ => "writes.other",
    }
}

/// A decision that tells what it would write, and writes nothing.
struct Preview(Arc<dyn Decision>, Mutex<Option<&'static str>>);

impl Decision for Preview {
    fn decide(&self, round: usize, facts: &Facts) -> Decided {
        let decided = self.0.decide(round, facts);
        let Decided::Write(rows) = decided else {
            return decided;
        };
        *self.1.lock().expect("no panic inside") = Some(name_of(&rows));
        Decided::Write(Rows::default())
    }
}

#[async_trait]
impl WriteStore for Writes {
    async fn transact(
        &self,
        decision: Arc<dyn Decision>,
        lane: Lane,
    ) -> Result<Transacted, WriteError> {
        let preview = Arc::new(Preview(Arc::clone(&decision), Mutex::default()));
        let shown = Arc::clone(&preview);
        self.0.transact(preview, lane).await?;
        let name = *shown.1.lock().expect("no panic inside");
        self.1.record(name.expect("a decision")).await?;
        self.0.transact(decision, lane).await
    }

    /// Leaves a write that hits a fault to [`Self::transact`].
    async fn write_if(&self, write: Arc<ConditionalRows>) -> Result<bool, WriteError> {
        let name = name_of(&write.rows);
        if self.1.fault_of(name).is_some() {
            return Ok(false);
        }
        let is_written = self.0.write_if(write).await?;
        if is_written {
            self.1.note(name);
        }
        Ok(is_written)
    }

    async fn read_ahead(&self, query: &FactsQuery) -> Result<Option<Facts>, WriteError> {
        self.0.read_ahead(query).await
    }

    fn spawn(&self, writer: BoxFuture<'static, ()>) {
        self.0.spawn(writer);
    }
}

macro_rules! probed {
    ($wrapper:ident of $port:ident as $name:literal {
        $(fn $method:ident($($argument:ident: $type:ty),*) -> $output:ty;)*
    }) => {
        struct $wrapper(Arc<dyn $port>, Arc<StorageProbe>);

        #[async_trait]
        impl $port for $wrapper {
            $(async fn $method(&self, $($argument: $type),*) -> Result<$output, RepositoryError> {
                self.1.record(concat!($name, ".", stringify!($method))).await?;
                self.0.$method($($argument),*).await
            })*
        }
    };
}

probed! { Agents of AgentRepository as "agents" {
    fn find(tenant: &TenantId, id: AgentId) -> AsOf<Option<Arc<Agent>>>;
    fn find_version(tenant: &TenantId, id: AgentId, version: i64) -> Option<Arc<Agent>>;
    fn list(tenant: &TenantId, query: &AgentQuery) -> AsOf<Page<Listed<Agent>>>;
} }

probed! { Conversations of ConversationRepository as "conversations" {
    fn find(tenant: &TenantId, id: ConversationId) -> AsOf<Option<Listed<Conversation>>>;
    fn find_by_name(tenant: &TenantId, name: &ConversationName) -> Option<ConversationId>;
    fn find_state(tenant: &TenantId, id: ConversationId) -> AsOf<Option<Arc<ConversationState>>>;
    fn list(tenant: &TenantId, query: &ConversationQuery) -> AsOf<Page<Listed<Conversation>>>;
    fn scan(tenant: &TenantId, scan: &ConversationScan) -> AsOf<ScannedConversations>;
    fn find_message(tenant: &TenantId, id: ConversationId, message: &MessageReference) -> Option<FoundMessage>;
    fn messages(tenant: &TenantId, id: ConversationId, query: &MessageQuery) -> AsOf<Option<Page<Message>>>;
    fn history(tenant: &TenantId, id: ConversationId, query: &HistoryQuery) -> Vec<HistoryMessage>;
    fn find_all(tenant: &TenantId, ids: &[ConversationId]) -> AsOf<Vec<Conversation>>;
    fn texts(tenant: &TenantId, places: &[(ConversationId, i64)]) -> Vec<ConversationText>;
} }

probed! { Turns of TurnRepository as "turns" {
    fn find(tenant: &TenantId, id: TurnId) -> AsOf<Option<FoundTurn>>;
    fn find_current(tenant: &TenantId, conversation: ConversationId) -> Option<FoundTurn>;
    fn list(tenant: &TenantId, conversation: ConversationId, query: &TurnQuery) -> AsOf<Option<Page<Listed<Turn>>>>;
    fn scan(tenant: &TenantId, scan: &TurnScan) -> AsOf<ScannedTurns>;
} }

probed! { IdempotencyRecords of IdempotencyRepository as "idempotency_records" {
    fn find(tenant: &TenantId, idempotency: &IdempotencyEntry) -> Option<IdempotencyRecord>;
    fn settle(tenant: &TenantId, idempotency: &IdempotencyEntry, turn: TurnId, released_into: Option<ConversationId>) -> bool;
} }

probed! { Events of EventLog as "events" {
    fn page(tenant: &TenantId, query: &EventQuery, decision: &dyn EventDecision) -> EventPage;
    fn count(tenant: &TenantId, query: &EventQuery) -> usize;
    fn bounds(tenant: &TenantId) -> LogBounds;
    fn heads() -> Vec<LogHead>;
    fn changes(tenant: &TenantId, since: Seq, limit: usize) -> Vec<LoggedChange>;
} }

probed! { Credentials of CredentialRepository as "credentials" {
    fn insert_first_key(key: &Credential, show: ShowKey) -> bool;
    fn has_ever_held_a_key() -> bool;
    fn find(kind: CredentialKind, id: &CredentialId) -> Option<Credential>;
    fn list(kind: CredentialKind, tenant: &TenantId, after: Option<Seq>, limit: usize) -> Page<Listed<Credential>>;
    fn rotate(kind: CredentialKind, tenant: &TenantId, id: &CredentialId, proof: &NewProof, idempotency: Option<&IdempotencyEntry>) -> Idempotent<Option<Credential>>;
    fn touch(used: &[(CredentialId, Timestamp)]) -> ();
    fn access_version() -> i64;
} }

probed! { Tokens of TokenRepository as "tokens" {
    fn revoke(token: Uuid, ends_at: Timestamp) -> ();
    fn is_revoked(token: Uuid) -> bool;
    fn user_generation(tenant: &TenantId, user_id: &str) -> i64;
    fn withdraw_user_tokens(tenant: &TenantId, user_id: &str) -> ();
    fn use_assertion(assertion: &SecretDigest, ends_at: Timestamp) -> bool;
} }

probed! { SigningKeys of SigningKeyRepository as "signing_keys" {
    fn list() -> Vec<SigningKey>;
    fn add(key: &SigningKey, newest: Option<&str>, previous_until: Timestamp) -> bool;
} }

probed! { Nodes of NodeRepository as "nodes" {
    fn insert(id: NodeId, process: &NodeProcess, lease: Duration) -> LiveNodes;
    fn renew(id: NodeId, lease: Duration) -> Option<LiveNodes>;
    fn report_far(region: &RegionName, report: &FarNodeReport, lease: Duration) -> ();
    fn list() -> Vec<LiveNode>;
    fn delete(id: NodeId) -> ();
} }

probed! { MaintenanceCalls of Maintenance as "maintenance" {
    fn ping() -> ();
    fn now() -> Timestamp;
    fn purge(limit: usize, outdated: RetentionCutoffs) -> u64;
    fn compact() -> ();
    fn trim_log(before: Timestamp, limit: usize) -> u64;
} }

/// Followers that another node runs, so that all calls are those of requests.
struct FollowersElsewhere(Arc<dyn FollowerRepository>);

#[async_trait]
impl FollowerRepository for FollowersElsewhere {
    async fn claim(&self, _follower: &str, _node: NodeId) -> Result<bool, RepositoryError> {
        Ok(false)
    }

    async fn positions(
        &self,
        follower: &str,
    ) -> Result<Vec<(TenantId, FollowerPosition)>, RepositoryError> {
        self.0.positions(follower).await
    }

    async fn advance(&self, follower: &str, step: &FollowerStep) -> Result<bool, RepositoryError> {
        self.0.advance(follower, step).await
    }
}
