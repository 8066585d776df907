//! Writing to a store. The core decides what is written; a store reads facts, checks conditions and
//! writes rows.

mod conditions;
mod facts;
mod query;
mod rows;
mod swept;

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use domain::{Seq, TenantId};
use futures::future::BoxFuture;

pub use self::{
    conditions::Conditions,
    facts::{
        ConversationFacts, CredentialFacts, EventInDoubt, Facts, FileFacts, InTenant, OpenTurn,
        RecordKey, is_within_retention,
    },
    query::{CredentialKey, FactsQuery, LoggedQuery, OpenTurnsOf, RunningTurn, SweptQuery},
    rows::{
        AgentDeletion, AgentRow, AgentUpdate, ConversationAdvance, ConversationDeletion,
        ConversationHandover, ConversationRow, ConversationUpdate, ErasureRow, EventRow,
        FeedbackDeletion, FeedbackKey, FeedbackRow, FileRelease, FileRow, FileUseRow,
        IdempotencyRow, KeyName, MessageCopy, MessageDeletion, MessageRow, MessageTurn, NoteKey,
        NoteRow, ReleasedKey, Revocation, Rows, StateChange, StepRow, SupersededMessages,
        TurnAssignment, TurnCalls, TurnEnd, TurnRow, TurnStart, TurnWait, UploadDay, UploadRow,
        UsageRow, UserRow,
    },
    swept::{SweptConversation, WaitingTurn, swept_conversations},
};
use crate::RepositoryError;

/// The heads of tenants' logs.
pub type Heads = BTreeMap<TenantId, Seq>;

/// A decision about what one transaction writes: a function of the facts that it asks for.
pub trait Decision: Send + Sync {
    /// Returns the facts that it needs next, or the rows to write. `round` counts from 0 the queries
    /// whose facts are in `facts`. A store whose connection is lost may begin again with round 0.
    fn decide(&self, round: usize, facts: &Facts) -> Decided;
}

/// The answer of a [`Decision`].
#[derive(Debug)]
pub enum Decided {
    /// These facts are needed, too.
    Read(FactsQuery),
    /// These rows are to be written.
    Write(Rows),
}

/// The facts and the rows of a committed transaction.
#[derive(Debug)]
pub struct Transacted {
    /// The facts that it read.
    pub facts: Facts,
    /// The rows that it wrote.
    pub rows: Rows,
}

/// Rows that were decided without reading anything in the same transaction.
#[derive(Debug)]
pub struct ConditionalRows {
    /// The number of writes that they belong to.
    pub writes: usize,
    /// The conditions.
    pub conditions: Conditions,
    /// The rows.
    pub rows: Rows,
}

/// The transactions that a store runs at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// The one of the writer that commits in groups: one at a time, on a connection that is kept for
    /// it.
    Group,
    /// A transaction of its own beside the others: it may take long.
    Alone,
}

/// The failure of a write.
#[derive(Debug)]
pub enum WriteError {
    /// Nothing was written.
    Failed(RepositoryError),
    /// The database did not confirm the commit, so its outcome is unknown.
    Unknown {
        /// The heads of the logs when the transaction had locked them.
        heads: Heads,
        /// The error of the commit.
        source: RepositoryError,
    },
}

impl From<RepositoryError> for WriteError {
    fn from(error: RepositoryError) -> Self {
        Self::Failed(error)
    }
}

/// The writing of decided rows. A store decides nothing itself, so stores cannot decide differently.
#[async_trait]
pub trait WriteStore: Send + Sync {
    /// Runs one transaction: locks the tenants of the decision's first query in the order of their
    /// ids, reads the facts of each query, and writes all rows or none. The facts MUST be what was
    /// committed before the locks were granted. MUST return within a few seconds, and after a commit
    /// that was not confirmed, MUST use a new connection for the next transaction.
    async fn transact(
        &self,
        decision: Arc<dyn Decision>,
        lane: Lane,
    ) -> Result<Transacted, WriteError>;

    /// Writes the rows in one round trip and returns `true` if every condition holds. MUST write
    /// nothing and return `false` otherwise. Belongs to [`Lane::Group`].
    ///
    /// The heads MUST be compared under the locks of the tenants: after a wait for a lock, what was
    /// committed meanwhile counts. The other conditions may be checked as of before the wait, since
    /// nothing wrong can be written then, with one exception:
    /// - Running turns MUST be compared after the wait for the lock of their tenants, too: a turn that
    ///   was given to another node meanwhile must not act here. Nothing else covers them.
    /// - Names, and the keys of turns, agents and conversations, are used with an event, which raises
    ///   the head.
    /// - A key or credential of the rows that exists by then MUST make the write fail, and a credential
    ///   that is revoked by then MUST NOT be revoked again.
    /// - Nodes are marked dead without a lock, so possibly right after the check.
    async fn write_if(&self, write: Arc<ConditionalRows>) -> Result<bool, WriteError>;

    /// Reads the heads of the tenants and the versions of the agents of `query` at one point in
    /// time, in one round trip and without a lock. Returns `None` if that is not cheaper than
    /// [`Self::transact`]. Belongs to [`Lane::Group`].
    async fn read_ahead(&self, _query: &FactsQuery) -> Result<Option<Facts>, WriteError> {
        Ok(None)
    }

    /// Runs the writer that commits in groups where the store's own tasks run. All chats wait for it.
    fn spawn(&self, writer: BoxFuture<'static, ()>);
}
