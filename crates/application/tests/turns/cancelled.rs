//! The text that clients receive and the store keeps when a turn is cancelled during its reply.

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

/// A turn that is being cancelled. The store waits for the test.
struct Cancelling {
    /// The owner of the store's folder.
    _world: World,
    process: Arc<Process>,
    store: Arc<Held>,
    turn: TurnId,
    told: tokio::task::JoinHandle<Vec<TurnEvent>>,
    cancellation: tokio::task::JoinHandle<Result<Turn, TurnError>>,
}

impl Cancelling {
    /// Starts a turn and cancels it as soon as its engine has produced `before`. The engine
    /// produces the text behind the gate `more` later.
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

    /// Lets the cancellation continue. Returns the final turn, the text sent and the final event.
    async fn ended(self) -> (Turn, String, TurnEvent) {
        self.store.go_on.notify_one();
        let cancelled = in_time(self.cancellation).await.expect("no panic");
        let turn = cancelled.expect("the store answers");
        let (text, end) = all_told(self.told).await;
        (turn, text, end)
    }

    /// Makes the store fail the cancellation that waits for it.
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

/// Returns the text that was sent and the final event.
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

/// Waits until the engine has produced this text.
async fn until_said(process: &Process, turn: TurnId, text: &str) {
    let live = process.runner.live().get(turn).expect("it runs here");
    let woken = Arc::new(Notify::new());
    live.listen(&woken);
    while live.progress().reply.text != text {
        in_time(woken.notified()).await;
    }
}

#[tokio::test]
async fn text_produced_during_a_cancellation_is_neither_sent_nor_stored() {
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
async fn text_sent_before_a_cancellation_is_stored() {
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
async fn a_turn_that_ends_before_it_is_cancelled_is_sent_completely() {
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
async fn a_failed_cancellation_withholds_no_text() {
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
async fn a_stored_cancellation_whose_response_is_lost_ends_the_turn() {
    let script = Script::deltas(["Well."]).gate("more").hang();
    let mut cancelling = Cancelling::of(&script, "").await;
    cancelling.process.engine.open("more");
    until_said(&cancelling.process, cancelling.turn, "Well.").await;
    cancelling.fails(Lost::Answer).await;
    let (text, end) = all_told(cancelling.told).await;
    assert_eq!(text, "");
    assert!(matches!(end, TurnEvent::Cancelled { .. }), "{end:?}");
}
