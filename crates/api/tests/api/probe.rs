//! A decorator of the store's ports that notes every call and can make one go wrong.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use domain::{
    Agent, AgentId, AsOf, Conversation, ConversationHead, ConversationId, Credential, CredentialId,
    CredentialKind, IdempotencyClaim, IdempotencyRecord, Listed, Message, NodeId, Page,
    SecretDigest, Seq, SigningKey, Stamp, TenantId, Timestamp, TurnId, Utterance,
};
use ports::{
    AgentQuery, AgentRepository, BeginOutcome, BeginTurn, CancelOutcome, ClaimRepository,
    Committed, ConversationQuery, ConversationRepository, CredentialRepository, Deletion, EventLog,
    EventPage, EventQuery, Exchange, ExchangeOutcome, FinishOutcome, FinishTurn, FoundTurn,
    HistoryQuery, LogBounds, LogHead, LoggedChange, Maintenance, MessageQuery, NewProof,
    NodeRepository, Once, Outdated, Reply, RepositoryError, ShowKey, SigningKeyRepository, Storage,
    TokenRepository, TurnRepository,
};
use tokio::sync::Notify;
use uuid::Uuid;

/// What a call is to meet instead of the store.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Misfortune {
    /// The store does not answer.
    Away,
    /// A row that nobody here wrote.
    Corrupt,
    /// A mistake in the adapter.
    Panic,
    /// The store takes its time, until the probe is healed.
    Slow,
}

/// Notes calls, and says which of them go wrong.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    calls: Mutex<Vec<&'static str>>,
    misfortunes: Mutex<HashMap<&'static str, Misfortune>>,
    healed: Notify,
    visited: Notify,
}

impl Probe {
    /// The ports with this probe in front.
    pub(crate) fn over(self: &Arc<Self>, storage: Storage) -> Storage {
        Storage {
            agents: Arc::new(Agents(storage.agents, Arc::clone(self))),
            conversations: Arc::new(Conversations(storage.conversations, Arc::clone(self))),
            turns: Arc::new(Turns(storage.turns, Arc::clone(self))),
            claims: Arc::new(Claims(storage.claims, Arc::clone(self))),
            events: Arc::new(Events(storage.events, Arc::clone(self))),
            credentials: Arc::new(Credentials(storage.credentials, Arc::clone(self))),
            tokens: Arc::new(Tokens(storage.tokens, Arc::clone(self))),
            signing_keys: Arc::new(SigningKeys(storage.signing_keys, Arc::clone(self))),
            nodes: Arc::new(Nodes(storage.nodes, Arc::clone(self))),
            maintenance: Arc::new(Upkeep(storage.maintenance, Arc::clone(self))),
            ..storage
        }
    }

    /// From now on, calls of this name, such as `agents.find`, meet this.
    pub(crate) fn make(&self, call: &'static str, misfortune: Misfortune) {
        let mut misfortunes = self.misfortunes.lock().expect("no panic inside");
        misfortunes.insert(call, misfortune);
    }

    /// From now on, everything works.
    pub(crate) fn heal(&self) {
        self.misfortunes.lock().expect("no panic inside").clear();
        self.healed.notify_waiters();
    }

    /// Lets those that wait meet what is to come now.
    pub(crate) fn look_again(&self) {
        self.healed.notify_waiters();
    }

    /// Waits until there has been a call of this name.
    pub(crate) async fn called(&self, call: &'static str) {
        loop {
            // Before the look: a call in between is not missed.
            let visited = self.visited.notified();
            if self.calls.lock().expect("no panic inside").contains(&call) {
                return;
            }
            visited.await;
        }
    }

    /// The calls since this was last asked, without those that are made by the clock.
    pub(crate) fn calls(&self) -> Vec<&'static str> {
        let by_the_clock = [
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
        calls.retain(|call| !by_the_clock.contains(call));
        calls
    }

    async fn visit(&self, call: &'static str) -> Result<(), RepositoryError> {
        // Before the call can be seen: who then heals the probe does not spare this one.
        let mut healed = self.healed.notified();
        let mut misfortune = self.misfortune_of(call);
        self.calls.lock().expect("no panic inside").push(call);
        self.visited.notify_waiters();
        loop {
            match misfortune {
                None => return Ok(()),
                Some(Misfortune::Away) => {
                    return Err(RepositoryError::Unavailable("10.0.0.7 is away".into()));
                }
                Some(Misfortune::Corrupt) => {
                    return Err(RepositoryError::Corrupt {
                        what: "agents.config".to_owned(),
                        source: "no JSON".into(),
                    });
                }
                Some(Misfortune::Panic) => {
                    panic!("the adapter of {call} panics, as the test wants")
                }
                Some(Misfortune::Slow) => healed.await,
            }
            healed = self.healed.notified();
            misfortune = self.misfortune_of(call);
        }
    }

    fn misfortune_of(&self, call: &'static str) -> Option<Misfortune> {
        let misfortunes = self.misfortunes.lock().expect("no panic inside");
        misfortunes.get(call).copied()
    }
}

