//! `FinishTurn`: ending a running turn.

use domain::{EventType, FinishReason, Message, Problem, RequestUsage, Role, Turn, TurnStatus};
use writes::{BeginTurn, FinishOutcome, FinishTurn, Reply, TurnEnding};

use crate::{
    Store, fixture, log, lookup,
    results::{ResultExt as _, event_count},
    setup,
};

async fn outcome(storage: &Store, finish: FinishTurn) -> FinishOutcome {
    storage.turns.finish_turn(finish).await.success()
}

fn completed(begin: &BeginTurn, number: u32) -> FinishTurn {
    fixture::finish(begin, TurnEnding::Completed(fixture::reply(number)))
}

fn failed(begin: &BeginTurn, problem: Problem) -> FinishTurn {
    fixture::finish(begin, TurnEnding::failed(problem))
}

/// With a reply: the turn is completed and the agent's message is stored, with every member of
/// both.
pub async fn a_turn_is_completed_with_its_reply(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = fixture::begin_turn(7, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
    let running = lookup::turn(storage, begin.turn_id).await;
    let reply = Reply {
        degraded: true,
        finish_reason: FinishReason::ContentFilter,
        usage: RequestUsage::sum(&fixture::requests(12)),
        requests: fixture::requests(12),
        tool_calls: vec![fixture::tool_call()],
        ..fixture::reply(7)
    };
    let ending = TurnEnding::Completed(reply.clone());
    setup::finish_turn(storage, fixture::finish(&begin, ending)).await;
    let (place, at) = ((conversation.id, 2), fixture::at(17));
    let message = Message {
        turn_id: Some(begin.turn_id),
        engine: Some(reply.engine.clone()),
        model: reply.model.clone(),
        agent_version: Some(1),
        finish_reason: Some(reply.finish_reason),
        usage: reply.usage,
        ..Message::new(place, reply.message_id, Role::Agent, reply.content, at)
    };
    let expected = Turn {
        status: TurnStatus::Completed,
        reply: Some(message.clone()),
        engine: Some(reply.engine),
        model: reply.model,
        degraded: true,
        finish_reason: Some(reply.finish_reason),
        usage: reply.usage,
        tool_calls: reply.tool_calls.clone(),
        finished_at: Some(fixture::at(17)),
        ..running.expect("the turn exists")
    };
    assert_eq!(lookup::turn(storage, begin.turn_id).await, Some(expected));
    let messages = lookup::messages(storage, conversation.id).await;
    let listed = Message {
        tool_calls: reply.tool_calls,
        ..message
    };
    assert_eq!(messages[1..], [listed]);
    let head = lookup::state(storage, conversation.id).await;
    assert_eq!((head.last_message_seq, head.turn_count), (2, 1));
    assert_eq!(head.running_turn, None);
    let conversation = lookup::conversation(storage, conversation.id).await;
    let last_message_at = conversation.and_then(|conversation| conversation.last_message_at);
    assert_eq!(last_message_at, Some(fixture::at(17)));
}

/// Without a reply: the turn is failed with its whole problem and without an agent's message; its
/// tool calls are stored.
pub async fn a_turn_is_failed_with_its_problem(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = fixture::begin_turn(7, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
    let running = lookup::turn(storage, begin.turn_id).await;
    let problem = Problem {
        instance: Some("/api/chat".to_owned()),
        request_id: Some("r-1".to_owned()),
        errors: vec![domain::InputFault::new("/a~1b", domain::FaultCode::TooLong, "ß").into()],
        ..fixture::lasting_problem().with_detail("Der Motor schweigt 🤐.")
    };
    let calls = vec![fixture::tool_call(), fixture::tool_call()];
    let ending = TurnEnding::Failed {
        problem: problem.clone(),
        tool_calls: calls.clone(),
        requests: fixture::requests(12),
    };
    setup::finish_turn(storage, fixture::finish(&begin, ending)).await;
    let expected = Turn {
        status: TurnStatus::Failed,
        usage: RequestUsage::sum(&fixture::requests(12)),
        tool_calls: calls,
        error: Some(problem),
        finished_at: Some(fixture::at(17)),
        ..running.expect("the turn exists")
    };
    assert_eq!(lookup::turn(storage, begin.turn_id).await, Some(expected));
    let head = lookup::state(storage, conversation.id).await;
    assert_eq!((head.last_message_seq, head.running_turn), (1, None));
    assert_eq!(lookup::messages(storage, conversation.id).await.len(), 1);
}

/// The end of a turn writes `turn.completed` or `turn.failed`.
pub async fn the_end_of_a_turn_writes_its_event(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let first = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    let second = fixture::begin_turn(2, &agent, fixture::existing(&conversation, 1));
    for (begin, finish, expected) in [
        (&first, completed(&first, 1), EventType::TurnCompleted),
        (
            &second,
            failed(&second, fixture::lasting_problem()),
            EventType::TurnFailed,
        ),
    ] {
        setup::start_turn(storage, begin).await;
        let (committed, promoted) = setup::finish_turn(storage, finish.clone()).await;
        assert_eq!((event_count(committed), promoted), (1, None));
        let event = log::events_of(storage, committed).await.remove(0);
        assert_eq!((event.kind, event.time), (expected, finish.stamp.time));
        assert_eq!(event.actor, finish.stamp.actor);
        assert_eq!(event.turn_id, Some(begin.turn_id));
        assert_eq!(event.conversation_id, Some(conversation.id));
        assert_eq!(event.agent_id, Some(agent.id));
        assert_eq!(event.user_id, conversation.user_id);
    }
}

/// `finish_turn` MUST write nothing unless the turn is in progress under `node`.
pub async fn a_turn_is_ended_only_by_its_node(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    setup::node(storage, 2).await;
    let running = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &running).await;
    let waiting = fixture::begin_turn(2, &agent, fixture::existing(&conversation, 1));
    setup::queue_turn(storage, &waiting).await;
    let unknown = fixture::begin_turn(404, &agent, fixture::existing(&conversation, 1));
    let elsewhere = FinishTurn {
        node: fixture::node_id(2),
        ..completed(&running, 1)
    };
    let head = log::head(storage, &fixture::tenant()).await;
    for finish in [elsewhere, completed(&waiting, 2), completed(&unknown, 3)] {
        assert_eq!(outcome(storage, finish).await, FinishOutcome::NotOwned);
    }
    assert_eq!(log::head(storage, &fixture::tenant()).await, head);
    assert_eq!(lookup::messages(storage, conversation.id).await.len(), 1);
    let still = lookup::state(storage, conversation.id).await.running_turn;
    assert_eq!(still, Some(running.turn_id));
    let waits = lookup::turn(storage, waiting.turn_id).await;
    assert_eq!(waits.map(|turn| turn.status), Some(TurnStatus::Queued));
}

/// A caller that received `Unavailable` repeats the call. If its end was stored, it receives that
/// outcome, with the turn that was promoted and without another event.
pub async fn a_stored_end_is_confirmed_again(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin =
        |number: u32| fixture::begin_turn(number, &agent, fixture::existing(&conversation, 0));
    let (first, second) = (begin(1), begin(2));
    setup::start_turn(storage, &first).await;
    setup::queue_turn(storage, &second).await;
    for finish in [
        completed(&first, 1),
        failed(&second, fixture::retryable_problem()),
    ] {
        let (_, promoted) = setup::finish_turn(storage, finish.clone()).await;
        let head = log::head(storage, &fixture::tenant()).await;
        let messages = lookup::messages(storage, conversation.id).await;
        let (committed, again) = setup::finish_turn(storage, finish.clone()).await;
        assert_eq!(again, promoted);
        assert_eq!((event_count(committed), committed.last), (0, head));
        assert_eq!(log::head(storage, &fixture::tenant()).await, head);
        assert_eq!(lookup::messages(storage, conversation.id).await, messages);
    }
}

/// A repeated end is also confirmed if its conversation was deleted since; no turn is running there
/// then.
pub async fn a_stored_end_is_confirmed_after_its_conversation_is_deleted(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
    setup::finish_turn(storage, completed(&begin, 1)).await;
    setup::delete_conversation(storage, &conversation).await;
    let head = log::head(storage, &fixture::tenant()).await;
    let (_, promoted) = setup::finish_turn(storage, completed(&begin, 1)).await;
    assert_eq!(promoted, None);
    assert_eq!(log::head(storage, &fixture::tenant()).await, head);
}

/// A turn ends once, whichever end is second.
pub async fn a_turn_cannot_end_twice(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = |number: u32| {
        let count = i64::from(number) - 1;
        fixture::begin_turn(number, &agent, fixture::existing(&conversation, count))
    };
    let (first, second, third) = (begin(1), begin(2), begin(3));
    setup::start_turn(storage, &first).await;
    setup::finish_turn(storage, completed(&first, 1)).await;
    setup::start_turn(storage, &second).await;
    setup::finish_turn(storage, failed(&second, fixture::lasting_problem())).await;
    setup::start_turn(storage, &third).await;
    setup::cancel_turn(storage, &third, None).await;
    let head = log::head(storage, &fixture::tenant()).await;
    for (number, begin) in (1..).zip([first, second, third]) {
        let before = lookup::turn(storage, begin.turn_id).await;
        for finish in [
            completed(&begin, number + 50),
            failed(&begin, fixture::retryable_problem()),
        ] {
            assert_eq!(outcome(storage, finish).await, FinishOutcome::NotOwned);
        }
        assert_eq!(lookup::turn(storage, begin.turn_id).await, before);
    }
    assert_eq!(log::head(storage, &fixture::tenant()).await, head);
}

/// A process that was removed or forgotten can still end a turn that it ran: its id is valid until
/// another process has ended the turn.
pub async fn a_removed_node_can_end_its_turn(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
    storage.nodes.delete(begin.node).await.success();
    setup::finish_turn(storage, completed(&begin, 1)).await;
    let turn = lookup::turn(storage, begin.turn_id).await;
    assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::Completed));
}
