//! `ConversationRepository`: creating, finding and updating conversations.

use domain::{Conversation, EventData, EventType, HistoryLimits, IdempotencyEntry};
use ports::{HistoryQuery, MessageOrder, MessageQuery, Storage};
use serde_json::json;

use crate::{
    fixture, log, lookup,
    results::{IdempotentExt as _, ResultExt as _, assert_stale, event_count},
    setup,
};

/// `find` and `find_context` return what `insert` stored.
pub async fn an_inserted_conversation_is_stored_unchanged(storage: &Storage) {
    let agent = setup::agent(storage, 1).await;
    let conversation = Conversation {
        title: Some("Où est 🦊?".to_owned()),
        metadata: [("clé".to_owned(), "śćieżka".to_owned())].into(),
        ..fixture::conversation(1, agent.id)
    };
    let conversation = setup::insert_conversation(storage, conversation).await;
    let tenant = fixture::tenant();
    let found = storage
        .conversations
        .find(&tenant, conversation.id)
        .await
        .success();
    assert_eq!(found.value, Some(conversation.clone()));
    assert!(found.position <= log::head(storage, &tenant).await);
    let head = lookup::context(storage, conversation.id).await;
    assert_eq!((head.id, head.agent_id), (conversation.id, agent.id));
    assert_eq!(head.user_id, conversation.user_id);
    assert_eq!((head.message_count, head.turn_count), (0, 0));
    assert_eq!(head.running_turn, None);
    assert!(lookup::messages(storage, conversation.id).await.is_empty());
}

/// A conversation needs no user.
pub async fn a_conversation_needs_no_user(storage: &Storage) {
    let agent = setup::agent(storage, 1).await;
    let conversation = Conversation {
        user_id: None,
        ..fixture::conversation(1, agent.id)
    };
    let conversation = setup::insert_conversation(storage, conversation).await;
    assert_eq!(
        lookup::conversation(storage, conversation.id).await,
        Some(conversation.clone())
    );
    assert_eq!(
        lookup::context(storage, conversation.id).await.user_id,
        None
    );
}

/// The greeting is stored as message 1.
pub async fn a_greeting_is_stored_as_the_first_message(storage: &Storage) {
    let agent = setup::agent(storage, 1).await;
    let (conversation, greeting) =
        fixture::greeted(fixture::conversation(1, agent.id), "Welcome! 👋");
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(1));
    let conversations = &storage.conversations;
    let result = conversations.insert(&tenant, &conversation, Some(&greeting), &stamp, None);
    let committed = result.await.applied().expect("the agent exists");
    assert_eq!(event_count(committed), 1);
    assert_eq!(
        lookup::conversation(storage, conversation.id).await,
        Some(conversation.clone())
    );
    assert_eq!(
        lookup::messages(storage, conversation.id).await,
        std::slice::from_ref(&greeting)
    );
    assert_eq!(
        lookup::context(storage, conversation.id)
            .await
            .message_count,
        1
    );
    let event = log::events_of(storage, committed).await.remove(0);
    let expected = EventData::Conversation {
        conversation,
        greeting: Some(greeting),
    };
    assert_eq!(event.data, expected);
}

/// `insert` MUST write `conversation.created`.
pub async fn an_insert_writes_conversation_created(storage: &Storage) {
    let agent = setup::agent(storage, 1).await;
    let conversation = fixture::conversation(1, agent.id);
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(5));
    let conversations = &storage.conversations;
    let result = conversations.insert(&tenant, &conversation, None, &stamp, None);
    let committed = result.await.applied().expect("the agent exists");
    assert_eq!((committed.first.0, committed.last.0), (2, 2));
    let event = log::events(storage).await.remove(1);
    assert_eq!(
        (event.seq.0, event.kind),
        (2, EventType::ConversationCreated)
    );
    assert_eq!((event.time, event.actor), (stamp.time, stamp.actor));
    assert_eq!(event.agent_id, Some(agent.id));
    assert_eq!(event.conversation_id, Some(conversation.id));
    assert_eq!(event.user_id, conversation.user_id);
    assert_eq!(event.turn_id, None);
    let expected = EventData::Conversation {
        conversation,
        greeting: None,
    };
    assert_eq!(event.data, expected);
}

