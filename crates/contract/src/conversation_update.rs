//! Updates of conversations.

use domain::{Conversation, EventData, EventType};

use crate::{
    Store, fixture, log, lookup,
    results::{ResultExt as _, assert_stale, event_count},
    setup,
};

/// `update` replaces title, metadata, context, user, version and `updated_at`, and nothing else. It returns
/// the conversation as stored.
pub async fn an_update_replaces_only_what_clients_can_change(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::record_turn(storage, turn).await;
    let before = lookup::conversation(storage, conversation.id).await;
    let before = before.expect("the conversation exists");
    let next = Conversation {
        metadata: [("colour".to_owned(), "赤".to_owned())].into(),
        context: Some("Ordered 赤.".to_owned()),
        agent_id: fixture::agent_id(77),
        user_id: Some("someone else".to_owned()),
        message_count: 77,
        created_at: fixture::at(-1),
        last_message_at: None,
        updated_at: fixture::at(5_000),
        ..fixture::retitled(&before, "Orders")
    };
    let updated = setup::update_conversation(storage, &next).await;
    let expected = Conversation {
        title: next.title,
        title_source: next.title_source,
        metadata: next.metadata,
        context: next.context,
        user_id: next.user_id,
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
pub async fn a_late_update_moves_no_time_backwards(storage: &Store) {
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
pub async fn an_update_writes_conversation_updated(storage: &Store) {
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
pub async fn an_update_of_another_conversation_version_is_stale(storage: &Store) {
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
pub async fn a_deleted_conversation_cannot_be_updated(storage: &Store) {
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
