//! `DeleteAgent`: the data that is deleted with an agent, and the data that stays.

use domain::{EventData, EventType, TurnStatus, event_data::Tombstone};
use ports::FirstMessages;
use writes::{
    BeginOutcome, CancelOutcome, DeleteOutcome, FinishOutcome, RecordTurnOutcome, TurnEnding,
};

use crate::{
    Store, fixture, log, lookup,
    results::{IdempotentExt as _, ResultExt as _, assert_stale, event_count},
    setup,
};

/// `delete` writes `agent.deleted`, and no events for the agent's conversations.
pub async fn a_deletion_writes_agent_deleted_and_no_conversation_events(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let agent_2 = fixture::renamed(&agent, "Grace");
    setup::update_agent(storage, &agent_2).await;
    setup::conversation(storage, 1, &agent).await;
    setup::conversation(storage, 2, &agent).await;
    let committed = setup::delete_agent(storage, &agent).await;
    assert_eq!(event_count(committed), 1);
    let event = log::events_of(storage, committed).await.remove(0);
    assert_eq!(event.kind, EventType::AgentDeleted);
    assert_eq!(
        (event.agent_id, event.time),
        (Some(agent.id), fixture::at(1_000))
    );
    let left = Tombstone::new(agent.id, 2);
    assert_eq!(event.data, EventData::AgentDeleted { agent: left });
    assert_eq!(log::head(storage, &fixture::tenant()).await, committed.last);
}

/// After the commit, the agent MUST NOT be found, and cannot be changed or used in a chat.
pub async fn a_deleted_agent_is_not_found_by_any_method(storage: &Store) {
    let (agent, _) = setup::chat(storage).await;
    setup::delete_agent(storage, &agent).await;
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(2_000));
    assert_eq!(lookup::agent(storage, agent.id).await, None);
    let next = fixture::renamed(&agent, "Ghost");
    let updated = storage.agents.update(&tenant, &next, &stamp).await;
    assert_eq!(updated.success(), None);
    let deleted = storage.agents.delete(&tenant, agent.id, None, &stamp).await;
    assert_eq!(deleted.success(), DeleteOutcome::NotFound);
    let conversation = fixture::conversation(2, agent.id);
    let conversations = &storage.conversations;
    let inserted = conversations.insert(&tenant, &conversation, &FirstMessages::None, &stamp, None);
    assert_eq!(inserted.await.applied(), None);
    let target = writes::ConversationTarget::New(conversation);
    let turn = fixture::completed_turn(1, &agent, target.clone());
    let recorded = storage.turns.record_completed_turn(turn).await.success();
    assert_eq!(recorded, RecordTurnOutcome::AgentNotFound);
    let begin = fixture::begin_turn(2, &agent, target);
    let outcome = storage.turns.begin_turn(begin).await.success();
    assert_eq!(outcome, BeginOutcome::AgentNotFound);
}

/// After the commit, its conversations and their messages MUST NOT be found.
pub async fn conversations_are_deleted_with_their_agent(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::record_turn(storage, turn).await;
    setup::delete_agent(storage, &agent).await;
    crate::conversation_deletion::assert_not_found_by_any_method(storage, &conversation).await;
}

/// `delete` cancels queued and running turns in the order of their ids and writes `agent.deleted`
/// last. No queued turn is promoted.
pub async fn deleting_an_agent_cancels_open_turns_in_the_order_of_their_ids(storage: &Store) {
    let (agent, talk_1) = setup::chat(storage).await;
    let talk_2 = setup::conversation(storage, 2, &agent).await;
    let begin = |number, conversation| {
        fixture::begin_turn(number, &agent, fixture::existing(conversation, 0))
    };
    setup::start_turn(storage, &begin(4, &talk_1)).await;
    setup::start_turn(storage, &begin(1, &talk_2)).await;
    setup::queue_turn(storage, &begin(3, &talk_2)).await;
    setup::queue_turn(storage, &begin(2, &talk_1)).await;
    let committed = setup::delete_agent(storage, &agent).await;
    let events = log::events_of(storage, committed).await;
    let types: Vec<_> = events.iter().map(|event| event.kind).collect();
    let cancelled = EventType::TurnCancelled;
    let expected = [
        cancelled,
        cancelled,
        cancelled,
        cancelled,
        EventType::AgentDeleted,
    ];
    assert_eq!(types, expected);
    for (event, number) in events.iter().zip(1..=4) {
        assert_eq!(event.turn_id, Some(fixture::turn_id(number)));
        assert_eq!(event.actor, fixture::principal());
    }
    assert_eq!(event_count(committed), 5);
}

