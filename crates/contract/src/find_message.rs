//! `ConversationRepository::find_message`.

use domain::{ConversationId, MessageId};
use ports::{FoundMessage, MessageReference, Storage};

use crate::{fixture, lookup, results::ResultExt as _, setup};

async fn find(
    storage: &Storage,
    conversation: ConversationId,
    message: MessageId,
) -> Option<FoundMessage> {
    let (tenant, conversations) = (fixture::tenant(), &storage.conversations);
    let message = MessageReference::Id(message);
    let found = conversations.find_message(&tenant, conversation, &message);
    found.await.success()
}

/// A message is found as it is listed, with the one before it and their number.
pub async fn a_message_is_found_with_its_place(storage: &Storage) {
    let (_, conversation) = setup::chat_with_turns(storage, 2).await;
    let messages = lookup::messages(storage, conversation.id).await;
    for (index, message) in messages.iter().enumerate() {
        let expected = FoundMessage {
            message: message.clone(),
            before: i64::try_from(index).expect("few messages"),
            previous: index.checked_sub(1).map(|before| messages[before].clone()),
        };
        let found = find(storage, conversation.id, message.id).await;
        assert_eq!(found, Some(expected));
    }
}

/// Superseded messages are found, but neither counted nor returned as the previous one.
pub async fn superseded_messages_have_no_place_among_the_others(storage: &Storage) {
    let (agent, conversation) = setup::chat_with_turns(storage, 3).await;
    let begin = fixture::begin_turn(10, &agent, fixture::existing(&conversation, 3));
    let edit = fixture::superseding(begin, 3, 2);
    setup::start_turn(storage, &edit).await;
    let messages = lookup::all_messages(storage, conversation.id).await;
    for message in &messages[2..] {
        let expected = FoundMessage {
            message: message.clone(),
            before: 2,
            previous: Some(messages[1].clone()),
        };
        let found = find(storage, conversation.id, message.id).await;
        assert_eq!(found, Some(expected));
        assert_eq!(
            message.superseded_at.is_some(),
            message.id != edit.message_id
        );
    }
}

/// A message of another conversation is not found, nor is an unknown one.
pub async fn a_message_is_found_in_its_conversation_only(storage: &Storage) {
    let (agent, conversation) = setup::chat_with_turns(storage, 1).await;
    let other = setup::conversation(storage, 2, &agent).await;
    let message = fixture::begin_turn(1, &agent, fixture::existing(&other, 0)).message_id;
    assert!(find(storage, conversation.id, message).await.is_some());
    assert_eq!(find(storage, other.id, message).await, None);
    let unknown = fixture::message_id(404);
    assert_eq!(find(storage, conversation.id, unknown).await, None);
    assert_eq!(
        find(storage, fixture::conversation_id(404), message).await,
        None
    );
}
