use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use domain::{NodeId, Problem, ProblemCode, TurnStatus};
use proptest::{collection::vec, prelude::*};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::{
    super::{
        engine_chain::ReplySink as _,
        live_turn::{LiveTurn, TurnOutcome},
        runner::TurnOwnership,
        turn_events::*,
        turn_waiter::TurnWaiter,
    },
    stored_turn::{StoredTurn, started, subject},
};

/// A step of a test's turn.
#[derive(Debug, Clone)]
enum Step {
    /// The engine says more.
    Say(String),
    /// Others get to do something, so many times.
    Rest(usize),
    /// Somebody begins to follow the turn.
    Join,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => "[aß€🦀]{0,3}".prop_map(Step::Say),
        3 => (0usize..4).prop_map(Step::Rest),
        1 => Just(Step::Join),
    ];
    vec(step, 0..24)
}

fn outcomes() -> impl Strategy<Value = TurnOutcome> {
    prop_oneof![
        Just(TurnOutcome::Cancelled),
        Just(TurnOutcome::Failed(Problem::new(ProblemCode::EngineFailed))),
    ]
}

/// All that somebody is told who follows a turn from here on.
async fn all(live: Arc<LiveTurn>) -> Vec<TurnEvent> {
    let turns = StoredTurn::new(Some(TurnStatus::InProgress));
    let mut events = TurnEventStream::new(TurnWaiter::new(live, turns));
    let mut told = Vec::new();
    while let Some(event) = events.next().await {
        told.push(event.expect("nothing is asked of a store"));
    }
    assert!(events.next().await.is_none(), "nothing comes after the end");
    told
}

/// Plays a turn; answers what was said, and what each of those was told who followed it.
async fn play(
    waits: Option<usize>,
    steps: Vec<Step>,
    outcome: TurnOutcome,
) -> (String, Vec<Vec<TurnEvent>>) {
    let live = Arc::new(LiveTurn::new(subject(), Weak::new()));
    let (mut followers, mut text) = (JoinSet::new(), String::new());
    followers.spawn(all(Arc::clone(&live)));
    if let Some(rests) = waits {
        live.queued();
        rest(rests).await;
    }
    let ownership = TurnOwnership::new(Arc::clone(&live), NodeId::new(Uuid::from_u128(9)));
    live.started(started());
    for step in steps {
        match step {
            Step::Say(said) => {
                text.push_str(&said);
                live.with_reply(|reply| reply.text.push_str(&said));
                live.notify();
            }
            Step::Rest(times) => rest(times).await,
            Step::Join => {
                followers.spawn(all(Arc::clone(&live)));
            }
        }
    }
    live.end(outcome);
    drop(ownership);
    followers.spawn(all(live));
    // Nothing else is to be waited for, so that this comes at once where a wake-up was lost.
    let told = tokio::time::timeout(Duration::from_mins(10), followers.join_all()).await;
    (text, told.expect("everybody is told the end"))
}

async fn rest(times: usize) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}

/// The text that was told, if its pieces follow each other.
fn text_of(told: &[TurnEvent]) -> String {
    let mut text = String::new();
    for signal in told {
        if let TurnEvent::Reply(ReplyPiece::Delta(delta)) = signal {
            assert_eq!(
                (delta.from, delta.to),
                (text.len(), text.len() + delta.text.len())
            );
            assert_ne!(delta.text, "", "every piece says something");
            text.push_str(&delta.text);
        }
    }
    text
}

proptest! {
    #[test]
    fn everybody_is_told_each_byte_once_and_one_end(
        waits in proptest::option::of(0usize..3),
        steps in steps(),
        outcome in outcomes(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let (text, told) = runtime.block_on(play(waits, steps, outcome.clone()));
        for told in told {
            prop_assert_eq!(&text_of(&told), &text);
            let is = |kind: fn(&TurnEvent) -> bool| told.iter().filter(|it| kind(it)).count();
            let queued = is(|it| matches!(it, TurnEvent::Queued { .. }));
            prop_assert!(queued <= usize::from(waits.is_some()));
            prop_assert_eq!(is(|it| matches!(it, TurnEvent::Started(_))), 1);
            prop_assert!(matches!(told[queued], TurnEvent::Started(_)));
            let ends = is(|it| {
                matches!(it, TurnEvent::Failed { .. } | TurnEvent::Cancelled { .. })
            });
            prop_assert_eq!(ends, 1);
            let end = told.last().unwrap();
            prop_assert_eq!(
                matches!(end, TurnEvent::Cancelled { .. }),
                outcome == TurnOutcome::Cancelled
            );
        }
    }
}