/// Turns that the deletion cancelled MUST be found until they are purged. Turns that had ended
/// before MUST NOT be found.
pub async fn only_turns_cancelled_by_the_deletion_of_their_agent_are_found(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::record_turn(storage, turn).await;
    let running = fixture::begin_turn(2, &agent, fixture::existing(&conversation, 1));
    setup::start_turn(storage, &running).await;
    let waiting = fixture::begin_turn(3, &agent, fixture::existing(&conversation, 1));
    setup::queue_turn(storage, &waiting).await;
    assert!(lookup::turn(storage, fixture::turn_id(1)).await.is_some());
    setup::delete_agent(storage, &agent).await;
    assert_eq!(lookup::turn(storage, fixture::turn_id(1)).await, None);
    for begin in [running, waiting] {
        let turn = lookup::turn(storage, begin.turn_id).await;
        let turn = turn.expect("the turn is kept");
        assert_eq!(turn.status, TurnStatus::Cancelled);
        assert_eq!(turn.finished_at, Some(fixture::at(1_000)));
        assert_eq!((turn.reply, turn.error), (None, None));
    }
}

/// A turn that the deletion cancelled cannot end again: `finish_turn` returns `NotOwned`.
pub async fn turns_cancelled_with_their_agent_cannot_end_again(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
    let committed = setup::delete_agent(storage, &agent).await;
    let finish = fixture::finish(&begin, TurnEnding::Completed(fixture::reply(1)));
    let finished = storage.turns.finish_turn(finish).await;
    assert_eq!(finished.success(), FinishOutcome::NotOwned);
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(2_000));
    let turns = &storage.turns;
    let cancelled = turns.cancel_turn(&tenant, begin.turn_id, None, None, &stamp);
    assert_eq!(cancelled.await.success(), CancelOutcome::AlreadyFinal);
    assert_eq!(log::head(storage, &tenant).await, committed.last);
}

/// `delete` MUST return `Stale` if `expected` differs from the stored version.
pub async fn deleting_another_version_of_an_agent_is_stale(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(1_000));
    let head = log::head(storage, &tenant).await;
    for version in [0, 2] {
        let delete = storage
            .agents
            .delete(&tenant, agent.id, Some(version), &stamp);
        assert_stale(&delete.await);
    }
    assert_eq!(lookup::agent(storage, agent.id).await, Some(agent.clone()));
    let turn = lookup::turn(storage, begin.turn_id).await;
    assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::InProgress));
    assert_eq!(log::head(storage, &tenant).await, head);
    let delete = storage
        .agents
        .delete(&tenant, agent.id, Some(1), &stamp)
        .await;
    assert!(matches!(delete.success(), DeleteOutcome::Deleted(_)));
}

/// "Not found" is a value, whatever version is expected.
pub async fn deleting_an_unknown_agent_is_not_found(storage: &Store) {
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(1_000));
    let agent = setup::agent(storage, 1).await;
    setup::delete_agent(storage, &agent).await;
    let head = log::head(storage, &tenant).await;
    for id in [agent.id, fixture::agent_id(404)] {
        for expected in [None, Some(1), Some(7)] {
            let delete = storage.agents.delete(&tenant, id, expected, &stamp).await;
            assert_eq!(delete.success(), DeleteOutcome::NotFound);
        }
    }
    assert_eq!(log::head(storage, &tenant).await, head);
}

/// `delete` changes neither other agents nor their data.
pub async fn deleting_an_agent_keeps_other_agents(storage: &Store) {
    let (doomed, _) = setup::chat(storage).await;
    let kept = setup::agent(storage, 2).await;
    let conversation = setup::conversation(storage, 2, &kept).await;
    let begin = fixture::begin_turn(1, &kept, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
    setup::delete_agent(storage, &doomed).await;
    assert_eq!(lookup::agent(storage, kept.id).await, Some(kept));
    let turn = lookup::turn(storage, begin.turn_id).await;
    assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::InProgress));
    let finish = fixture::finish(&begin, TurnEnding::Completed(fixture::reply(1)));
    setup::finish_turn(storage, finish).await;
    assert_eq!(lookup::messages(storage, conversation.id).await.len(), 2);
}
