//! Promotion: the end of a running turn starts the first queued one, in the same transaction.

use domain::{Agent, Conversation, EventType, Message, Role, TurnStatus};
use writes::{BeginTurn, FinishTurn, PromotedTurn, TurnEnding};

use crate::{
    Store, fixture, log, lookup,
    results::{ResultExt as _, event_count},
    setup,
};

/// Stores a chat in which turn 1 is running and `waiting` turns are queued, numbered from 2.
async fn queue(storage: &Store, waiting: u32) -> (Agent, Conversation, BeginTurn, Vec<BeginTurn>) {
    let (agent, conversation) = setup::chat(storage).await;
    let running = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &running).await;
    let mut waits = Vec::new();
    for number in 2..2 + waiting {
        let begin = fixture::begin_turn(number, &agent, fixture::existing(&conversation, 1));
        setup::queue_turn(storage, &begin).await;
        waits.push(begin);
    }
    (agent, conversation, running, waits)
}

fn completed(begin: &BeginTurn) -> FinishTurn {
    let reply = writes::Reply {
        message_id: domain::MessageId::new(begin.turn_id.uuid()),
        ..fixture::reply(0)
    };
    fixture::finish(begin, TurnEnding::Completed(reply))
}

async fn promoted_by(storage: &Store, finish: FinishTurn) -> PromotedTurn {
    let (committed, promoted) = setup::finish_turn(storage, finish).await;
    assert_eq!(event_count(committed), 2);
    promoted.expect("a turn waits")
}

/// The promoted turn is in progress, and is returned with all data that its node needs.
pub async fn the_end_of_a_turn_promotes_the_first_queued_turn(storage: &Store) {
    let (agent, conversation, running, waits) = queue(storage, 1).await;
    let (committed, promoted) = setup::finish_turn(storage, completed(&running)).await;
    let types = log::types_of(storage, committed).await;
    assert_eq!(types, [EventType::TurnCompleted, EventType::TurnStarted]);
    let promoted = promoted.expect("a turn waits");
    assert_eq!(promoted.tenant, fixture::tenant());
    assert_eq!(promoted.principal, fixture::principal());
    assert_eq!(promoted.user_id, conversation.user_id);
    assert_eq!(
        (promoted.messages.message.seq, promoted.messages.turn_number),
        (3, 1)
    );
    assert_eq!(promoted.turn.id, waits[0].turn_id);
    assert_eq!(promoted.turn.status, TurnStatus::InProgress);
    assert_eq!(promoted.turn.agent_version, Some(agent.version));
    assert_eq!(promoted.turn.created_at, waits[0].stamp.time);
    assert_eq!(promoted.turn.started_at, Some(fixture::at(11)));
    let turn = lookup::turn(storage, waits[0].turn_id).await;
    assert_eq!(turn, Some(promoted.turn));
    let head = lookup::state(storage, conversation.id).await;
    assert_eq!((head.last_message_seq, head.turn_count), (3, 2));
    assert_eq!(head.running_turn, Some(waits[0].turn_id));
}

/// A user's message gets its `seq` when its turn starts.
pub async fn a_promoted_turn_stores_its_message(storage: &Store) {
    let (_, conversation, running, waits) = queue(storage, 1).await;
    let promoted = promoted_by(storage, completed(&running)).await;
    let messages = lookup::messages(storage, conversation.id).await;
    assert_eq!(messages.len(), 3);
    let expected = Message {
        id: waits[0].message_id,
        conversation_id: conversation.id,
        turn_id: Some(waits[0].turn_id),
        seq: promoted.messages.message.seq,
        role: Role::User,
        content: waits[0].input.clone(),
        files: Vec::new(),
        created_at: messages[2].created_at,
        author: None,
        engine: None,
        model: None,
        agent_version: None,
        finish_reason: None,
        output: None,
        repaired: false,
        usage: None,
        client_message_id: None,
        turn_status: Some(TurnStatus::InProgress),
        error: None,
        tool_calls: Vec::new(),
        feedback: Vec::new(),
        superseded_at: None,
    };
    assert_eq!(messages[2], expected);
}

/// Turns are promoted in order of arrival, not of ids, through a full queue.
pub async fn queued_turns_are_promoted_in_order_of_arrival(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = |number| fixture::begin_turn(number, &agent, fixture::existing(&conversation, 0));
    let mut running = begin(100);
    setup::start_turn(storage, &running).await;
    let arrivals = [9, 3, 15, 1, 16, 8, 2, 14, 4, 10, 7, 13, 5, 12, 6, 11];
    for number in arrivals {
        setup::queue_turn(storage, &begin(number)).await;
    }
    for (position, number) in (1..).zip(arrivals) {
        let promoted = promoted_by(storage, completed(&running)).await;
        assert_eq!(promoted.turn.id, fixture::turn_id(number));
        assert_eq!(promoted.messages.turn_number, position);
        assert_eq!(promoted.messages.message.seq, 2 * position + 1);
        running = begin(number);
    }
    let (_, none) = setup::finish_turn(storage, completed(&running)).await;
    assert_eq!(none, None);
    let texts = lookup::messages(storage, conversation.id).await;
    let positions: Vec<_> = texts.iter().map(|message| message.seq).collect();
    assert_eq!(positions, (1..=34).collect::<Vec<_>>());
}

