//! The interface of commands.

use domain::{AgentId, ConversationId, CredentialId, FileId, TenantId};
use ports::{
    ConversationName, Facts, FactsQuery, RepositoryError,
    write_store::{RecordKey, UploadDay},
};

use crate::Planner;

/// A change that is decided on facts and written together with others.
pub trait Command: Send + Sync + 'static {
    /// The outcome, for its caller.
    type Outcome: Send + 'static;

    /// Returns whose data it changes, and what it must not share a transaction with.
    fn scope(&self) -> Scope;

    /// Returns `true` if it takes the store so long that the writes of others must not wait for it. It
    /// is then committed in a transaction of its own.
    fn is_long(&self) -> bool {
        false
    }

    /// Returns `false` if it neither depends on the log of its tenant nor adds to it. It is then
    /// decided on its own conditions, and other writes of the tenant do not outdate its facts.
    fn uses_log(&self) -> bool {
        true
    }

    /// Returns `true` if it may start a turn that its caller has to run. The caller then waits for
    /// the outcome without a limit.
    fn starts_a_turn(&self) -> bool {
        false
    }

    /// Adds the keys of the facts that it needs.
    fn needs(&self, query: &mut FactsQuery);

    /// Adds the keys of the facts that it needs because of those read so far.
    fn needs_more(&self, _facts: &Facts, _query: &mut FactsQuery) {}

    /// Returns the outcome that an earlier attempt has stored, whose commit was not confirmed; `None`
    /// if it has stored nothing, or the command can be repeated. A long command is attempted once, so it
    /// is never in doubt.
    fn stored(&self, _facts: &Facts) -> Option<Self::Outcome> {
        None
    }

    /// Decides, and adds its rows to the plan. Adds none if it returns an error.
    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError>;
}

/// The outcome of a command, once the plan is committed.
#[derive(Debug, Clone, PartialEq)]
pub enum Planned<T> {
    /// It is applied as requested.
    Applied(T),
    /// It is not, for a reason that the facts show. A decision on facts that were not read again is
    /// not trusted with that.
    Rejected(T),
}

impl<T> Planned<T> {
    /// Returns the outcome.
    pub fn into_outcome(self) -> T {
        match self {
            Self::Applied(outcome) | Self::Rejected(outcome) => outcome,
        }
    }
}

/// The tenant whose data a command changes, and the parts that no other command of its transaction may
/// share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// Two commands with an equal part are never decided together.
    pub parts: Vec<Part>,
}

/// A thing whose facts a command changes or relies on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Part {
    /// A conversation that it creates, changes or copies.
    Conversation(ConversationId),
    /// The name of a conversation that it creates or changes.
    Name(ConversationName),
    /// An agent that it creates or changes.
    Agent(AgentId),
    /// A user that it stores.
    User(String),
    /// A credential that it changes.
    Credential(CredentialId),
    /// A file that it stores, deletes or uses.
    File(FileId),
    /// The day of a principal on which an upload counts.
    Uploads(UploadDay),
    /// An idempotency key that it uses.
    Key(RecordKey),
}

impl Scope {
    /// Returns the scope of a command on these parts.
    pub fn new(tenant: &TenantId, parts: impl IntoIterator<Item = Part>) -> Self {
        Self {
            tenant: tenant.clone(),
            parts: parts.into_iter().collect(),
        }
    }

    /// Returns whether it changes an agent.
    pub(crate) fn changes_agent(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Agent(_)))
    }
}
