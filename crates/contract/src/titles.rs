//! Titles of conversations by models.

use domain::{Conversation, EventData, EventType, PrincipalId, TitleSource};
use writes::Committed;

use crate::{
    Store, fixture, log, lookup,
    results::{ResultExt as _, assert_stale},
    setup,
};

async fn title(storage: &Store, conversation: &Conversation) -> Option<(Committed, Conversation)> {
    let command = fixture::title_conversation(1, conversation);
    storage.writes.write(command).await.success()
}

/// A title by a model MUST be the next version, and MUST write `conversation.updated` by the service.
pub async fn a_title_by_a_model_is_stored_and_logged(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let turn = fixture::completed_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::record_turn(storage, turn).await;
    let before = lookup::conversation(storage, conversation.id).await;
    let before = before.expect("the conversation exists");
    assert_eq!((&before.title, before.title_source), (&None, None));
    let (committed, titled) = title(storage, &before).await.expect("the title is wanted");
    let stamp = fixture::title_conversation(1, &before).stamp;
    let expected = Conversation {
        title: Some("By a model".to_owned()),
        title_source: Some(TitleSource::Model),
        version: 2,
        updated_at: stamp.time,
        ..before
    };
    assert_eq!(titled, expected);
    assert_eq!(
        lookup::conversation(storage, conversation.id).await,
        Some(expected)
    );
    let event = log::events_of(storage, committed).await.remove(0);
    assert_eq!(event.kind, EventType::ConversationUpdated);
    assert_eq!(
        (event.time, event.actor),
        (stamp.time, PrincipalId::service())
    );
    assert_eq!(event.user_id, titled.user_id);
    let expected = EventData::Conversation {
        conversation: titled,
        greeting: None,
    };
    assert_eq!(event.data, expected);
}

/// The author of a title, and that a person has removed it, MUST be stored. A title without an author is by a
/// person: it is from before there were others.
pub async fn the_author_of_a_title_is_stored(storage: &Store) {
    let (_, conversation) = setup::chat(storage).await;
    let mut stored = conversation;
    for (title, source, expected) in [
        (None, None, None),
        (Some("Orders"), None, Some(TitleSource::Person)),
        (None, Some(TitleSource::Person), Some(TitleSource::Person)),
        (
            Some("Orders"),
            Some(TitleSource::Model),
            Some(TitleSource::Model),
        ),
        (
            Some("Orders"),
            Some(TitleSource::read("robot")),
            Some(TitleSource::read("robot")),
        ),
    ] {
        let next = Conversation {
            title: title.map(ToOwned::to_owned),
            title_source: source,
            ..fixture::retitled(&stored, "")
        };
        setup::update_conversation(storage, &next).await;
        let found = lookup::conversation(storage, next.id).await;
        stored = found.expect("the conversation exists");
        assert_eq!(stored.title.as_deref(), title);
        assert_eq!(stored.title_source, expected);
    }
}

/// A conversation with a title, and one whose title a person has removed, MUST stay as they are.
pub async fn a_title_of_a_person_is_not_replaced(storage: &Store) {
    let (_, conversation) = setup::chat(storage).await;
    let with_title = fixture::retitled(&conversation, "Orders");
    let with_title = setup::update_conversation(storage, &with_title).await;
    let head = log::head(storage, &fixture::tenant()).await;
    assert_eq!(title(storage, &with_title).await, None);
    let without = Conversation {
        title: None,
        ..fixture::retitled(&with_title, "")
    };
    assert_eq!(log::head(storage, &fixture::tenant()).await, head);
    let without = setup::update_conversation(storage, &without).await;
    assert_eq!(title(storage, &without).await, None);
    let found = lookup::conversation(storage, conversation.id).await;
    let found = found.expect("the conversation exists");
    assert_eq!(
        (found.title, found.title_source),
        (None, Some(TitleSource::Person))
    );
}

/// A title MUST be `Stale` and write nothing if the conversation has changed since it was read.
pub async fn a_conversation_that_has_changed_gets_no_title(storage: &Store) {
    let (_, conversation) = setup::chat(storage).await;
    let changed = fixture::retitled(&conversation, "Orders");
    let changed = setup::update_conversation(storage, &changed).await;
    let head = log::head(storage, &fixture::tenant()).await;
    let command = fixture::title_conversation(1, &conversation);
    assert_stale(&storage.writes.write(command).await);
    assert_eq!(log::head(storage, &fixture::tenant()).await, head);
    let found = lookup::conversation(storage, conversation.id).await;
    assert_eq!(found, Some(changed));
}

/// A title MUST be `None` if the conversation, or its agent, does not exist.
pub async fn a_deleted_conversation_gets_no_title(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    setup::delete_conversation(storage, &conversation).await;
    let other = setup::conversation(storage, 2, &agent).await;
    setup::delete_agent(storage, &agent).await;
    let head = log::head(storage, &fixture::tenant()).await;
    assert_eq!(title(storage, &conversation).await, None);
    assert_eq!(title(storage, &other).await, None);
    assert_eq!(log::head(storage, &fixture::tenant()).await, head);
}
