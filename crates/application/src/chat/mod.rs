//! Chat: a user's message becomes a stored turn, and an engine replies to it.
//!
//! [`ChatService::send`] accepts a message and returns an [`AcceptedTurn`] once its turn is stored;
//! the reply is read from it as a whole or as it grows. A [`TurnRunner`] runs turns in tasks of
//! their own, independent of any caller's connection.
//!
//! `target` finds the conversation and the agent of a message, `start` answers the message inline
//! or starts its turn, `turn_task` runs the turn, and `finish` stores its end.

mod accepted_turn;
mod attached;
mod attempt;
mod attempt_state;
mod command;
mod conversation_locks;
mod ephemeral;
mod fetched_files;
mod files;
mod finish;
mod follow;
mod messages;
mod pending_finishes;
mod runner;
mod sent_files;
mod service;
mod start;
mod target;
mod tool_choice;
mod turn_start;
mod turn_task;

use std::sync::Arc;

use domain::{
    FaultCode, IdempotencyEntry, IdempotencyRecord, InputFault, LEVEL, ResponseSchema, TenantId,
};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

pub use accepted_turn::AcceptedTurn;
pub use attached::{AttachedFile, FilePart, HeldMemory, SentFile, WebAddress};
pub use command::{ChatCaller, ChatCommand, ChatError, OnBusy};
pub use ephemeral::{EphemeralChat, PastCall, PastMessage};
pub use messages::REPEATABLE_FOR;
pub use runner::TurnRunner;
pub use service::{ChatService, MAX_QUEUE_TIME};
pub(crate) use start::MAX_STORE_TIME;

use pending_finishes::PendingFinishes;

use crate::{
    Engines, FileService,
    cache::{CachedPorts, HistoryCache},
    detach_on_drop::Background,
    live_turns::LiveTurns,
    node::Node,
    remote_turns::ForwardedReplies,
};

/// The dependencies that all turns of a process share.
pub struct ChatContext {
    /// The stores, the clock and the ids.
    pub ports: CachedPorts,
    /// The files of messages.
    pub files: Arc<FileService>,
    /// The reply engines.
    pub engines: Arc<Engines>,
    /// The node of this process in the store.
    pub node: Arc<Node>,
    /// The turns that this process runs or waits for.
    pub live: Arc<LiveTurns>,
    /// The replies of these turns, as far as they were sent to other nodes.
    pub forwarded: Arc<ForwardedReplies>,
    /// The histories of recent conversations, for their next turns.
    histories: HistoryCache,
    /// The maximum number of bytes of the files in a request to a model.
    file_bytes: u64,
    pending_finishes: Arc<PendingFinishes>,
    /// The executor of work that continues after its caller has dropped it.
    pub(crate) background: Background,
}

impl ChatContext {
    /// Creates the context of a process whose turns are tasks of `tasks` on the current runtime.
    pub fn new(
        ports: CachedPorts,
        files: Arc<FileService>,
        engines: Arc<Engines>,
        node: Arc<Node>,
        live: Arc<LiveTurns>,
        forwarded: Arc<ForwardedReplies>,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            ports,
            files,
            engines,
            node,
            live,
            forwarded,
            histories: HistoryCache::default(),
            file_bytes: files::DEFAULT_BYTES,
            pending_finishes: Arc::default(),
            background: Background::new(tasks, Handle::current()),
        }
    }

    /// Returns whether processes of an earlier level still run, which must not meet what only this level writes.
    fn is_upgrading(&self) -> bool {
        let membership = self.node.watch_membership();
        membership.borrow().live.lowest_level < LEVEL
    }

    /// Sends models at most this number of bytes of files.
    #[must_use]
    pub fn with_file_bytes(self, file_bytes: u64) -> Self {
        Self { file_bytes, ..self }
    }

    /// Returns the earlier use of an idempotency key by a message with these files, so that none is fetched or
    /// stored for a repetition.
    async fn earlier_use(
        &self,
        tenant: &TenantId,
        entry: Option<&IdempotencyEntry>,
        files: &[AttachedFile],
    ) -> Result<Option<IdempotencyRecord>, ChatError> {
        let has_new = files.iter().any(AttachedFile::is_new);
        let Some(entry) = entry.filter(|_| has_new) else {
            return Ok(None);
        };
        let record = self.ports.idempotency.find(tenant, entry).await?;
        // The message of a released key is sent again.
        Ok(record.filter(|record| record.released_into.is_none()))
    }

    /// Checks the schema that came with a message.
    async fn check_schema(
        &self,
        tenant: &TenantId,
        schema: Option<&ResponseSchema>,
    ) -> Result<(), ChatError> {
        let Some(schema) = schema else {
            return Ok(());
        };
        let checked = self.engines.fault_of_schema(tenant, schema).await;
        match checked.map_err(|_overloaded| ChatError::Overloaded)? {
            None => Ok(()),
            Some(detail) => {
                let fault = InputFault::new("/responseSchema", FaultCode::BadFormat, detail);
                Err(ChatError::Invalid(vec![fault]))
            }
        }
    }

    /// Waits until the tasks of the turns that requests have started have ended.
    pub async fn turn_tasks_ended(&self) {
        self.background.local_work_ended().await;
    }
}
