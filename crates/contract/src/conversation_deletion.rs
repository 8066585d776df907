//! `ConversationRepository::delete`: what goes with a conversation, and what stays.

use domain::{Conversation, EventData, EventType, HistoryLimits, TurnStatus, event::Tombstone};
use ports::{
    BeginOutcome, ConversationFilter, Deletion, ExchangeOutcome, FinishOutcome, HistoryQuery,
    MessageOrder, MessageQuery, Storage, TurnEnding,
};

use crate::{
    answers::{Answer as _, assert_stale, event_count},
    found, given, log, pages, samples,
};

/// Fails if any method of a store still knows this conversation of agent 1 and user `ada`.
pub(crate) async fn assert_gone_in_every_method(storage: &Storage, talk: &Conversation) {
    let (tenant, stamp) = (samples::tenant(), samples::stamp(2_000));
    let conversations = &storage.conversations;
    assert_eq!(found::conversation(storage, talk.id).await, None);
    let head = conversations.find_head(&tenant, talk.id).await.answered();
    assert_eq!(head.value, None);
    let all = ConversationFilter::default();
    let of_agent = ConversationFilter {
        agent_id: Some(talk.agent_id),
        ..all.clone()
    };
    let of_user = ConversationFilter {
        user_id: talk.user_id.clone(),
        ..all.clone()
    };
    for filter in [all, of_agent, of_user] {
        let listed = pages::conversations_behind(storage, &filter, None, 10).await;
        assert!(
            listed.iter().all(|listed| listed.id != talk.id),
            "{filter:?}"
        );
    }
    let next = samples::retitled(talk, "Ghost");
    let updated = conversations.update(&tenant, &next, &stamp).await;
    assert_eq!(updated.answered(), None);
    let deleted = conversations.delete(&tenant, talk.id, None, &stamp).await;
    assert_eq!(deleted.answered(), Deletion::NotFound);
    let query = MessageQuery {
        order: MessageOrder::Ascending,
        after: None,
        limit: 10,
    };
    let messages = conversations.messages(&tenant, talk.id, &query).await;
    assert_eq!(messages.answered().value, None);
    let query = HistoryQuery {
        before: i64::MAX,
        limits: HistoryLimits::default(),
    };
    let history = conversations.history(&tenant, talk.id, &query).await;
    assert!(history.answered().is_empty());
}

/// `delete` writes `conversation.deleted`.
pub async fn writes_conversation_deleted(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    given::conversation_updated(storage, &samples::retitled(&talk, "Orders")).await;
    let committed = given::conversation_deleted(storage, &talk).await;
    assert_eq!(event_count(committed), 1);
    let event = log::events_of(storage, committed).await.remove(0);
    assert_eq!(event.kind, EventType::ConversationDeleted);
    assert_eq!(
        (event.time, event.actor),
        (samples::at(1_000), samples::principal())
    );
    assert_eq!(event.agent_id, Some(agent.id));
    assert_eq!(event.conversation_id, Some(talk.id));
    assert_eq!(event.user_id, talk.user_id);
    let left = Tombstone {
        id: talk.id,
        version: 2,
    };
    assert_eq!(
        event.data,
        EventData::ConversationDeleted { conversation: left }
    );
}

/// A deleted conversation is gone in every method.
pub async fn a_deleted_conversation_is_gone_in_every_method(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let exchange = samples::exchange(1, &agent, samples::existing(&talk, 0));
    given::recorded(storage, exchange).await;
    given::conversation_deleted(storage, &talk).await;
    assert_gone_in_every_method(storage, &talk).await;
    let target = samples::existing(&talk, 1);
    let exchange = samples::exchange(2, &agent, target.clone());
    let recorded = storage.turns.record_exchange(exchange).await.answered();
    assert_eq!(recorded, ExchangeOutcome::ConversationNotFound);
    let question = samples::question(3, &agent, target);
    let begun = storage.turns.begin_turn(question).await.answered();
    assert_eq!(begun, BeginOutcome::ConversationNotFound);
}

