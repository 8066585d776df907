//! The model's reasoning.

use domain::{
    ModelResponse, Problem, ProblemCode, Reasoning, ShowReasoning, TurnId, TurnStep,
    turn_step::reasoning,
};
use writes::{
    BeginTurn, CancelOutcome, CancelTurn, FinishTurn, SuspendOutcome, SuspendTurn, TurnEnding,
};

use crate::{Store, fixture, lookup, results::ResultExt as _, setup, waiting_turns::suspend};

fn shown(text: &str, shown_to: ShowReasoning) -> Reasoning {
    Reasoning {
        text: text.to_owned(),
        shown_to,
    }
}

async fn stored(storage: &Store, turn: TurnId) -> Option<Reasoning> {
    let turn = lookup::turn(storage, turn).await;
    turn.expect("the turn is kept").reasoning
}

/// It is stored with the end of a turn, also of one that fails, with those who see it.
pub async fn reasoning_is_stored_with_the_end_of_a_turn(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let problem = Problem::new(ProblemCode::EngineFailed);
    let ends = [
        (
            TurnEnding::Completed(fixture::reply(1)),
            Some(shown("\"Hm\"\n🦊", ShowReasoning::Staff)),
        ),
        (
            TurnEnding::failed(problem),
            Some(shown("So.", ShowReasoning::Everyone)),
        ),
        (TurnEnding::Completed(fixture::reply(3)), None),
    ];
    for (number, (ending, reasoning)) in (1..).zip(ends) {
        let target = fixture::existing(&conversation, i64::from(number) - 1);
        let begin = fixture::begin_turn(number, &agent, target);
        setup::start_turn(storage, &begin).await;
        let finish = FinishTurn {
            reasoning: reasoning.clone(),
            ..fixture::finish(&begin, ending)
        };
        setup::finish_turn(storage, finish).await;
        assert_eq!(stored(storage, begin.turn_id).await, reasoning);
    }
}

/// A turn that waits has it, and keeps it if it ends without more. A caller that does not run the turn, and cancels
/// it, stores what its journal has.
pub async fn reasoning_is_kept_by_turns_that_wait_or_are_cancelled(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
    let so_far = Some(shown("Hm.", ShowReasoning::Everyone));
    let waits = SuspendTurn {
        reasoning: so_far.clone(),
        ..suspend(&begin, &[])
    };
    let suspended = storage.writes.write(waits).await.success();
    assert!(matches!(suspended, SuspendOutcome::Waits(_)));
    assert_eq!(stored(storage, begin.turn_id).await, so_far);
    cancel(storage, &begin).await;
    assert_eq!(stored(storage, begin.turn_id).await, so_far);

    let begin = fixture::begin_turn(2, &agent, fixture::existing(&conversation, 1));
    setup::start_turn(storage, &begin).await;
    let steps: Vec<_> = ["One.", "Two."].map(response).into();
    let journal = fixture::record_steps(&begin, steps.iter().cloned().enumerate().collect());
    assert!(storage.writes.write(journal).await.success().is_recorded());
    cancel(storage, &begin).await;
    let both = Some(shown("One.\n\nTwo.", ShowReasoning::Everyone));
    assert_eq!(stored(storage, begin.turn_id).await, both);
    assert_eq!(reasoning(&steps), both);
}

fn response(text: &str) -> TurnStep {
    TurnStep::Model(ModelResponse {
        reasoning: Some(shown(text, ShowReasoning::Everyone)),
        ..ModelResponse::default()
    })
}

async fn cancel(storage: &Store, begin: &BeginTurn) {
    let cancel = CancelTurn {
        tenant: begin.tenant.clone(),
        turn_id: begin.turn_id,
        conversation_id: begin.target.id(),
        partial: None,
        reasoning: None,
        node: None,
        stamp: fixture::stamp(900),
    };
    let cancelled = storage.writes.write(cancel).await.success();
    assert!(matches!(cancelled, CancelOutcome::Cancelled { .. }));
}
