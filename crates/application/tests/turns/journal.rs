//! The writes of a turn.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use domain::{ToolCall, TurnStatus};
use futures::future::BoxFuture;
use ports::{ConditionalRows, Decision, Lane, RepositoryError, Transacted, WriteError, WriteStore};
use scripted_engine::Script;

use crate::{
    fixture::Fixture,
    process::Process,
    sweep::in_time,
    tools::{ACT, LOOK},
};

/// A store that counts what is written, and can be unavailable.
struct CountedWrites {
    writes: Arc<dyn WriteStore>,
    count: AtomicUsize,
    is_unavailable: AtomicBool,
    /// The number of writes that were attempted meanwhile.
    rejected: AtomicUsize,
}

impl CountedWrites {
    /// Counts the writes of processes that are not started yet.
    fn of(fixture: &mut Fixture) -> Arc<Self> {
        let counted = Arc::new(Self {
            writes: Arc::clone(&fixture.writes),
            count: AtomicUsize::new(0),
            is_unavailable: AtomicBool::new(false),
            rejected: AtomicUsize::new(0),
        });
        fixture.writes = counted.clone();
        counted
    }

    fn check(&self) -> Result<(), WriteError> {
        if self.is_unavailable.load(Ordering::SeqCst) {
            self.rejected.fetch_add(1, Ordering::SeqCst);
            return Err(RepositoryError::Unavailable("down".into()).into());
        }
        Ok(())
    }
}

#[async_trait]
impl WriteStore for CountedWrites {
    async fn transact(
        &self,
        decision: Arc<dyn Decision>,
        lane: Lane,
    ) -> Result<Transacted, WriteError> {
        self.check()?;
        self.count.fetch_add(1, Ordering::SeqCst);
        self.writes.transact(decision, lane).await
    }

    async fn write_if(&self, write: Arc<ConditionalRows>) -> Result<bool, WriteError> {
        self.check()?;
        let is_written = self.writes.write_if(write).await?;
        self.count
            .fetch_add(usize::from(is_written), Ordering::SeqCst);
        Ok(is_written)
    }

    fn spawn(&self, writer: BoxFuture<'static, ()>) {
        self.writes.spawn(writer);
    }
}

#[tokio::test]
async fn a_turn_is_two_writes_and_a_round_of_tools_two_more() {
    let mut fixture = Fixture::new().await;
    let counted = CountedWrites::of(&mut fixture);
    let process = Process::start(&fixture).await;
    let reply = || Script::deltas(["Done."]);
    for (script, expected) in [
        (reply(), 2),
        (reply().calls([LOOK, ACT, LOOK]), 4),
        (reply().calls([ACT]).calls([LOOK, LOOK]), 6),
    ] {
        counted.count.store(0, Ordering::SeqCst);
        let accepted = process.send(&fixture, None, &script).await;
        let accepted = accepted
            .map_err(|error| error.to_string())
            .expect("it begins");
        let chatted = in_time(accepted.reply()).await.expect("a reply");
        assert_eq!(chatted.reply.message, "Done.");
        assert_eq!(counted.count.load(Ordering::SeqCst), expected);
    }
    assert_eq!(fixture.tools.called().len(), 6);
}

/// The tool has acted, and the model must not go on as long as that could be forgotten.
#[tokio::test]
async fn a_turn_waits_for_a_store_that_is_unavailable_when_a_tool_returns() {
    let mut fixture = Fixture::new().await;
    let counted = CountedWrites::of(&mut fixture);
    let process = Process::start(&fixture).await;
    fixture.tools.hold();
    let script = Script::deltas(["Done."]).calls([ACT]);
    let accepted = process.send(&fixture, None, &script).await;
    let accepted = accepted
        .map_err(|error| error.to_string())
        .expect("it begins");
    let id = accepted.turn_id;
    in_time(async {
        while fixture.tools.called().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    counted.is_unavailable.store(true, Ordering::SeqCst);
    fixture.tools.release(1);
    in_time(async {
        while counted.rejected.load(Ordering::SeqCst) < 3 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    assert_eq!(process.engine.asked(), 1);
    let turn = fixture.turn(id).await.turn;
    assert_eq!(
        (turn.status, turn.tool_calls),
        (TurnStatus::InProgress, vec![])
    );
    counted.is_unavailable.store(false, Ordering::SeqCst);
    let chatted = in_time(accepted.reply()).await.expect("a reply");
    assert_eq!(chatted.reply.message, "Done.");
    assert_eq!(
        (process.engine.asked(), fixture.tools.called().len()),
        (2, 1)
    );
    let calls = fixture.turn(id).await.turn.tool_calls;
    assert_eq!((calls.len(), &*calls[0].status), (1, ToolCall::OK));
}
