//! Outcomes of writes that share one transaction.

use domain::EventType;
use ports::RepositoryError;
use tokio::task::JoinSet;
use writes::{ConversationTarget, RecordTurnOutcome};

use super::concurrent_turns::count_of;
use crate::{Store, fixture, lookup, setup};

/// Valid and invalid writes of many conversations at the same time: each has the outcome that it
/// would have in a transaction of its own.
pub async fn every_write_of_a_group_has_its_own_outcome(storage: &Store) {
    let (agent, _) = setup::chat(storage).await;
    let mut stale = agent.clone();
    stale.version = 9;
    let completed_turn = |number: u32| {
        let conversation = fixture::conversation(number + 1_000, agent.id);
        let agent = match number % 4 {
            1 => &fixture::agent(404),
            2 => &stale,
            _ => &agent,
        };
        let target = match number % 4 {
            3 => fixture::existing(&conversation, 0),
            _ => ConversationTarget::New(conversation),
        };
        fixture::completed_turn(number, agent, target)
    };
    let mut writers = JoinSet::new();
    for number in 0..64 {
        let (storage, turn) = (storage.clone(), completed_turn(number));
        writers.spawn(async move { (number, storage.turns.record_completed_turn(turn).await) });
    }
    for (number, outcome) in writers.join_all().await {
        let is_right = matches!(
            (number % 4, &outcome),
            (0, Ok(RecordTurnOutcome::Recorded { .. }))
                | (1, Ok(RecordTurnOutcome::AgentNotFound))
                | (2, Err(RepositoryError::Stale { .. }))
                | (3, Ok(RecordTurnOutcome::ConversationNotFound))
        );
        assert!(is_right, "turn {number}: {outcome:?}");
        let turn = lookup::turn(storage, fixture::turn_id(number)).await;
        assert_eq!(turn.is_some(), number % 4 == 0, "turn {number}");
    }
    assert_eq!(count_of(storage, EventType::TurnCompleted).await, 16);
}

/// A write that the store cannot represent fails alone and leaves nothing; all others are recorded.
pub async fn an_invalid_write_of_a_group_fails_alone(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let mut writers = JoinSet::new();
    for number in 0..32 {
        let target = ConversationTarget::New(fixture::conversation(number + 1_000, agent.id));
        let mut turn = fixture::completed_turn(number, &agent, target);
        if number % 8 == 3 {
            // Some databases cannot store NUL. The others must store it correctly.
            "before\0after".clone_into(&mut turn.begin.input);
        }
        let storage = storage.clone();
        writers.spawn(async move {
            let input = turn.begin.input.clone();
            (
                number,
                input,
                storage.turns.record_completed_turn(turn).await,
            )
        });
    }
    for (number, input, outcome) in writers.join_all().await {
        let turn = lookup::turn(storage, fixture::turn_id(number)).await;
        match outcome {
            Ok(RecordTurnOutcome::Recorded { .. }) => {
                assert_eq!(turn.map(|turn| turn.input), Some(input));
            }
            Err(_) if input.contains('\0') => assert_eq!(turn, None),
            other => panic!("turn {number}: {other:?}"),
        }
    }
}
