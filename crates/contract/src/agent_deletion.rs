//! `AgentRepository::delete`: what goes with an agent, and what stays.

use domain::{EventData, EventType, TurnStatus, event::Tombstone};
use ports::{
    BeginOutcome, CancelOutcome, Deletion, ExchangeOutcome, FinishOutcome, Storage, TurnEnding,
};

use crate::{
    answers::{Answer as _, OnceAnswer as _, assert_stale, event_count},
    found, given, log, samples,
};

/// `delete` writes `agent.deleted`; the agent's conversations emit nothing.
pub async fn writes_agent_deleted_and_nothing_for_its_conversations(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
    let agent_2 = samples::renamed(&agent, "Grace");
    given::agent_updated(storage, &agent_2).await;
    given::conversation(storage, 1, &agent).await;
    given::conversation(storage, 2, &agent).await;
    let committed = given::agent_deleted(storage, &agent).await;
    assert_eq!(event_count(committed), 1);
    let event = log::events_of(storage, committed).await.remove(0);
    assert_eq!(event.kind, EventType::AgentDeleted);
    assert_eq!(
        (event.agent_id, event.time),
        (Some(agent.id), samples::at(1_000))
    );
    let left = Tombstone {
        id: agent.id,
        version: 2,
    };
    assert_eq!(event.data, EventData::AgentDeleted { agent: left });
    assert_eq!(log::head(storage, &samples::tenant()).await, committed.last);
}

/// From the commit on, the agent MUST NOT be found, changed, or spoken to.
pub async fn a_deleted_agent_is_gone_in_every_method(storage: &Storage) {
    let (agent, _) = given::chat(storage).await;
    given::agent_deleted(storage, &agent).await;
    let (tenant, stamp) = (samples::tenant(), samples::stamp(2_000));
    assert_eq!(found::agent(storage, agent.id).await, None);
    let next = samples::renamed(&agent, "Ghost");
    let updated = storage.agents.update(&tenant, &next, &stamp).await;
    assert_eq!(updated.answered(), None);
    let deleted = storage.agents.delete(&tenant, agent.id, None, &stamp).await;
    assert_eq!(deleted.answered(), Deletion::NotFound);
    let talk = samples::conversation(2, agent.id);
    let conversations = &storage.conversations;
    let inserted = conversations.insert(&tenant, &talk, None, &stamp, None);
    assert_eq!(inserted.await.done(), None);
    let target = ports::ExchangeTarget::New(talk);
    let exchange = samples::exchange(1, &agent, target.clone());
    let recorded = storage.turns.record_exchange(exchange).await.answered();
    assert_eq!(recorded, ExchangeOutcome::AgentNotFound);
    let question = samples::question(2, &agent, target);
    let begun = storage.turns.begin_turn(question).await.answered();
    assert_eq!(begun, BeginOutcome::AgentNotFound);
}

/// From the commit on, its conversations and their messages MUST NOT be found.
pub async fn conversations_go_with_their_agent(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let exchange = samples::exchange(1, &agent, samples::existing(&talk, 0));
    given::recorded(storage, exchange).await;
    given::agent_deleted(storage, &agent).await;
    crate::conversation_deletion::assert_gone_in_every_method(storage, &talk).await;
}

/// `delete` ends queued and running turns as cancelled, in the order of the turns' ids, and
/// writes `agent.deleted` last; nothing that waited starts.
pub async fn cancels_open_turns_in_the_order_of_their_ids(storage: &Storage) {
    let (agent, talk_1) = given::chat(storage).await;
    let talk_2 = given::conversation(storage, 2, &agent).await;
    let question = |number, talk| samples::question(number, &agent, samples::existing(talk, 0));
    given::started(storage, &question(4, &talk_1)).await;
    given::started(storage, &question(1, &talk_2)).await;
    given::queued(storage, &question(3, &talk_2)).await;
    given::queued(storage, &question(2, &talk_1)).await;
    let committed = given::agent_deleted(storage, &agent).await;
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
        assert_eq!(event.turn_id, Some(samples::turn_id(number)));
        assert_eq!(event.actor, samples::principal());
    }
    assert_eq!(event_count(committed), 5);
}

