//! The text that clients receive and the store keeps when a turn is cancelled during its reply.

use std::{sync::Arc, time::Duration};

use application::{TurnError, chat::AcceptedTurn, live_turns::Interest};
use contract::fixture::stamp;
use domain::{FinishReason, Turn, TurnEvent, TurnId, TurnStatus};
use scripted_engine::Script;
use tokio::{sync::Notify, time::timeout};
use writes::DeleteOutcome;

use crate::{
    fixture::Fixture,
    gated_writes::{Failure, GatedWrites},
    process::{Process, caller},
    sweep::in_time,
};

/// A turn that is being cancelled. The store waits for the test.
struct Cancelling {
    /// The owner of the store's folder.
    _world: Fixture,
    process: Arc<Process>,
    store: Arc<GatedWrites>,
    turn: TurnId,
    events: tokio::task::JoinHandle<Vec<TurnEvent>>,
    cancellation: tokio::task::JoinHandle<Result<Turn, TurnError>>,
}

impl Cancelling {
    /// Starts a turn and cancels it as soon as its engine has produced `before`. The engine
    /// produces the text behind the gate `more` later.
    async fn of(script: &Script, before: &str) -> Self {
        let mut fixture = Fixture::new().await;
        let store = GatedWrites::gate_cancellations(&mut fixture);
        let process = Arc::new(Process::start(&fixture).await);
        let accepted = process.send(&fixture, None, script).await;
        let accepted = accepted
            .map_err(|error| error.to_string())
            .expect("it begins");
        let turn = accepted.turn_id;
        let events = process.tasks.spawn(all(accepted));
        until_produced(&process, turn, before).await;
        let cancelling = Arc::clone(&process);
        let cancellation = process
            .tasks
            .spawn(async move { cancelling.turns.cancel(&caller(), turn).await });
        in_time(store.arrived.notified()).await;
        Self {
            _world: fixture,
            process,
            store,
            turn,
            events,
            cancellation,
        }
    }

    /// Lets the cancellation continue. Returns the final turn, the text sent and the final event.
    async fn ended(self) -> (Turn, String, TurnEvent) {
        self.store.proceed.notify_one();
        let cancelled = in_time(self.cancellation).await.expect("no panic");
        let turn = cancelled.expect("the store answers");
        let (text, end) = text_and_end(self.events).await;
        (turn, text, end)
    }

    /// Makes the store fail the cancellation that waits for it.
    async fn fails(&mut self, failure: Failure) {
        *self.store.failure.lock() = Some(failure);
        self.store.proceed.notify_one();
        let cancelled = in_time(&mut self.cancellation).await.expect("no panic");
        assert!(
            matches!(cancelled, Err(TurnError::Store(_))),
            "{cancelled:?}"
        );
    }
}

/// Returns the text that was sent and the final event.
async fn text_and_end(events: tokio::task::JoinHandle<Vec<TurnEvent>>) -> (String, TurnEvent) {
    let mut events = in_time(events).await.expect("no panic");
    let end = events.pop().expect("an end");
    let text = events.into_iter().filter_map(|event| match event {
        TurnEvent::Delta(delta) => Some(delta.text),
        _ => None,
    });
    (text.collect(), end)
}

async fn all(accepted: AcceptedTurn) -> Vec<TurnEvent> {
    let mut events = accepted.events();
    let mut all = Vec::new();
    while let Some(event) = events.next().await {
        all.push(event.expect("the store answers"));
    }
    all
}

/// Waits until the engine has produced this text.
async fn until_produced(process: &Process, turn: TurnId, text: &str) {
    let live = process.live.get(turn).expect("it runs here");
    let woken = Arc::new(Notify::new());
    live.listen(&woken, Interest::Reply);
    while live.progress().reply.text != text {
        in_time(woken.notified()).await;
    }
}

/// The cancellation itself continues.
#[tokio::test]
async fn a_caller_waits_at_most_five_seconds_for_a_cancellation() {
    let script = Script::deltas(["Well."]).hang();
    let mut cancelling = Cancelling::of(&script, "Well.").await;
    let limit = Duration::from_secs(5);
    let cancelled = timeout(limit, &mut cancelling.cancellation).await;
    let cancelled = cancelled.expect("an answer in time").expect("no panic");
    assert!(
        matches!(cancelled, Err(TurnError::Store(_))),
        "{cancelled:?}"
    );
    cancelling.store.proceed.notify_one();
    let (text, end) = text_and_end(cancelling.events).await;
    assert_eq!(text, "Well.");
    assert!(matches!(end, TurnEvent::Cancelled(_)), "{end:?}");
}

