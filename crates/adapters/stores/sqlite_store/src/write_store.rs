//! Reading facts, checking conditions and writing rows.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use ports::{
    ConditionalRows, Decided, Decision, Facts, Lane, RepositoryError, Rows, Transacted, WriteError,
    WriteStore,
};
use relational::WriterThread;
use sqlx::SqliteConnection;
use tokio::sync::oneshot;

use crate::{
    facts, rows,
    writer::{self, Writer},
};

/// The writes of the core. One task runs all transactions, whatever their lane.
pub(crate) struct SqliteWriteStore {
    pub(crate) writer: Writer,
    /// The thread of the writer, which ends with its last user.
    pub(crate) thread: WriterThread,
}

#[async_trait]
impl WriteStore for SqliteWriteStore {
    async fn transact(
        &self,
        decision: Arc<dyn Decision>,
        _lane: Lane,
    ) -> Result<Transacted, WriteError> {
        let (heads_sender, mut heads_receiver) = oneshot::channel();
        let committed = self.writer.read_then_write(
            move |connection| Box::pin(async move { decide(connection, &*decision).await }),
            move |(facts, rows): (Facts, Rows), connection| {
                rows::write_directly(connection, &rows)?;
                // Only a transaction that has reached its commit can be in doubt.
                let _ = heads_sender.send(facts.heads.clone());
                Ok(Transacted { facts, rows })
            },
        );
        // After a failed commit, the writer opens a new connection.
        match committed.await {
            Ok(transacted) => Ok(transacted),
            Err(writer::WriteError::RolledBack(error)) => Err(WriteError::Failed(error)),
            Err(writer::WriteError::Unknown(source)) => match heads_receiver.try_recv() {
                Ok(heads) => Err(WriteError::Unknown { heads, source }),
                Err(_not_committed) => Err(WriteError::Failed(source)),
            },
        }
    }

    async fn write_if(&self, write: Arc<ConditionalRows>) -> Result<bool, WriteError> {
        let heads = write.conditions.heads.clone();
        let work = move |connection: &mut _| rows::write_if(connection, &write);
        let written = self.writer.run_directly(work);
        written.await.map_err(|error| match error {
            writer::WriteError::Unknown(source) if source.is_retryable() => {
                WriteError::Unknown { heads, source }
            }
            // Rejected data ends the transaction before its commit.
            writer::WriteError::Unknown(error) | writer::WriteError::RolledBack(error) => {
                WriteError::Failed(error)
            }
        })
    }

    fn spawn(&self, writer: BoxFuture<'static, ()>) {
        self.thread.runtime().spawn(writer);
    }
}

/// Reads the facts that the decision asks for, until it knows what to write.
async fn decide(
    connection: &mut SqliteConnection,
    decision: &dyn Decision,
) -> Result<(Facts, Rows), RepositoryError> {
    let mut facts = Facts::default();
    let mut round = 0;
    loop {
        match decision.decide(round, &facts) {
            Decided::Read(query) => facts::read(connection, &query, &mut facts).await?,
            Decided::Write(rows) => return Ok((facts, rows)),
        }
        round += 1;
    }
}
