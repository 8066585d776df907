//! `ConversationRepository`: creating, finding and updating conversations.

use domain::{
    Conversation, EventData, EventType, HistoryLimits, IdempotencyEntry, SentMessage, TitleSource,
};
use ports::{FirstMessages, HistoryQuery, ListingOrder, MessageQuery, SORT_SEQ_OF_RESULT};
use serde_json::json;
use writes::BeginTurn;

use crate::{
    Store, fixture, log, lookup,
    results::{IdempotentExt as _, ResultExt as _, event_count},
    setup,
};

/// `find` and `find_state` return what `insert` stored.
pub async fn an_inserted_conversation_is_stored_unchanged(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let conversation = Conversation {
        title: Some("Où est 🦊?".to_owned()),
        title_source: Some(TitleSource::Person),
        metadata: [("clé".to_owned(), "śćieżka".to_owned())].into(),
        context: Some("Ordered 赤\nyesterday.".to_owned()),
        ..fixture::conversation(1, agent.id)
    };
    let conversation = setup::insert_conversation(storage, conversation).await;
    let tenant = fixture::tenant();
    let found = storage
        .conversations
        .find(&tenant, conversation.id)
        .await
        .success();
    let listed = found.value.expect("the conversation exists");
    assert_eq!(listed.item, conversation);
    assert_eq!(listed.sort_seq, log::head(storage, &tenant).await);
    assert!(found.position <= log::head(storage, &tenant).await);
    let context = storage.conversations.find_context(&tenant, conversation.id);
    let context = context.await.success().value;
    assert_eq!(context.as_deref(), conversation.context.as_deref());
    let head = lookup::state(storage, conversation.id).await;
    assert_eq!((head.id, head.agent_id), (conversation.id, agent.id));
    assert_eq!(head.user_id, conversation.user_id);
    assert_eq!((head.last_message_seq, head.turn_count), (0, 0));
    assert_eq!(head.running_turn, None);
    assert!(lookup::messages(storage, conversation.id).await.is_empty());
}

/// A conversation needs no user.
pub async fn a_conversation_needs_no_user(storage: &Store) {
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
    assert_eq!(lookup::state(storage, conversation.id).await.user_id, None);
}

/// The greeting is stored as message 1.
pub async fn a_greeting_is_stored_as_the_first_message(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let (conversation, greeting) =
        fixture::greeted(fixture::conversation(1, agent.id), "Welcome! 👋");
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(1));
    let conversations = &storage.conversations;
    let first = FirstMessages::Greeting(greeting.clone());
    let result = conversations.insert(&tenant, &conversation, &first, &stamp, None);
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
        lookup::state(storage, conversation.id)
            .await
            .last_message_seq,
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
pub async fn an_insert_writes_conversation_created(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let conversation = fixture::conversation(1, agent.id);
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(5));
    let conversations = &storage.conversations;
    let result = conversations.insert(&tenant, &conversation, &FirstMessages::None, &stamp, None);
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
pub async fn a_conversation_without_agent_is_not_created(storage: &Store) {
    let deleted = setup::agent(storage, 1).await;
    setup::delete_agent(storage, &deleted).await;
    let (tenant, stamp, entry) = (fixture::tenant(), fixture::stamp(5), fixture::entry("k"));
    let head = log::head(storage, &tenant).await;
    for agent in [deleted.id, fixture::agent_id(404)] {
        let conversation = fixture::conversation(1, agent);
        let conversations = &storage.conversations;
        let result = conversations.insert(
            &tenant,
            &conversation,
            &FirstMessages::None,
            &stamp,
            Some(&entry),
        );
        assert_eq!(result.await.applied(), None);
        assert_eq!(lookup::conversation(storage, conversation.id).await, None);
        assert_eq!(lookup::record(storage, &entry).await, None);
    }
    assert_eq!(log::head(storage, &tenant).await, head);
}