/// `insert` MUST return `Applied(None)` and write nothing if the agent does not exist.
pub async fn a_conversation_without_agent_is_not_created(storage: &Storage) {
    let deleted = setup::agent(storage, 1).await;
    setup::delete_agent(storage, &deleted).await;
    let (tenant, stamp, entry) = (fixture::tenant(), fixture::stamp(5), fixture::entry("k"));
    let head = log::head(storage, &tenant).await;
    for agent in [deleted.id, fixture::agent_id(404)] {
        let conversation = fixture::conversation(1, agent);
        let conversations = &storage.conversations;
        let result = conversations.insert(&tenant, &conversation, None, &stamp, Some(&entry));
        assert_eq!(result.await.applied(), None);
        assert_eq!(lookup::conversation(storage, conversation.id).await, None);
        assert_eq!(lookup::record(storage, &entry).await, None);
    }
    assert_eq!(log::head(storage, &tenant).await, head);
}

/// `insert` MUST write the entry in the same transaction.
pub async fn the_idempotency_entry_is_stored_with_the_conversation(storage: &Storage) {
    let agent = setup::agent(storage, 1).await;
    let entry = IdempotencyEntry {
        answer: Some(json!({"id": "c"})),
        ..fixture::entry("k")
    };
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(5));
    let conversation = fixture::conversation(1, agent.id);
    let conversations = &storage.conversations;
    let result = conversations.insert(&tenant, &conversation, None, &stamp, Some(&entry));
    assert!(result.await.applied().is_some());
    let record = lookup::record(storage, &entry).await;
    let record = record.expect("the entry is stored");
    assert_eq!(record.fingerprint, entry.fingerprint);
    assert_eq!((record.answer, record.turn_id), (entry.answer, None));
}

/// `insert` MUST write nothing if the key of the entry was used before, whatever else is wrong.
pub async fn a_used_key_creates_no_second_conversation(storage: &Storage) {
    let agent = setup::agent(storage, 1).await;
    let (tenant, stamp, entry) = (fixture::tenant(), fixture::stamp(5), fixture::entry("k"));
    let conversations = &storage.conversations;
    let conversation = fixture::conversation(1, agent.id);
    let result = conversations.insert(&tenant, &conversation, None, &stamp, Some(&entry));
    assert!(result.await.applied().is_some());
    let head = log::head(storage, &tenant).await;
    for agent in [agent.id, fixture::agent_id(404)] {
        let second = fixture::conversation(2, agent);
        let result = conversations.insert(&tenant, &second, None, &stamp, Some(&entry));
        assert_eq!(result.await.replayed().fingerprint, entry.fingerprint);
        assert_eq!(lookup::conversation(storage, second.id).await, None);
    }
    assert_eq!(log::head(storage, &tenant).await, head);
}

/// "Not found" is a value, and the history is empty.
pub async fn an_unknown_conversation_is_not_found(storage: &Storage) {
    let (tenant, id) = (fixture::tenant(), fixture::conversation_id(404));
    let conversations = &storage.conversations;
    assert_eq!(lookup::conversation(storage, id).await, None);
    let head = conversations.find_context(&tenant, id).await;
    assert_eq!(head.success().value, None);
    let query = MessageQuery {
        order: MessageOrder::Descending,
        after: None,
        limit: 10,
    };
    let messages = conversations.messages(&tenant, id, &query).await;
    assert_eq!(messages.success().value, None);
    let query = HistoryQuery {
        before: 10,
        limits: HistoryLimits::default(),
    };
    let history = conversations.history(&tenant, id, &query).await;
    assert!(history.success().is_empty());
}

/// The context has the number of messages and of started turns, and the turn in progress.
pub async fn the_context_reflects_turns_and_messages(storage: &Storage) {
    let (agent, conversation) = setup::chat(storage).await;
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::record_turn(storage, turn).await;
    let head = lookup::context(storage, conversation.id).await;
    assert_eq!((head.message_count, head.turn_count), (2, 1));
    assert_eq!(head.running_turn, None);
    let running = fixture::begin_turn(2, &agent, fixture::existing(&conversation, 1));
    setup::start_turn(storage, &running).await;
    let waiting = fixture::begin_turn(3, &agent, fixture::existing(&conversation, 1));
    setup::queue_turn(storage, &waiting).await;
    let head = lookup::context(storage, conversation.id).await;
    assert_eq!((head.message_count, head.turn_count), (3, 2));
    assert_eq!(head.running_turn, Some(running.turn_id));
    setup::cancel_turn(storage, &running, None).await;
    let head = lookup::context(storage, conversation.id).await;
    assert_eq!((head.message_count, head.turn_count), (3, 2));
    assert_eq!(head.running_turn, None);
}

