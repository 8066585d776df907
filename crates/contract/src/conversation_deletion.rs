//! `DeleteConversation`: the data that is deleted with a conversation, and the data
//! that stays.

use domain::{
    AgentReach, Conversation, ConversationId, EventData, EventType, HistoryLimits, TurnStatus,
    event_data::Tombstone,
};
use ports::{
    ConversationFilter, HistoryQuery, ListingOrder, MessageQuery, MessageReference, TurnFilter,
    TurnQuery,
};
use writes::{BeginOutcome, DeleteOutcome, FinishOutcome, RecordTurnOutcome, TurnEnding};

use crate::{
    Store, fixture, log, lookup, pages,
    results::{ResultExt as _, assert_stale, event_count},
    setup,
};

/// Asserts that no method of a store finds this conversation of agent 1 and user `ada`.
pub(crate) async fn assert_not_found_by_any_method(storage: &Store, conversation: &Conversation) {
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(2_000));
    let conversations = &storage.conversations;
    assert_eq!(lookup::conversation(storage, conversation.id).await, None);
    let head = conversations
        .find_state(&tenant, conversation.id)
        .await
        .success();
    assert_eq!(head.value, None);
    let all = ConversationFilter::default();
    let of_agent = ConversationFilter {
        agents: AgentReach::only([conversation.agent_id]),
        ..all.clone()
    };
    let of_user = ConversationFilter {
        user_id: conversation.user_id.clone(),
        ..all.clone()
    };
    for filter in [all, of_agent, of_user] {
        let listed = pages::conversations_behind(storage, &filter, None, 10).await;
        assert!(
            listed.iter().all(|listed| listed.id != conversation.id),
            "{filter:?}"
        );
    }
    let next = fixture::retitled(conversation, "Ghost");
    let updated = conversations.update(&tenant, &next, &stamp).await;
    assert_eq!(updated.success(), None);
    let deleted = conversations
        .delete(&tenant, conversation.id, None, &stamp)
        .await;
    assert_eq!(deleted.success(), DeleteOutcome::NotFound);
    let query = MessageQuery {
        order: ListingOrder::Ascending,
        after: None,
        limit: 10,
        with_superseded: false,
    };
    let messages = conversations
        .messages(&tenant, conversation.id, &query)
        .await;
    assert_eq!(messages.success().value, None);
    let message = MessageReference::Id(fixture::message_id(2));
    let found = conversations.find_message(&tenant, conversation.id, &message);
    assert_eq!(found.await.success(), None);
    assert_turns_not_found(storage, conversation.id).await;
    let query = HistoryQuery {
        before: i64::MAX,
        limits: HistoryLimits::default(),
    };
    let history = conversations
        .history(&tenant, conversation.id, &query)
        .await;
    assert!(history.success().is_empty());
}

async fn assert_turns_not_found(storage: &Store, id: ConversationId) {
    let tenant = fixture::tenant();
    let query = TurnQuery {
        filter: TurnFilter::All,
        order: ListingOrder::Ascending,
        after: None,
        limit: 10,
    };
    let turns = storage.turns.list(&tenant, id, &query).await;
    assert_eq!(turns.success().value, None);
    let current = storage.turns.find_current(&tenant, id).await;
    assert_eq!(current.success(), None);
}

/// `delete` writes `conversation.deleted`.
pub async fn a_deletion_writes_conversation_deleted(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    setup::update_conversation(storage, &fixture::retitled(&conversation, "Orders")).await;
    let committed = setup::delete_conversation(storage, &conversation).await;
    assert_eq!(event_count(committed), 1);
    let event = log::events_of(storage, committed).await.remove(0);
    assert_eq!(event.kind, EventType::ConversationDeleted);
    assert_eq!(
        (event.time, event.actor),
        (fixture::at(1_000), fixture::principal())
    );
    assert_eq!(event.agent_id, Some(agent.id));
    assert_eq!(event.conversation_id, Some(conversation.id));
    assert_eq!(event.user_id, conversation.user_id);
    let left = Tombstone::new(conversation.id, 2);
    assert_eq!(
        event.data,
        EventData::ConversationDeleted { conversation: left }
    );
}

/// No method finds a deleted conversation.
pub async fn a_deleted_conversation_is_not_found_by_any_method(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::record_turn(storage, turn).await;
    setup::delete_conversation(storage, &conversation).await;
    assert_not_found_by_any_method(storage, &conversation).await;
    let target = fixture::existing(&conversation, 1);
    let turn = fixture::completed_turn(2, &agent, target.clone());
    let recorded = storage.turns.record_completed_turn(turn).await.success();
    assert_eq!(recorded, RecordTurnOutcome::ConversationNotFound);
    let begin = fixture::begin_turn(3, &agent, target);
    let outcome = storage.turns.begin_turn(begin).await.success();
    assert_eq!(outcome, BeginOutcome::ConversationNotFound);
}

