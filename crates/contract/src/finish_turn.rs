//! `TurnRepository::finish_turn`: how a running turn ends.

use domain::{EventType, FinishReason, Message, Problem, Role, Turn, TurnStatus, Usage};
use ports::{BeginTurn, FinishOutcome, FinishTurn, Reply, Storage, TurnEnding};

use crate::{
    answers::{Answer as _, event_count},
    found, given, log, samples,
};

async fn outcome(storage: &Storage, finish: FinishTurn) -> FinishOutcome {
    storage.turns.finish_turn(finish).await.answered()
}

fn completed(question: &BeginTurn, number: u32) -> FinishTurn {
    samples::finish(question, TurnEnding::Completed(samples::reply(number)))
}

fn failed(question: &BeginTurn, problem: Problem) -> FinishTurn {
    samples::finish(question, TurnEnding::failed(problem))
}

/// With an answer: turn completed, the agent's message, every member of both.
pub async fn completes_a_turn_with_its_answer(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = samples::question(7, &agent, samples::existing(&talk, 0));
    given::started(storage, &question).await;
    let running = found::turn(storage, question.turn_id).await;
    let reply = Reply {
        degraded: true,
        finish_reason: FinishReason::ContentFilter,
        usage: Some(Usage {
            input_tokens: 1,
            output_tokens: 0,
        }),
        tool_calls: vec![samples::tool_call()],
        ..samples::reply(7)
    };
    let ending = TurnEnding::Completed(reply.clone());
    given::finished(storage, samples::finish(&question, ending)).await;
    let message = Message {
        id: reply.message_id,
        conversation_id: talk.id,
        turn_id: Some(question.turn_id),
        seq: 2,
        role: Role::Agent,
        content: reply.content,
        created_at: samples::at(17),
        engine: Some(reply.engine.clone()),
        agent_version: Some(1),
        finish_reason: Some(reply.finish_reason),
        usage: reply.usage,
    };
    let expected = Turn {
        status: TurnStatus::Completed,
        reply: Some(message.clone()),
        engine: Some(reply.engine),
        degraded: true,
        finish_reason: Some(reply.finish_reason),
        usage: reply.usage,
        tool_calls: reply.tool_calls,
        finished_at: Some(samples::at(17)),
        ..running.expect("the turn is there")
    };
    assert_eq!(found::turn(storage, question.turn_id).await, Some(expected));
    let messages = found::messages(storage, talk.id).await;
    assert_eq!(messages[1..], [message]);
    let head = found::head(storage, talk.id).await;
    assert_eq!((head.message_count, head.turn_count), (2, 1));
    assert_eq!(head.running_turn, None);
    let talk = found::conversation(storage, talk.id).await;
    let last_message_at = talk.and_then(|talk| talk.last_message_at);
    assert_eq!(last_message_at, Some(samples::at(17)));
}

/// Without an answer: turn failed, its problem kept whole, no message of the agent; what was done
/// all the same is kept.
pub async fn fails_a_turn_with_its_problem(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = samples::question(7, &agent, samples::existing(&talk, 0));
    given::started(storage, &question).await;
    let running = found::turn(storage, question.turn_id).await;
    let problem = Problem {
        instance: Some("/api/chat".to_owned()),
        request_id: Some("r-1".to_owned()),
        errors: vec![domain::Fault::new("/a~1b", domain::FaultCode::TooLong, "ß").into()],
        ..samples::lasting_problem().with_detail("Der Motor schweigt 🤐.")
    };
    let calls = vec![samples::tool_call(), samples::tool_call()];
    let ending = TurnEnding::Failed {
        problem: problem.clone(),
        tool_calls: calls.clone(),
    };
    given::finished(storage, samples::finish(&question, ending)).await;
    let expected = Turn {
        status: TurnStatus::Failed,
        tool_calls: calls,
        error: Some(problem),
        finished_at: Some(samples::at(17)),
        ..running.expect("the turn is there")
    };
    assert_eq!(found::turn(storage, question.turn_id).await, Some(expected));
    let head = found::head(storage, talk.id).await;
    assert_eq!((head.message_count, head.running_turn), (1, None));
    assert_eq!(found::messages(storage, talk.id).await.len(), 1);
}

/// The event is `turn.completed` or `turn.failed`.
pub async fn writes_how_the_turn_ended(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let first = samples::question(1, &agent, samples::existing(&talk, 0));
    let second = samples::question(2, &agent, samples::existing(&talk, 1));
    for (question, finish, expected) in [
        (&first, completed(&first, 1), EventType::TurnCompleted),
        (
            &second,
            failed(&second, samples::lasting_problem()),
            EventType::TurnFailed,
        ),
    ] {
        given::started(storage, question).await;
        let (committed, promoted) = given::finished(storage, finish.clone()).await;
        assert_eq!((event_count(committed), promoted), (1, None));
        let event = log::events_of(storage, committed).await.remove(0);
        assert_eq!((event.kind, event.time), (expected, finish.stamp.time));
        assert_eq!(event.actor, finish.stamp.actor);
        assert_eq!(event.turn_id, Some(question.turn_id));
        assert_eq!(event.conversation_id, Some(talk.id));
        assert_eq!(event.agent_id, Some(agent.id));
        assert_eq!(event.user_id, talk.user_id);
    }
}

