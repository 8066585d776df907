use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use domain::{NodeId, Problem, ProblemCode, TurnEvent, TurnStatus};
use proptest::{collection::vec, prelude::*};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::{
    super::{
        live_turn::LiveTurn, ownership::TurnOwnership, progress::TurnOutcome, turn_events::*,
        turn_waiter::TurnWaiter,
    },
    fixture::{StoredTurn, started, subject},
};
use crate::engines::ReplySink as _;

/// A step of a test's turn.
#[derive(Debug, Clone)]
enum Step {
    /// The engine produces text.
    Text(String),
    /// Yields to other tasks this number of times.
    Yield(usize),
    /// Another reader begins to follow the turn.
    Follow,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => "[aß€🦀]{0,3}".prop_map(Step::Text),
        3 => (0usize..4).prop_map(Step::Yield),
        1 => Just(Step::Follow),
    ];
    vec(step, 0..24)
}

fn outcomes() -> impl Strategy<Value = TurnOutcome> {
    prop_oneof![
        Just(TurnOutcome::Cancelled),
        Just(TurnOutcome::Failed(Problem::new(ProblemCode::EngineFailed))),
    ]
}

/// Returns all events of a turn, as a reader receives them.
async fn follow(live: Arc<LiveTurn>) -> Vec<TurnEvent> {
    let turns = StoredTurn::new(Some(TurnStatus::InProgress));
    let mut events =
        TurnEventStream::new(TurnWaiter::new(live, turns), domain::Audience::Staff, None);
    let mut received = Vec::new();
    while let Some(event) = events.next().await {
        received.push(event.expect("the store is not read"));
    }
    assert!(events.next().await.is_none(), "nothing comes after the end");
    received
}

/// Plays a turn. Returns its text, and the events that each of its readers has received.
async fn play(
    waits: Option<usize>,
    steps: Vec<Step>,
    outcome: TurnOutcome,
) -> (String, Vec<Vec<TurnEvent>>) {
    let live = Arc::new(LiveTurn::new(subject(), Weak::new()));
    let (mut followers, mut text) = (JoinSet::new(), String::new());
    followers.spawn(follow(Arc::clone(&live)));
    if let Some(yields) = waits {
        live.mark_queued();
        yield_times(yields).await;
    }
    let ownership = TurnOwnership::new(Arc::clone(&live), NodeId::new(Uuid::from_u128(9)));
    live.mark_started(started());
    for step in steps {
        match step {
            Step::Text(piece) => {
                text.push_str(&piece);
                live.with_reply(|reply| reply.text.push_str(&piece));
                live.notify();
            }
            Step::Yield(times) => yield_times(times).await,
            Step::Follow => {
                followers.spawn(follow(Arc::clone(&live)));
            }
        }
    }
    live.end(outcome);
    drop(ownership);
    followers.spawn(follow(live));
    // Time is paused, so the time-out expires at once if a wake-up was lost.
    let received = tokio::time::timeout(Duration::from_mins(10), followers.join_all()).await;
    (text, received.expect("every reader receives the end"))
}

async fn yield_times(times: usize) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}

/// Returns the text of the received pieces, which must be contiguous.
fn text_of(received: &[TurnEvent]) -> String {
    let mut text = String::new();
    for event in received {
        if let TurnEvent::Delta(delta) = event {
            assert_eq!(
                (delta.from, delta.to),
                (text.len(), text.len() + delta.text.len())
            );
            assert_ne!(delta.text, "", "no piece is empty");
            text.push_str(&delta.text);
        }
    }
    text
}

proptest! {
    #[test]
    fn every_reader_receives_each_byte_once_and_one_end(
        waits in proptest::option::of(0usize..3),
        steps in steps(),
        outcome in outcomes(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let (text, readers) = runtime.block_on(play(waits, steps, outcome.clone()));
        for received in readers {
            prop_assert_eq!(&text_of(&received), &text);
            let is = |kind: fn(&TurnEvent) -> bool| received.iter().filter(|it| kind(it)).count();
            let queued = is(|it| matches!(it, TurnEvent::Queued(_)));
            prop_assert!(queued <= usize::from(waits.is_some()));
            prop_assert_eq!(is(|it| matches!(it, TurnEvent::Started(_))), 1);
            prop_assert!(matches!(received[queued], TurnEvent::Started(_)));
            let ends = is(|it| {
                matches!(it, TurnEvent::Failed(_) | TurnEvent::Cancelled(_))
            });
            prop_assert_eq!(ends, 1);
            let end = received.last().unwrap();
            prop_assert_eq!(
                matches!(end, TurnEvent::Cancelled(_)),
                outcome == TurnOutcome::Cancelled
            );
        }
    }
}