/// A promoted turn is ended like any other, only by the node it was promoted to.
pub async fn a_promoted_turn_is_ended_by_its_node(storage: &Store) {
    let (_, _, running, waits) = queue(storage, 1).await;
    let promoted = promoted_by(storage, completed(&running)).await;
    let elsewhere = FinishTurn {
        node: setup::node(storage, 2).await,
        ..completed(&waits[0])
    };
    let result = storage.turns.finish_turn(elsewhere).await.success();
    assert_eq!(result, writes::FinishOutcome::NotOwned);
    setup::finish_turn(storage, completed(&waits[0])).await;
    let turn = lookup::turn(storage, promoted.turn.id).await;
    assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::Completed));
}

/// A turn that was queued by another node is promoted to the node that ended the turn before it.
pub async fn turns_queued_by_another_node_are_promoted(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    setup::node(storage, 2).await;
    let running = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &running).await;
    let waiting = BeginTurn {
        node: fixture::node_id(2),
        ..fixture::begin_turn(2, &agent, fixture::existing(&conversation, 1))
    };
    setup::queue_turn(storage, &waiting).await;
    promoted_by(storage, completed(&running)).await;
    let finished = storage.turns.finish_turn(completed(&waiting)).await;
    assert_eq!(finished.success(), writes::FinishOutcome::NotOwned);
    let by_runner = FinishTurn {
        node: running.node,
        ..completed(&waiting)
    };
    setup::finish_turn(storage, by_runner).await;
}

/// A failure promotes like a success.
pub async fn a_failed_turn_promotes_the_next_one(storage: &Store) {
    let (_, _, running, waits) = queue(storage, 1).await;
    let ending = TurnEnding::failed(fixture::lasting_problem());
    let finish = fixture::finish(&running, ending);
    let (committed, promoted) = setup::finish_turn(storage, finish).await;
    let types = log::types_of(storage, committed).await;
    assert_eq!(types, [EventType::TurnFailed, EventType::TurnStarted]);
    let promoted = promoted.expect("a turn waits");
    assert_eq!(promoted.turn.id, waits[0].turn_id);
    // The failed turn has a user's message, and no reply.
    assert_eq!(promoted.messages.message.seq, 2);
}

/// With `promote: false`, as a draining node sets it, queued turns stay queued.
pub async fn a_draining_node_promotes_no_turn(storage: &Store) {
    let (_, conversation, running, waits) = queue(storage, 1).await;
    let finish = FinishTurn {
        promote: false,
        ..completed(&running)
    };
    let (committed, promoted) = setup::finish_turn(storage, finish).await;
    assert_eq!((event_count(committed), promoted), (1, None));
    let turn = lookup::turn(storage, waits[0].turn_id).await;
    assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::Queued));
    assert_eq!(
        lookup::state(storage, conversation.id).await.running_turn,
        None
    );
}

/// A node that is no longer registered ends its turn, but no turn is promoted to it.
pub async fn no_turn_is_promoted_to_a_removed_node(storage: &Store) {
    let (_, conversation, running, waits) = queue(storage, 1).await;
    storage.nodes.delete(running.node).await.success();
    let (committed, promoted) = setup::finish_turn(storage, completed(&running)).await;
    assert_eq!((event_count(committed), promoted), (1, None));
    let turn = lookup::turn(storage, waits[0].turn_id).await;
    assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::Queued));
    assert_eq!(
        lookup::state(storage, conversation.id).await.running_turn,
        None
    );
}

/// A promoted turn uses the current version of the agent, and its reply has that version.
pub async fn a_promoted_turn_uses_the_current_version_of_the_agent(storage: &Store) {
    let (agent, conversation, running, waits) = queue(storage, 1).await;
    setup::update_agent(storage, &fixture::renamed(&agent, "Grace")).await;
    let promoted = promoted_by(storage, completed(&running)).await;
    assert_eq!(promoted.turn.agent_version, Some(2));
    setup::finish_turn(storage, completed(&waits[0])).await;
    let messages = lookup::messages(storage, conversation.id).await;
    let versions: Vec<_> = messages
        .iter()
        .map(|message| message.agent_version)
        .collect();
    assert_eq!(versions, [None, Some(1), None, Some(2)]);
}

/// The end of a turn in one conversation starts no turn in another.
pub async fn a_turn_is_promoted_only_within_its_conversation(storage: &Store) {
    let (agent, _, running, waits) = queue(storage, 1).await;
    let other = setup::conversation(storage, 2, &agent).await;
    let beside = fixture::begin_turn(50, &agent, fixture::existing(&other, 0));
    setup::start_turn(storage, &beside).await;
    let (_, promoted) = setup::finish_turn(storage, completed(&beside)).await;
    assert_eq!(promoted, None);
    let promoted = promoted_by(storage, completed(&running)).await;
    assert_eq!(promoted.turn.id, waits[0].turn_id);
}

/// A promoted turn releases its own key, like any other turn.
pub async fn a_promoted_turn_releases_its_own_key(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let running = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &running).await;
    let waiting = BeginTurn {
        idempotency: Some(fixture::entry("k")),
        ..fixture::begin_turn(2, &agent, fixture::existing(&conversation, 1))
    };
    setup::queue_turn(storage, &waiting).await;
    promoted_by(storage, completed(&running)).await;
    assert!(
        lookup::record(storage, &fixture::entry("k"))
            .await
            .is_some()
    );
    let ending = TurnEnding::failed(fixture::retryable_problem());
    setup::finish_turn(storage, fixture::finish(&waiting, ending)).await;
    let record = lookup::record(storage, &fixture::entry("k")).await;
    let released_into = record.and_then(|record| record.released_into);
    assert_eq!(released_into, Some(conversation.id));
}