/// Its turns are cancelled first, in the order of their ids. No queued turn is promoted.
pub async fn deleting_a_conversation_cancels_open_turns_first(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = |number| fixture::begin_turn(number, &agent, fixture::existing(&conversation, 0));
    for (number, runs) in [(2, true), (3, false), (1, false)] {
        if runs {
            setup::start_turn(storage, &begin(number)).await;
        } else {
            setup::queue_turn(storage, &begin(number)).await;
        }
    }
    let committed = setup::delete_conversation(storage, &conversation).await;
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
        assert_eq!(event.turn_id, Some(fixture::turn_id(number)));
        let turn = lookup::turn(storage, fixture::turn_id(number)).await;
        assert_eq!(turn.map(|turn| turn.status), Some(TurnStatus::Cancelled));
    }
    let finish = fixture::finish(&begin(2), TurnEnding::Completed(fixture::reply(2)));
    let finished = storage.turns.finish_turn(finish).await;
    assert_eq!(finished.success(), FinishOutcome::NotOwned);
}

/// Turns that ended before the deletion MUST NOT be found any more. Turns that the deletion
/// cancelled are found (see [`deleting_a_conversation_cancels_open_turns_first`]).
pub async fn ended_turns_of_a_deleted_conversation_are_not_found(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::record_turn(storage, turn).await;
    let cancelled = fixture::begin_turn(2, &agent, fixture::existing(&conversation, 1));
    setup::start_turn(storage, &cancelled).await;
    let (tenant, turns, stamp) = (fixture::tenant(), &storage.turns, fixture::stamp(500));
    let outcome = turns.cancel_turn(&tenant, cancelled.turn_id, None, None, &stamp);
    outcome.await.success();
    for number in [1, 2] {
        assert!(
            lookup::turn(storage, fixture::turn_id(number))
                .await
                .is_some()
        );
    }
    setup::delete_conversation(storage, &conversation).await;
    for number in [1, 2] {
        assert_eq!(lookup::turn(storage, fixture::turn_id(number)).await, None);
    }
}

/// `delete` MUST return `Stale` if `expected` differs from the stored version.
pub async fn deleting_another_version_of_a_conversation_is_stale(storage: &Store) {
    let (_, conversation) = setup::chat(storage).await;
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(1_000));
    let head = log::head(storage, &tenant).await;
    let conversations = &storage.conversations;
    for version in [0, 2] {
        let result = conversations.delete(&tenant, conversation.id, Some(version), &stamp);
        assert_stale(&result.await);
    }
    assert_eq!(
        lookup::conversation(storage, conversation.id).await,
        Some(conversation.clone())
    );
    assert_eq!(log::head(storage, &tenant).await, head);
    let result = conversations
        .delete(&tenant, conversation.id, Some(1), &stamp)
        .await;
    assert!(matches!(result.success(), DeleteOutcome::Deleted(_)));
}

/// "Not found" is a value, whatever version is expected.
pub async fn deleting_an_unknown_conversation_is_not_found(storage: &Store) {
    let (_, conversation) = setup::chat(storage).await;
    setup::delete_conversation(storage, &conversation).await;
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(2_000));
    let head = log::head(storage, &tenant).await;
    for id in [conversation.id, fixture::conversation_id(404)] {
        for expected in [None, Some(1), Some(7)] {
            let conversations = &storage.conversations;
            let result = conversations.delete(&tenant, id, expected, &stamp).await;
            assert_eq!(result.success(), DeleteOutcome::NotFound);
        }
    }
    assert_eq!(log::head(storage, &tenant).await, head);
}

/// `delete` changes neither the agent nor its other conversations.
pub async fn deleting_a_conversation_keeps_everything_else(storage: &Store) {
    let (agent, doomed) = setup::chat(storage).await;
    let kept = setup::conversation(storage, 2, &agent).await;
    let begin = fixture::begin_turn(1, &agent, fixture::existing(&kept, 0));
    setup::start_turn(storage, &begin).await;
    setup::delete_conversation(storage, &doomed).await;
    assert_eq!(lookup::agent(storage, agent.id).await, Some(agent));
    let running = lookup::state(storage, kept.id).await.running_turn;
    assert_eq!(running, Some(begin.turn_id));
}
