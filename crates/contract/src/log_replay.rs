//! Clients that replay the log have the messages of the store, after any sequence of turns.

mod sequence;

use std::cell::Cell;

use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, TestRunner},
};
use tokio::runtime::Handle;

use self::sequence::Sequence;
use crate::{Store, log_client::LogClient, message_model::Start, setup};

const CASES: u32 = 24;
const MAX_STEPS: usize = 14;

/// A step of a user.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A turn.
    Turn(Start, End),
    /// A fork up to one of the messages. The next steps take place there if `is_entered`.
    Fork { message: usize, is_entered: bool },
}

/// The end of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It was recorded as a completed turn.
    Recorded,
    Completed,
    /// It is completed while another message waits, whose turn is completed next.
    CompletedBeforeAnother,
    Failed,
    Cancelled {
        has_partial_reply: bool,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let start = prop_oneof![
        3 => Just(Start::Message),
        2 => (0..100_usize).prop_map(Start::Edit),
        2 => (0..100_usize).prop_map(Start::Regenerate),
        3 => Just(Start::Retry),
    ];
    let end = prop_oneof![
        2 => Just(End::Recorded),
        2 => Just(End::Completed),
        1 => Just(End::CompletedBeforeAnother),
        3 => Just(End::Failed),
        2 => any::<bool>().prop_map(|has_partial_reply| End::Cancelled { has_partial_reply }),
    ];
    let fork = (0..100_usize, any::<bool>());
    let step = prop_oneof![
        9 => (start, end).prop_map(|(start, end)| Step::Turn(start, end)),
        1 => fork.prop_map(|(message, is_entered)| Step::Fork { message, is_entered }),
    ];
    vec(step, 1..=MAX_STEPS)
}

async fn play(storage: &Store, number: u32, steps: Vec<Step>) {
    let mut sequence = Sequence::create(storage, number).await;
    for step in steps {
        sequence.run(step).await;
        sequence.check().await;
    }
    sequence.client = LogClient::default();
    sequence.check().await;
}

/// After any sequence of messages, edits, regenerations, failures, retries, cancellations and forks,
/// the store has the messages that a list would have. A client that replays the log has them, too,
/// both as the log grows and from its start.
pub async fn a_client_that_replays_the_log_has_the_stored_messages(storage: &Store) {
    setup::node(storage, 1).await;
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    };
    let (runtime, last_number) = (Handle::current(), Cell::new(0));
    let result = tokio::task::block_in_place(|| {
        TestRunner::new(config).run(&steps(), |steps| {
            last_number.set(last_number.get() + 1);
            runtime.block_on(play(storage, last_number.get(), steps));
            Ok(())
        })
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}