/// MUST write nothing unless the turn is in progress under `node`.
pub async fn refuses_to_end_a_turn_that_does_not_run_here(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    given::node(storage, 2).await;
    let running = samples::question(1, &agent, samples::existing(&talk, 0));
    given::started(storage, &running).await;
    let waiting = samples::question(2, &agent, samples::existing(&talk, 1));
    given::queued(storage, &waiting).await;
    let unknown = samples::question(404, &agent, samples::existing(&talk, 1));
    let elsewhere = FinishTurn {
        node: samples::node_id(2),
        ..completed(&running, 1)
    };
    let head = log::head(storage, &samples::tenant()).await;
    for finish in [elsewhere, completed(&waiting, 2), completed(&unknown, 3)] {
        assert_eq!(outcome(storage, finish).await, FinishOutcome::Refused);
    }
    assert_eq!(log::head(storage, &samples::tenant()).await, head);
    assert_eq!(found::messages(storage, talk.id).await.len(), 1);
    let still = found::head(storage, talk.id).await.running_turn;
    assert_eq!(still, Some(running.turn_id));
    let waits = found::turn(storage, waiting.turn_id).await;
    assert_eq!(waits.map(|turn| turn.status), Some(TurnStatus::Queued));
}

/// A caller that was told `Unavailable` repeats the call; if its end was stored, it is answered as
/// that: with the turn that it promoted, and without another event.
pub async fn an_end_that_is_stored_is_told_again(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = |number: u32| samples::question(number, &agent, samples::existing(&talk, 0));
    let (first, second) = (question(1), question(2));
    given::started(storage, &first).await;
    given::queued(storage, &second).await;
    for finish in [
        completed(&first, 1),
        failed(&second, samples::retryable_problem()),
    ] {
        let (_, promoted) = given::finished(storage, finish.clone()).await;
        let head = log::head(storage, &samples::tenant()).await;
        let messages = found::messages(storage, talk.id).await;
        let (committed, again) = given::finished(storage, finish.clone()).await;
        assert_eq!(again, promoted);
        assert_eq!((event_count(committed), committed.last), (0, head));
        assert_eq!(log::head(storage, &samples::tenant()).await, head);
        assert_eq!(found::messages(storage, talk.id).await, messages);
    }
}

/// An end is told again also when its conversation has gone since; nothing runs there then.
pub async fn an_end_is_told_again_after_its_conversation_is_deleted(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = samples::question(1, &agent, samples::existing(&talk, 0));
    given::started(storage, &question).await;
    given::finished(storage, completed(&question, 1)).await;
    given::conversation_deleted(storage, &talk).await;
    let head = log::head(storage, &samples::tenant()).await;
    let (_, promoted) = given::finished(storage, completed(&question, 1)).await;
    assert_eq!(promoted, None);
    assert_eq!(log::head(storage, &samples::tenant()).await, head);
}

/// A turn ends once, whichever end comes second.
pub async fn refuses_to_end_a_turn_twice(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = |number: u32| {
        let count = i64::from(number) - 1;
        samples::question(number, &agent, samples::existing(&talk, count))
    };
    let (first, second, third) = (question(1), question(2), question(3));
    given::started(storage, &first).await;
    given::finished(storage, completed(&first, 1)).await;
    given::started(storage, &second).await;
    given::finished(storage, failed(&second, samples::lasting_problem())).await;
    given::started(storage, &third).await;
    given::cancelled(storage, &third, None).await;
    let head = log::head(storage, &samples::tenant()).await;
    for (number, question) in (1..).zip([first, second, third]) {
        let before = found::turn(storage, question.turn_id).await;
        for finish in [
            completed(&question, number + 50),
            failed(&question, samples::retryable_problem()),
        ] {
            assert_eq!(outcome(storage, finish).await, FinishOutcome::Refused);
        }
        assert_eq!(found::turn(storage, question.turn_id).await, before);
    }
    assert_eq!(log::head(storage, &samples::tenant()).await, head);
}

/// A process that left in order, or was forgotten, may still end what it ran: its token holds
/// until somebody else has ended the turn.
pub async fn ends_the_turn_of_a_node_that_has_left(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = samples::question(1, &agent, samples::existing(&talk, 0));
    given::started(storage, &question).await;
    storage.nodes.delete(question.node).await.answered();
    given::finished(storage, completed(&question, 1)).await;
    let turn = found::turn(storage, question.turn_id).await;
    assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::Completed));
}