/// `update` replaces title, metadata, version and `updated_at`, and nothing else. It returns the
/// conversation as stored.
pub async fn an_update_replaces_only_title_and_metadata(storage: &Storage) {
    let (agent, conversation) = setup::chat(storage).await;
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::record_turn(storage, turn).await;
    let before = lookup::conversation(storage, conversation.id).await;
    let before = before.expect("the conversation exists");
    let next = Conversation {
        metadata: [("colour".to_owned(), "赤".to_owned())].into(),
        user_id: Some("someone else".to_owned()),
        message_count: 77,
        created_at: fixture::at(-1),
        last_message_at: None,
        updated_at: fixture::at(5_000),
        ..fixture::retitled(&conversation, "Orders")
    };
    let updated = setup::update_conversation(storage, &next).await;
    let expected = Conversation {
        title: next.title,
        metadata: next.metadata,
        version: 2,
        updated_at: fixture::at(5_000),
        ..before
    };
    assert_eq!(expected.message_count, 2);
    assert_eq!(updated, expected);
    assert_eq!(
        lookup::conversation(storage, conversation.id).await,
        Some(expected)
    );
}

/// `updated_at` MUST NOT move backwards: a turn may have ended after the caller read its clock.
pub async fn a_late_update_moves_no_time_backwards(storage: &Storage) {
    let (agent, conversation) = setup::chat(storage).await;
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::record_turn(storage, turn).await;
    let before = lookup::conversation(storage, conversation.id).await;
    let before = before.expect("the conversation exists");
    let late = Conversation {
        updated_at: fixture::at(-1),
        ..fixture::retitled(&before, "Orders")
    };
    assert!(late.updated_at < before.updated_at);
    let updated = setup::update_conversation(storage, &late).await;
    assert_eq!(updated.updated_at, before.updated_at);
    assert_eq!(
        lookup::conversation(storage, conversation.id).await,
        Some(updated)
    );
}

/// `update` MUST write `conversation.updated`.
pub async fn an_update_writes_conversation_updated(storage: &Storage) {
    let (agent, conversation) = setup::chat(storage).await;
    let next = fixture::retitled(&conversation, "Orders");
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(9));
    let result = storage.conversations.update(&tenant, &next, &stamp).await;
    let (committed, updated) = result.success().expect("the conversation exists");
    assert_eq!(event_count(committed), 1);
    let event = log::events_of(storage, committed).await.remove(0);
    assert_eq!(event.kind, EventType::ConversationUpdated);
    assert_eq!((event.time, event.actor), (stamp.time, stamp.actor));
    assert_eq!(event.agent_id, Some(agent.id));
    assert_eq!(event.conversation_id, Some(conversation.id));
    assert_eq!(event.user_id, conversation.user_id);
    let expected = EventData::Conversation {
        conversation: updated,
        greeting: None,
    };
    assert_eq!(event.data, expected);
}

/// `update` MUST return `Stale` and write nothing unless it is the next version.
pub async fn an_update_of_another_conversation_version_is_stale(storage: &Storage) {
    let (_, conversation) = setup::chat(storage).await;
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(9));
    let head = log::head(storage, &tenant).await;
    for version in [0, 1, 3] {
        let mut next = fixture::retitled(&conversation, "Orders");
        next.version = version;
        let result = storage.conversations.update(&tenant, &next, &stamp).await;
        assert_stale(&result);
    }
    assert_eq!(
        lookup::conversation(storage, conversation.id).await,
        Some(conversation)
    );
    assert_eq!(log::head(storage, &tenant).await, head);
}

/// `update` MUST return `None` if the conversation does not exist. Turns do not change its version.
pub async fn a_deleted_conversation_cannot_be_updated(storage: &Storage) {
    let (agent, conversation) = setup::chat(storage).await;
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(9));
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::record_turn(storage, turn).await;
    let second = fixture::retitled(&conversation, "Orders");
    setup::update_conversation(storage, &second).await;
    setup::delete_conversation(storage, &conversation).await;
    let unknown = fixture::conversation(404, agent.id);
    for next in [
        fixture::retitled(&second, "Ghost"),
        fixture::retitled(&unknown, "Ghost"),
    ] {
        let result = storage.conversations.update(&tenant, &next, &stamp).await;
        assert_eq!(result.success(), None);
    }
}
