//! What is told of a turn, and what is kept of it, when somebody cancels it while it speaks.

use std::sync::Arc;

use application::{
    TurnError,
    chat::{AcceptedTurn, ReplyPiece, TurnEvent},
};
use domain::{FinishReason, Turn, TurnId, TurnStatus};
use scripted_engine::Script;
use tokio::sync::Notify;

use crate::{
    held::{Held, Lost},
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
    told: tokio::task::JoinHandle<Vec<TurnEvent>>,
    cancellation: tokio::task::JoinHandle<Result<Turn, TurnError>>,
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
        let cancellation = process
            .tasks
            .spawn(async move { cancelling.turns.cancel(&caller(), turn).await });
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
    async fn ended(self) -> (Turn, String, TurnEvent) {
        self.store.go_on.notify_one();
        let cancelled = in_time(self.cancellation).await.expect("no panic");
        let turn = cancelled.expect("the store answers");
        let (text, end) = all_told(self.told).await;
        (turn, text, end)
    }

    /// The store fails the cancellation that waits for it.
    async fn fails(&mut self, lost: Lost) {
        *self.store.lost.lock().expect("nothing panics under it") = Some(lost);
        self.store.go_on.notify_one();
        let cancelled = in_time(&mut self.cancellation).await.expect("no panic");
        assert!(
            matches!(cancelled, Err(TurnError::Store(_))),
            "{cancelled:?}"
        );
    }
}

/// The text that was told, and the end.
async fn all_told(told: tokio::task::JoinHandle<Vec<TurnEvent>>) -> (String, TurnEvent) {
    let mut told = in_time(told).await.expect("no panic");
    let end = told.pop().expect("an end");
    let text = told.into_iter().filter_map(|signal| match signal {
        TurnEvent::Reply(ReplyPiece::Delta(delta)) => Some(delta.text),
        _ => None,
    });
    (text.collect(), end)
}

async fn all(asked: AcceptedTurn) -> Vec<TurnEvent> {
    let mut events = asked.events();
    let mut all = Vec::new();
    while let Some(signal) = events.next().await {
        all.push(signal.expect("the store answers"));
    }
    all
}

/// Waits until the engine has said so much.
async fn until_said(process: &Process, turn: TurnId, text: &str) {
    let live = process.runner.live().get(turn).expect("it runs here");
    let woken = Arc::new(Notify::new());
    live.listen(&woken);
    while live.progress().reply.text != text {
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
    assert!(matches!(end, TurnEvent::Cancelled { .. }), "{end:?}");
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
    assert!(matches!(end, TurnEvent::Completed(reply) if reply.message == "Well."));
}

#[tokio::test]
async fn a_cancellation_that_the_store_did_not_take_keeps_nothing_from_being_told() {
    let script = Script::deltas(["Well."]).gate("more").hang();
    let mut cancelling = Cancelling::of(&script, "").await;
    cancelling.process.engine.open("more");
    until_said(&cancelling.process, cancelling.turn, "Well.").await;
    let live = cancelling.process.runner.live().get(cancelling.turn);
    let (live, woken) = (live.expect("it runs here"), Arc::new(Notify::new()));
    assert_eq!(live.progress().text(), "");
    live.listen(&woken);
    cancelling.fails(Lost::Question).await;
    while live.progress().text() != "Well." {
        in_time(woken.notified()).await;
    }

    cancelling.store.go_on.notify_one();
    let (turns, caller) = (&cancelling.process.turns, caller());
    let cancelled = turns.cancel(&caller, cancelling.turn);
    let turn = in_time(cancelled).await.expect("the store answers");
    let reply = turn.reply.expect("what was said");
    let (text, end) = all_told(cancelling.told).await;
    assert_eq!((reply.content.as_str(), text.as_str()), ("Well.", "Well."));
    assert!(matches!(end, TurnEvent::Cancelled { .. }), "{end:?}");
}

#[tokio::test]
async fn a_cancellation_that_was_stored_without_an_answer_ends_the_turn() {
    let script = Script::deltas(["Well."]).gate("more").hang();
    let mut cancelling = Cancelling::of(&script, "").await;
    cancelling.process.engine.open("more");
    until_said(&cancelling.process, cancelling.turn, "Well.").await;
    cancelling.fails(Lost::Answer).await;
    let (text, end) = all_told(cancelling.told).await;
    assert_eq!(text, "");
    assert!(matches!(end, TurnEvent::Cancelled { .. }), "{end:?}");
}
