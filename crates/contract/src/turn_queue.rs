//! Promotion: whatever ends a running turn starts the first that waits, in the same transaction.

use domain::{Agent, Conversation, EventType, Message, Role, TurnStatus};
use ports::{BeginTurn, FinishTurn, PromotedTurn, Storage, TurnEnding};

use crate::{
    answers::{Answer as _, event_count},
    found, given, log, samples,
};

/// A chat in which turn 1 runs and as many as `waiting` wait, numbered from 2.
async fn queue(
    storage: &Storage,
    waiting: u32,
) -> (Agent, Conversation, BeginTurn, Vec<BeginTurn>) {
    let (agent, talk) = given::chat(storage).await;
    let running = samples::question(1, &agent, samples::existing(&talk, 0));
    given::started(storage, &running).await;
    let mut waits = Vec::new();
    for number in 2..2 + waiting {
        let question = samples::question(number, &agent, samples::existing(&talk, 1));
        given::queued(storage, &question).await;
        waits.push(question);
    }
    (agent, talk, running, waits)
}

fn completed(question: &BeginTurn) -> FinishTurn {
    let reply = ports::Reply {
        message_id: domain::MessageId::new(question.turn_id.uuid()),
        ..samples::reply(0)
    };
    samples::finish(question, TurnEnding::Completed(reply))
}

async fn promoted_by(storage: &Storage, finish: FinishTurn) -> PromotedTurn {
    let (committed, promoted) = given::finished(storage, finish).await;
    assert_eq!(event_count(committed), 2);
    promoted.expect("a turn waits")
}

/// The promoted turn runs, with all that its process needs to know of it.
pub async fn starts_the_turn_that_waits_when_one_ends(storage: &Storage) {
    let (agent, talk, running, waits) = queue(storage, 1).await;
    let (committed, promoted) = given::finished(storage, completed(&running)).await;
    let types = log::types_of(storage, committed).await;
    assert_eq!(types, [EventType::TurnCompleted, EventType::TurnStarted]);
    let promoted = promoted.expect("a turn waits");
    assert_eq!(promoted.tenant, samples::tenant());
    assert_eq!(promoted.principal, samples::principal());
    assert_eq!(promoted.user_id, talk.user_id);
    assert_eq!((promoted.message_seq, promoted.turn_number), (3, 1));
    assert_eq!(promoted.turn.id, waits[0].turn_id);
    assert_eq!(promoted.turn.status, TurnStatus::InProgress);
    assert_eq!(promoted.turn.agent_version, Some(agent.version));
    assert_eq!(promoted.turn.created_at, waits[0].stamp.time);
    assert_eq!(promoted.turn.started_at, Some(samples::at(11)));
    let turn = found::turn(storage, waits[0].turn_id).await;
    assert_eq!(turn, Some(promoted.turn));
    let head = found::head(storage, talk.id).await;
    assert_eq!((head.message_count, head.turn_count), (3, 2));
    assert_eq!(head.running_turn, Some(waits[0].turn_id));
}

/// A user's message gets its `seq` when its turn starts.
pub async fn writes_the_message_of_a_promoted_turn(storage: &Storage) {
    let (_, talk, running, waits) = queue(storage, 1).await;
    let promoted = promoted_by(storage, completed(&running)).await;
    let messages = found::messages(storage, talk.id).await;
    assert_eq!(messages.len(), 3);
    let expected = Message {
        id: waits[0].message_id,
        conversation_id: talk.id,
        turn_id: Some(waits[0].turn_id),
        seq: promoted.message_seq,
        role: Role::User,
        content: waits[0].input.clone(),
        created_at: messages[2].created_at,
        engine: None,
        agent_version: None,
        finish_reason: None,
        usage: None,
    };
    assert_eq!(messages[2], expected);
}

/// The order is that of arrival, not of ids, through a full queue.
pub async fn starts_waiting_turns_in_order_of_arrival(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = |number| samples::question(number, &agent, samples::existing(&talk, 0));
    let mut running = question(100);
    given::started(storage, &running).await;
    let arrivals = [9, 3, 15, 1, 16, 8, 2, 14, 4, 10, 7, 13, 5, 12, 6, 11];
    for number in arrivals {
        given::queued(storage, &question(number)).await;
    }
    for (place, number) in (1..).zip(arrivals) {
        let promoted = promoted_by(storage, completed(&running)).await;
        assert_eq!(promoted.turn.id, samples::turn_id(number));
        assert_eq!(promoted.turn_number, place);
        assert_eq!(promoted.message_seq, 2 * place + 1);
        running = question(number);
    }
    let (_, none) = given::finished(storage, completed(&running)).await;
    assert_eq!(none, None);
    let said = found::messages(storage, talk.id).await;
    let places: Vec<_> = said.iter().map(|message| message.seq).collect();
    assert_eq!(places, (1..=34).collect::<Vec<_>>());
}

/// A promoted turn is ended like any other, by the node it was promoted to and no other.
pub async fn a_promoted_turn_is_ended_by_its_node(storage: &Storage) {
    let (_, _, running, waits) = queue(storage, 1).await;
    let promoted = promoted_by(storage, completed(&running)).await;
    let elsewhere = FinishTurn {
        node: given::node(storage, 2).await,
        ..completed(&waits[0])
    };
    let answer = storage.turns.finish_turn(elsewhere).await.answered();
    assert_eq!(answer, ports::FinishOutcome::Refused);
    given::finished(storage, completed(&waits[0])).await;
    let turn = found::turn(storage, promoted.turn.id).await;
    assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::Completed));
}

