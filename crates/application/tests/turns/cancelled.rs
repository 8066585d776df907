//! What is told of a turn, and what is kept of it, when somebody cancels it while it speaks.

use std::sync::Arc;

use application::chat::{Asked, ReplyPiece, TurnSignal};
use domain::{FinishReason, Turn, TurnId, TurnStatus};
use scripted_engine::Script;
use tokio::sync::Notify;

use crate::{
    held::Held,
    process::{Process, caller},
    recovered::in_time,
    world::World,
};

/// A turn that somebody cancels; the store waits for the test.
struct Cancelling {
    /// Holds the store's folder.
    _world: World,
    process: Arc<Process>,
    store: Arc<Held>,
    turn: TurnId,
    told: tokio::task::JoinHandle<Vec<TurnSignal>>,
    cancellation: tokio::task::JoinHandle<Turn>,
}

impl Cancelling {
    /// The turn says `before` before anybody cancels it, and what is behind the gate `more` after.
    async fn of(script: &Script, before: &str) -> Self {
        let mut world = World::new().await;
        let store = Held::over(&world.storage.turns);
        world.storage.turns = store.clone();
        let process = Arc::new(Process::start(&world).await);
        let asked = process.ask(&world, None, script).await;
        let asked = asked.map_err(|error| error.to_string()).expect("it begins");
        let turn = asked.turn_id;
        let told = process.tasks.spawn(all(asked));
        until_said(&process, turn, before).await;
        let cancelling = Arc::clone(&process);
        let cancellation = process.tasks.spawn(async move {
            let cancelled = cancelling.turns.cancel(&caller(), turn).await;
            cancelled.expect("the store answers")
        });
        in_time(store.come.notified()).await;
        Self {
            _world: world,
            process,
            store,
            turn,
            told,
            cancellation,
        }
    }

    /// The turn as it ended, and the text that was told.
    async fn ended(self) -> (Turn, String, TurnSignal) {
        self.store.go_on.notify_one();
        let turn = in_time(self.cancellation).await.expect("no panic");
        let mut told = in_time(self.told).await.expect("no panic");
        let end = told.pop().expect("an end");
        let text = told.into_iter().filter_map(|signal| match signal {
            TurnSignal::Reply(ReplyPiece::Delta(delta)) => Some(delta.text),
            _ => None,
        });
        (turn, text.collect(), end)
    }
}

async fn all(asked: Asked) -> Vec<TurnSignal> {
    let mut signals = asked.signals();
    let mut all = Vec::new();
    while let Some(signal) = signals.next().await {
        all.push(signal.expect("the store answers"));
    }
    all
}

/// Waits until the engine has said so much.
async fn until_said(process: &Process, turn: TurnId, text: &str) {
    let live = process.runner.live().get(turn).expect("it runs here");
    let woken = Arc::new(Notify::new());
    live.listen(&woken);
    while live.progress().said.text != text {
        in_time(woken.notified()).await;
    }
}

#[tokio::test]
async fn what_is_said_while_it_is_cancelled_is_neither_told_nor_kept() {
    let script = Script::deltas(["Well."]).gate("more").hang();
    let cancelling = Cancelling::of(&script, "").await;
    cancelling.process.engine.open("more");
    until_said(&cancelling.process, cancelling.turn, "Well.").await;
    let (turn, text, end) = cancelling.ended().await;
    assert_eq!((turn.status, turn.reply), (TurnStatus::Cancelled, None));
    assert_eq!(text, "");
    assert!(matches!(end, TurnSignal::Cancelled { .. }), "{end:?}");
}

#[tokio::test]
async fn what_was_told_before_it_is_cancelled_is_kept() {
    let script = Script::deltas(["Well, ", "now"]).hang();
    let (turn, text, _) = Cancelling::of(&script, "Well, now").await.ended().await;
    let reply = turn.reply.expect("what was said");
    assert_eq!(
        (reply.content.as_str(), text.as_str()),
        ("Well, now", "Well, now")
    );
    assert_eq!(reply.finish_reason, Some(FinishReason::Cancelled));
}

#[tokio::test]
async fn a_turn_that_ends_before_it_is_cancelled_is_told_whole() {
    let script = Script::deltas(["Well."]).gate("more");
    let cancelling = Cancelling::of(&script, "").await;
    cancelling.process.engine.open("more");
    let live = cancelling.process.runner.live().get(cancelling.turn);
    let (live, woken) = (live.expect("it runs here"), Arc::new(Notify::new()));
    live.listen(&woken);
    while !live.has_ended() {
        in_time(woken.notified()).await;
    }
    let (turn, text, end) = cancelling.ended().await;
    assert_eq!(turn.status, TurnStatus::Completed);
    assert_eq!(text, "Well.");
    assert!(matches!(end, TurnSignal::Completed(reply) if reply.message == "Well."));
}