macro_rules! probed {
    ($wrapper:ident of $port:ident as $name:literal {
        $(fn $method:ident($($argument:ident: $type:ty),*) -> $output:ty;)*
    }) => {
        struct $wrapper(Arc<dyn $port>, Arc<Probe>);

        #[async_trait]
        impl $port for $wrapper {
            $(async fn $method(&self, $($argument: $type),*) -> Result<$output, RepositoryError> {
                self.1.visit(concat!($name, ".", stringify!($method))).await?;
                self.0.$method($($argument),*).await
            })*
        }
    };
}

probed! { Agents of AgentRepository as "agents" {
    fn insert(tenant: &TenantId, agent: &Agent, stamp: &Stamp, claim: Option<&IdempotencyClaim>) -> Once<Committed>;
    fn find(tenant: &TenantId, id: AgentId) -> AsOf<Option<Arc<Agent>>>;
    fn list(tenant: &TenantId, query: &AgentQuery) -> AsOf<Page<Listed<Agent>>>;
    fn update(tenant: &TenantId, agent: &Agent, stamp: &Stamp) -> Option<Committed>;
    fn delete(tenant: &TenantId, id: AgentId, expected: Option<i64>, stamp: &Stamp) -> Deletion;
} }

probed! { Conversations of ConversationRepository as "conversations" {
    fn insert(tenant: &TenantId, conversation: &Conversation, greeting: Option<&Message>, stamp: &Stamp, claim: Option<&IdempotencyClaim>) -> Once<Option<Committed>>;
    fn find(tenant: &TenantId, id: ConversationId) -> AsOf<Option<Conversation>>;
    fn find_head(tenant: &TenantId, id: ConversationId) -> AsOf<Option<Arc<ConversationHead>>>;
    fn list(tenant: &TenantId, query: &ConversationQuery) -> AsOf<Page<Listed<Conversation>>>;
    fn update(tenant: &TenantId, conversation: &Conversation, stamp: &Stamp) -> Option<(Committed, Conversation)>;
    fn delete(tenant: &TenantId, id: ConversationId, expected: Option<i64>, stamp: &Stamp) -> Deletion;
    fn messages(tenant: &TenantId, id: ConversationId, query: &MessageQuery) -> AsOf<Option<Page<Message>>>;
    fn history(tenant: &TenantId, id: ConversationId, query: &HistoryQuery) -> Vec<Utterance>;
} }

probed! { Turns of TurnRepository as "turns" {
    fn record_exchange(exchange: Exchange) -> ExchangeOutcome;
    fn begin_turn(begin: BeginTurn) -> BeginOutcome;
    fn finish_turn(finish: FinishTurn) -> FinishOutcome;
    fn cancel_turn(tenant: &TenantId, id: TurnId, partial: Option<Reply>, node: Option<NodeId>, stamp: &Stamp) -> CancelOutcome;
    fn find(tenant: &TenantId, id: TurnId) -> AsOf<Option<FoundTurn>>;
} }

probed! { Claims of ClaimRepository as "claims" {
    fn find(tenant: &TenantId, claim: &IdempotencyClaim) -> Option<IdempotencyRecord>;
} }

probed! { Events of EventLog as "events" {
    fn page(tenant: &TenantId, query: &EventQuery) -> EventPage;
    fn count(tenant: &TenantId, query: &EventQuery) -> usize;
    fn bounds(tenant: &TenantId) -> LogBounds;
    fn heads() -> Vec<LogHead>;
    fn changes(tenant: &TenantId, since: Seq, limit: usize) -> Vec<LoggedChange>;
} }

probed! { Credentials of CredentialRepository as "credentials" {
    fn insert(credential: &Credential, claim: Option<&IdempotencyClaim>) -> Once<()>;
    fn insert_first_key(key: &Credential, show: ShowKey) -> bool;
    fn has_ever_held_a_key() -> bool;
    fn find(kind: CredentialKind, id: &CredentialId) -> Option<Credential>;
    fn list(kind: CredentialKind, tenant: &TenantId, after: Option<Seq>, limit: usize) -> Page<Listed<Credential>>;
    fn rotate(kind: CredentialKind, tenant: &TenantId, id: &CredentialId, proof: &NewProof, claim: Option<&IdempotencyClaim>) -> Once<Option<Credential>>;
    fn revoke(kind: CredentialKind, tenant: &TenantId, id: &CredentialId, at: Timestamp) -> bool;
    fn touch(used: &[(CredentialId, Timestamp)]) -> ();
    fn access_version() -> i64;
} }

probed! { Tokens of TokenRepository as "tokens" {
    fn revoke(token: Uuid, ends_at: Timestamp) -> ();
    fn is_revoked(token: Uuid) -> bool;
    fn use_assertion(assertion: &SecretDigest, ends_at: Timestamp) -> bool;
} }

probed! { SigningKeys of SigningKeyRepository as "signing_keys" {
    fn list() -> Vec<SigningKey>;
    fn add(key: &SigningKey, newest: Option<&str>, previous_until: Timestamp) -> bool;
} }

probed! { Nodes of NodeRepository as "nodes" {
    fn insert(id: NodeId, lease: Duration) -> ();
    fn renew(id: NodeId, lease: Duration) -> bool;
    fn delete(id: NodeId) -> ();
} }

probed! { Upkeep of Maintenance as "maintenance" {
    fn ping() -> ();
    fn now() -> Timestamp;
    fn purge(limit: usize, outdated: Outdated) -> u64;
    fn trim_log(before: Timestamp, limit: usize) -> u64;
} }