/// `insert` MUST write the entry in the same transaction, with the position of the conversation.
pub async fn the_idempotency_entry_is_stored_with_the_conversation(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let entry = IdempotencyEntry {
        result: Some(json!({"id": "c"})),
        ..fixture::entry("k")
    };
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(5));
    let conversation = fixture::conversation(1, agent.id);
    let conversations = &storage.conversations;
    let result = conversations.insert(
        &tenant,
        &conversation,
        &FirstMessages::None,
        &stamp,
        Some(&entry),
    );
    let committed = result.await.applied().expect("the agent exists");
    let record = lookup::record(storage, &entry).await;
    let record = record.expect("the entry is stored");
    assert_eq!(record.fingerprint, entry.fingerprint);
    let result = json!({"id": "c", SORT_SEQ_OF_RESULT: committed.last});
    assert_eq!((record.result, record.turn_id), (Some(result), None));
}

/// `insert` MUST write nothing if the key of the entry was used before, whatever else is wrong.
pub async fn a_used_key_creates_no_second_conversation(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let (tenant, stamp, entry) = (fixture::tenant(), fixture::stamp(5), fixture::entry("k"));
    let conversations = &storage.conversations;
    let conversation = fixture::conversation(1, agent.id);
    let result = conversations.insert(
        &tenant,
        &conversation,
        &FirstMessages::None,
        &stamp,
        Some(&entry),
    );
    assert!(result.await.applied().is_some());
    let head = log::head(storage, &tenant).await;
    for agent in [agent.id, fixture::agent_id(404)] {
        let second = fixture::conversation(2, agent);
        let result =
            conversations.insert(&tenant, &second, &FirstMessages::None, &stamp, Some(&entry));
        assert_eq!(result.await.replayed().fingerprint, entry.fingerprint);
        assert_eq!(lookup::conversation(storage, second.id).await, None);
    }
    assert_eq!(log::head(storage, &tenant).await, head);
}

/// "Not found" is a value, and the history is empty.
pub async fn an_unknown_conversation_is_not_found(storage: &Store) {
    let (tenant, id) = (fixture::tenant(), fixture::conversation_id(404));
    let conversations = &storage.conversations;
    assert_eq!(lookup::conversation(storage, id).await, None);
    let head = conversations.find_state(&tenant, id).await;
    assert_eq!(head.success().value, None);
    let query = MessageQuery {
        order: ListingOrder::Descending,
        after: None,
        limit: 10,
        with_superseded: false,
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

/// The context has the number of messages and of started turns, the turn in progress, and the
/// newest message of the user, which may be queued.
pub async fn the_context_reflects_turns_and_messages(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let head = lookup::state(storage, conversation.id).await;
    assert_eq!(head.newest_message, None);
    let mut turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    turn.begin.client_message_id = Some("m1".to_owned());
    let newest = sent_message(&turn.begin);
    setup::record_turn(storage, turn).await;
    let head = lookup::state(storage, conversation.id).await;
    assert_eq!((head.last_message_seq, head.turn_count), (2, 1));
    assert_eq!(
        (head.running_turn, head.newest_message),
        (None, Some(newest))
    );
    let running = fixture::begin_turn(2, &agent, fixture::existing(&conversation, 1));
    setup::start_turn(storage, &running).await;
    let head = lookup::state(storage, conversation.id).await;
    assert_eq!(head.newest_message, Some(sent_message(&running)));
    let mut waiting = fixture::begin_turn(3, &agent, fixture::existing(&conversation, 1));
    waiting.client_message_id = Some("m3".to_owned());
    setup::queue_turn(storage, &waiting).await;
    let head = lookup::state(storage, conversation.id).await;
    assert_eq!((head.last_message_seq, head.turn_count), (3, 2));
    assert_eq!(head.running_turn, Some(running.turn_id));
    assert_eq!(head.newest_message, Some(sent_message(&waiting)));
    setup::cancel_turn(storage, &waiting, None).await;
    let head = lookup::state(storage, conversation.id).await;
    assert_eq!(head.newest_message, Some(sent_message(&running)));
    setup::cancel_turn(storage, &running, None).await;
    let head = lookup::state(storage, conversation.id).await;
    assert_eq!((head.last_message_seq, head.turn_count), (3, 2));
    assert_eq!(head.running_turn, None);
}

fn sent_message(begin: &BeginTurn) -> SentMessage {
    SentMessage {
        id: begin.message_id,
        client_id: begin.client_message_id.clone(),
    }
}