/// Its turns are cancelled first, in the order of their ids; nothing that waited starts.
pub async fn cancels_open_turns_before_the_conversation_goes(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let question = |number| samples::question(number, &agent, samples::existing(&talk, 0));
    for (number, runs) in [(2, true), (3, false), (1, false)] {
        if runs {
            given::started(storage, &question(number)).await;
        } else {
            given::queued(storage, &question(number)).await;
        }
    }
    let committed = given::conversation_deleted(storage, &talk).await;
    let events = log::events_of(storage, committed).await;
    let types: Vec<_> = events.iter().map(|event| event.kind).collect();
    let cancelled = EventType::TurnCancelled;
    let expected = [
        cancelled,
        cancelled,
        cancelled,
        EventType::ConversationDeleted,
    ];
    assert_eq!(types, expected);
    for (event, number) in events.iter().zip(1..=3) {
        assert_eq!(event.turn_id, Some(samples::turn_id(number)));
        let turn = found::turn(storage, samples::turn_id(number)).await;
        assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::Cancelled));
    }
    let finish = samples::finish(&question(2), TurnEnding::Completed(samples::reply(2)));
    let finished = storage.turns.finish_turn(finish).await;
    assert_eq!(finished.answered(), FinishOutcome::Refused);
}

/// Turns that ended before the conversation was deleted MUST NOT be found any more; those that the
/// deletion cancelled are (see [`cancels_open_turns_before_the_conversation_goes`]).
pub async fn hides_earlier_turns_of_a_deleted_conversation(storage: &Storage) {
    let (agent, talk) = given::chat(storage).await;
    let exchange = samples::exchange(1, &agent, samples::existing(&talk, 0));
    given::recorded(storage, exchange).await;
    let cancelled = samples::question(2, &agent, samples::existing(&talk, 1));
    given::started(storage, &cancelled).await;
    let (tenant, turns, stamp) = (samples::tenant(), &storage.turns, samples::stamp(500));
    let outcome = turns.cancel_turn(&tenant, cancelled.turn_id, None, None, &stamp);
    outcome.await.answered();
    for number in [1, 2] {
        assert!(
            found::turn(storage, samples::turn_id(number))
                .await
                .is_some()
        );
    }
    given::conversation_deleted(storage, &talk).await;
    for number in [1, 2] {
        assert_eq!(found::turn(storage, samples::turn_id(number)).await, None);
    }
}

/// `delete` MUST answer `Stale` when `expected` differs from the stored version.
pub async fn refuses_to_delete_another_version_of_a_conversation(storage: &Storage) {
    let (_, talk) = given::chat(storage).await;
    let (tenant, stamp) = (samples::tenant(), samples::stamp(1_000));
    let head = log::head(storage, &tenant).await;
    let conversations = &storage.conversations;
    for version in [0, 2] {
        let answer = conversations.delete(&tenant, talk.id, Some(version), &stamp);
        assert_stale(&answer.await);
    }
    assert_eq!(
        found::conversation(storage, talk.id).await,
        Some(talk.clone())
    );
    assert_eq!(log::head(storage, &tenant).await, head);
    let answer = conversations
        .delete(&tenant, talk.id, Some(1), &stamp)
        .await;
    assert!(matches!(answer.answered(), Deletion::Deleted(_)));
}

/// "Not found" is a value, whatever version was expected.
pub async fn deletes_no_conversation_that_is_not_there(storage: &Storage) {
    let (_, talk) = given::chat(storage).await;
    given::conversation_deleted(storage, &talk).await;
    let (tenant, stamp) = (samples::tenant(), samples::stamp(2_000));
    let head = log::head(storage, &tenant).await;
    for id in [talk.id, samples::conversation_id(404)] {
        for expected in [None, Some(1), Some(7)] {
            let conversations = &storage.conversations;
            let answer = conversations.delete(&tenant, id, expected, &stamp).await;
            assert_eq!(answer.answered(), Deletion::NotFound);
        }
    }
    assert_eq!(log::head(storage, &tenant).await, head);
}

/// The agent and its other conversations are left alone.
pub async fn deletes_nothing_beside_the_conversation(storage: &Storage) {
    let (agent, doomed) = given::chat(storage).await;
    let kept = given::conversation(storage, 2, &agent).await;
    let question = samples::question(1, &agent, samples::existing(&kept, 0));
    given::started(storage, &question).await;
    given::conversation_deleted(storage, &doomed).await;
    assert_eq!(found::agent(storage, agent.id).await, Some(agent));
    let running = found::head(storage, kept.id).await.running_turn;
    assert_eq!(running, Some(question.turn_id));
}