#[tokio::test]
async fn text_produced_during_a_cancellation_is_neither_sent_nor_stored() {
    let script = Script::deltas(["Well."]).gate("more").hang();
    let cancelling = Cancelling::of(&script, "").await;
    cancelling.process.engine.open("more");
    until_produced(&cancelling.process, cancelling.turn, "Well.").await;
    let (turn, text, end) = cancelling.ended().await;
    assert_eq!((turn.status, turn.reply), (TurnStatus::Cancelled, None));
    assert_eq!(text, "");
    assert!(matches!(end, TurnEvent::Cancelled(_)), "{end:?}");
}

#[tokio::test]
async fn text_sent_before_a_cancellation_is_stored() {
    let script = Script::deltas(["Well, ", "now"]).hang();
    let (turn, text, _) = Cancelling::of(&script, "Well, now").await.ended().await;
    let reply = turn.reply.expect("the partial reply");
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
    let live = cancelling.process.live.get(cancelling.turn);
    let (live, woken) = (live.expect("it runs here"), Arc::new(Notify::new()));
    live.listen(&woken, Interest::Reply);
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
    until_produced(&cancelling.process, cancelling.turn, "Well.").await;
    let live = cancelling.process.live.get(cancelling.turn);
    let (live, woken) = (live.expect("it runs here"), Arc::new(Notify::new()));
    assert_eq!(live.progress().text(), "");
    live.listen(&woken, Interest::Reply);
    cancelling.fails(Failure::Request).await;
    while live.progress().text() != "Well." {
        in_time(woken.notified()).await;
    }

    cancelling.store.proceed.notify_one();
    let (turns, caller) = (&cancelling.process.turns, caller());
    let cancelled = turns.cancel(&caller, cancelling.turn);
    let turn = in_time(cancelled).await.expect("the store answers");
    let reply = turn.reply.expect("the partial reply");
    let (text, end) = text_and_end(cancelling.events).await;
    assert_eq!((reply.content.as_str(), text.as_str()), ("Well.", "Well."));
    assert!(matches!(end, TurnEvent::Cancelled(_)), "{end:?}");
}

#[tokio::test]
async fn a_stored_cancellation_whose_response_is_lost_ends_the_turn() {
    let script = Script::deltas(["Well."]).gate("more").hang();
    let mut cancelling = Cancelling::of(&script, "").await;
    cancelling.process.engine.open("more");
    until_produced(&cancelling.process, cancelling.turn, "Well.").await;
    cancelling.fails(Failure::Response).await;
    let (text, end) = text_and_end(cancelling.events).await;
    assert_eq!(text, "");
    assert!(matches!(end, TurnEvent::Cancelled(_)), "{end:?}");
}

#[tokio::test]
async fn a_conversation_that_is_deleted_meanwhile_has_no_open_turns_to_cancel() {
    let mut fixture = Fixture::new().await;
    let store = GatedWrites::gate_cancellations(&mut fixture);
    let process = Process::start(&fixture).await;
    let (caller, conversation) = (caller(), fixture.conversation.id);
    let script = Script::deltas(["Well."]).hang();
    let sent = process.send(&fixture, Some(conversation), &script).await;
    assert!(sent.is_ok());

    let cancelling = process.turns.cancel_open(&caller, conversation);
    let deleting = async {
        store.arrived.notified().await;
        let (conversations, stamp) = (&fixture.storage.conversations, stamp(1));
        let deleted = conversations.delete(&caller.tenant, conversation, None, &stamp);
        let deleted = deleted.await.expect("the store answers");
        store.proceed.notify_one();
        deleted
    };
    let (cancelled, deleted) =
        in_time(Box::pin(async { tokio::join!(cancelling, deleting) })).await;
    assert!(matches!(deleted, DeleteOutcome::Deleted(_)), "{deleted:?}");
    assert!(cancelled.is_ok(), "{cancelled:?}");
    let again = process.turns.cancel_open(&caller, conversation).await;
    assert!(again.is_ok(), "{again:?}");
}