/// A turn that asked on another node is promoted to the one that ended the turn before it.
pub async fn promotes_turns_that_asked_elsewhere(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    given::node(storage, 2).await;
    let running = samples::question(1, &agent, samples::existing(&talk, 0));
    given::started(storage, &running).await;
    let waiting = BeginTurn {
        node: samples::node_id(2),
        ..samples::question(2, &agent, samples::existing(&talk, 1))
    };
    given::queued(storage, &waiting).await;
    promoted_by(storage, completed(&running)).await;
    let by_asker = storage.turns.finish_turn(completed(&waiting)).await;
    assert_eq!(by_asker.answered(), ports::FinishOutcome::Refused);
    let by_runner = FinishTurn {
        node: running.node,
        ..completed(&waiting)
    };
    given::finished(storage, by_runner).await;
}

/// A failure promotes as a success does.
pub async fn starts_the_turn_that_waits_behind_a_failed_one(storage: &Storage) {
    let (_, _, running, waits) = queue(storage, 1).await;
    let ending = TurnEnding::failed(samples::lasting_problem());
    let finish = samples::finish(&running, ending);
    let (committed, promoted) = given::finished(storage, finish).await;
    let types = log::types_of(storage, committed).await;
    assert_eq!(types, [EventType::TurnFailed, EventType::TurnStarted]);
    let promoted = promoted.expect("a turn waits");
    assert_eq!(promoted.turn.id, waits[0].turn_id);
    // The failed turn left its question, and no answer.
    assert_eq!(promoted.message_seq, 2);
}

/// A draining node says no: what waits goes on waiting.
pub async fn promotes_nothing_when_told_not_to(storage: &Storage) {
    let (_, talk, running, waits) = queue(storage, 1).await;
    let finish = FinishTurn {
        promote: false,
        ..completed(&running)
    };
    let (committed, promoted) = given::finished(storage, finish).await;
    assert_eq!((event_count(committed), promoted), (1, None));
    let turn = found::turn(storage, waits[0].turn_id).await;
    assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::Queued));
    assert_eq!(found::head(storage, talk.id).await.running_turn, None);
}

/// A node that is no longer alive ends its turn and is promoted nothing.
pub async fn promotes_nothing_to_a_node_that_has_left(storage: &Storage) {
    let (_, talk, running, waits) = queue(storage, 1).await;
    storage.nodes.delete(running.node).await.answered();
    let (committed, promoted) = given::finished(storage, completed(&running)).await;
    assert_eq!((event_count(committed), promoted), (1, None));
    let turn = found::turn(storage, waits[0].turn_id).await;
    assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::Queued));
    assert_eq!(found::head(storage, talk.id).await.running_turn, None);
}

/// A promoted turn takes the agent's version of that moment, and its answer carries it.
pub async fn a_promoted_turn_takes_the_agents_present_version(storage: &Storage) {
    let (agent, talk, running, waits) = queue(storage, 1).await;
    given::agent_updated(storage, &samples::renamed(&agent, "Grace")).await;
    let promoted = promoted_by(storage, completed(&running)).await;
    assert_eq!(promoted.turn.agent_version, Some(2));
    given::finished(storage, completed(&waits[0])).await;
    let messages = found::messages(storage, talk.id).await;
    let versions: Vec<_> = messages
        .iter()
        .map(|message| message.agent_version)
        .collect();
    assert_eq!(versions, [None, Some(1), None, Some(2)]);
}

/// The end of a turn in one conversation starts nothing in another.
pub async fn promotes_within_the_conversation_only(storage: &Storage) {
    let (agent, _, running, waits) = queue(storage, 1).await;
    let other = given::conversation(storage, 2, &agent).await;
    let beside = samples::question(50, &agent, samples::existing(&other, 0));
    given::started(storage, &beside).await;
    let (_, promoted) = given::finished(storage, completed(&beside)).await;
    assert_eq!(promoted, None);
    let promoted = promoted_by(storage, completed(&running)).await;
    assert_eq!(promoted.turn.id, waits[0].turn_id);
}

/// A turn that was promoted gives back its own key, like any other.
pub async fn a_promoted_turn_keeps_its_own_key(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let running = samples::question(1, &agent, samples::existing(&talk, 0));
    given::started(storage, &running).await;
    let waiting = BeginTurn {
        claim: Some(samples::claim("k")),
        ..samples::question(2, &agent, samples::existing(&talk, 1))
    };
    given::queued(storage, &waiting).await;
    promoted_by(storage, completed(&running)).await;
    assert!(found::claim(storage, &samples::claim("k")).await.is_some());
    let ending = TurnEnding::failed(samples::retryable_problem());
    given::finished(storage, samples::finish(&waiting, ending)).await;
    let record = found::claim(storage, &samples::claim("k")).await;
    let released_into = record.and_then(|record| record.released_into);
    assert_eq!(released_into, Some(talk.id));
}