/// Turns that the deletion cancelled MUST be found until they are purged; those that had ended
/// before MUST NOT.
pub async fn finds_only_turns_that_the_deletion_of_their_agent_cancelled(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let exchange = samples::exchange(1, &agent, samples::existing(&talk, 0));
    given::recorded(storage, exchange).await;
    let running = samples::question(2, &agent, samples::existing(&talk, 1));
    given::started(storage, &running).await;
    let waiting = samples::question(3, &agent, samples::existing(&talk, 1));
    given::queued(storage, &waiting).await;
    assert!(found::turn(storage, samples::turn_id(1)).await.is_some());
    given::agent_deleted(storage, &agent).await;
    assert_eq!(found::turn(storage, samples::turn_id(1)).await, None);
    for question in [running, waiting] {
        let turn = found::turn(storage, question.turn_id).await;
        let turn = turn.expect("the turn is kept");
        assert_eq!(turn.status, TurnStatus::Cancelled);
        assert_eq!(turn.finished_at, Some(samples::at(1_000)));
        assert_eq!((turn.reply, turn.error), (None, None));
    }
}

/// A turn that ended with its agent has ended: its process is told so.
pub async fn turns_of_a_deleted_agent_end_only_once(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = samples::question(1, &agent, samples::existing(&talk, 0));
    given::started(storage, &question).await;
    let committed = given::agent_deleted(storage, &agent).await;
    let finish = samples::finish(&question, TurnEnding::Completed(samples::reply(1)));
    let finished = storage.turns.finish_turn(finish).await;
    assert_eq!(finished.answered(), FinishOutcome::Refused);
    let (tenant, stamp) = (samples::tenant(), samples::stamp(2_000));
    let turns = &storage.turns;
    let cancelled = turns.cancel_turn(&tenant, question.turn_id, None, None, &stamp);
    assert_eq!(cancelled.await.answered(), CancelOutcome::AlreadyFinal);
    assert_eq!(log::head(storage, &tenant).await, committed.last);
}

/// `delete` MUST answer `Stale` when `expected` differs from the stored version.
pub async fn refuses_to_delete_another_version_of_an_agent(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = samples::question(1, &agent, samples::existing(&talk, 0));
    given::started(storage, &question).await;
    let (tenant, stamp) = (samples::tenant(), samples::stamp(1_000));
    let head = log::head(storage, &tenant).await;
    for version in [0, 2] {
        let delete = storage
            .agents
            .delete(&tenant, agent.id, Some(version), &stamp);
        assert_stale(&delete.await);
    }
    assert_eq!(found::agent(storage, agent.id).await, Some(agent.clone()));
    let turn = found::turn(storage, question.turn_id).await;
    assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::InProgress));
    assert_eq!(log::head(storage, &tenant).await, head);
    let delete = storage
        .agents
        .delete(&tenant, agent.id, Some(1), &stamp)
        .await;
    assert!(matches!(delete.answered(), Deletion::Deleted(_)));
}

/// "Not found" is a value, whatever version was expected.
pub async fn deletes_no_agent_that_is_not_there(storage: &Storage) {
    let (tenant, stamp) = (samples::tenant(), samples::stamp(1_000));
    let agent = given::agent(storage, 1).await;
    given::agent_deleted(storage, &agent).await;
    let head = log::head(storage, &tenant).await;
    for id in [agent.id, samples::agent_id(404)] {
        for expected in [None, Some(1), Some(7)] {
            let delete = storage.agents.delete(&tenant, id, expected, &stamp).await;
            assert_eq!(delete.answered(), Deletion::NotFound);
        }
    }
    assert_eq!(log::head(storage, &tenant).await, head);
}

/// Other agents and what belongs to them are left alone.
pub async fn deletes_nothing_of_other_agents(storage: &Storage) {
    let (doomed, _) = given::chat(storage).await;
    let kept = given::agent(storage, 2).await;
    let talk = given::conversation(storage, 2, &kept).await;
    let question = samples::question(1, &kept, samples::existing(&talk, 0));
    given::started(storage, &question).await;
    given::agent_deleted(storage, &doomed).await;
    assert_eq!(found::agent(storage, kept.id).await, Some(kept));
    let turn = found::turn(storage, question.turn_id).await;
    assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::InProgress));
    let finish = samples::finish(&question, TurnEnding::Completed(samples::reply(1)));
    given::finished(storage, finish).await;
    assert_eq!(found::messages(storage, talk.id).await.len(), 2);
}
