//! `ConversationRepository::find_message`.

use domain::{Conversation, ConversationId, MessageId};
use ports::{FoundMessage, MessageCounts, MessageReference};
use writes::{BeginTurn, CompletedTurn};

use crate::{Store, fixture, lookup, results::ResultExt as _, setup};

async fn find(
    storage: &Store,
    conversation: ConversationId,
    message: MessageId,
) -> Option<FoundMessage> {
    find_referred(storage, conversation, MessageReference::Id(message)).await
}

async fn find_by_client_id(
    storage: &Store,
    conversation: ConversationId,
    id: &str,
) -> Option<FoundMessage> {
    let reference = MessageReference::ClientId(id.to_owned());
    find_referred(storage, conversation, reference).await
}

async fn find_referred(
    storage: &Store,
    conversation: ConversationId,
    reference: MessageReference,
) -> Option<FoundMessage> {
    let (tenant, conversations) = (fixture::tenant(), &storage.conversations);
    let found = conversations.find_message(&tenant, conversation, &reference);
    found.await.success()
}

fn named(begin: BeginTurn, client_id: &str) -> BeginTurn {
    let client_message_id = Some(client_id.to_owned());
    BeginTurn {
        client_message_id,
        ..begin
    }
}

/// A message is found as it is listed, with the one before it and their number.
pub async fn a_message_is_found_with_its_place(storage: &Store) {
    let (_, conversation) = setup::chat_with_turns(storage, 2).await;
    let messages = lookup::messages(storage, conversation.id).await;
    for (index, message) in messages.iter().enumerate() {
        let expected = FoundMessage {
            message: message.clone(),
            before: i64::try_from(index).expect("few messages"),
            previous: index.checked_sub(1).map(|before| messages[before].clone()),
            of_staff: 0,
            counts: MessageCounts {
                last_seq: 4,
                superseded: 0,
            },
        };
        let found = find(storage, conversation.id, message.id).await;
        assert_eq!(found, Some(expected));
    }
}

/// Superseded messages are found, but neither counted nor returned as the previous one.
pub async fn superseded_messages_have_no_place_among_the_others(storage: &Store) {
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
            of_staff: 0,
            counts: MessageCounts {
                last_seq: 7,
                superseded: 4,
            },
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
pub async fn a_message_is_found_in_its_conversation_only(storage: &Store) {
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

/// A user's message is found by the client's own id as by its id: the newest one with the id, also
/// after it was superseded or answered again, and only in its conversation.
pub async fn a_message_is_found_by_the_clients_own_id(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let other = setup::conversation(storage, 2, &agent).await;
    let record = async |number: u32, to: &Conversation, before: i64, id: &str| {
        let turn = fixture::completed_turn(number, &agent, fixture::existing(to, before));
        let begin = named(turn.begin.clone(), id);
        setup::record_turn(storage, CompletedTurn { begin, ..turn }).await;
    };
    record(1, &conversation, 0, "m1").await;
    record(2, &conversation, 1, "m2").await;
    record(3, &other, 0, "m3").await;
    let assert_found = async |client_id: &str, id: MessageId| {
        let found = find_by_client_id(storage, conversation.id, client_id).await;
        assert_eq!(found, find(storage, conversation.id, id).await);
        assert_eq!(found.map(|found| found.message.id), Some(id));
    };
    assert_found("m1", fixture::message_id(2)).await;
    assert_found("m2", fixture::message_id(4)).await;

    let listed = lookup::messages(storage, conversation.id).await;
    let begin = fixture::begin_turn(4, &agent, fixture::existing(&conversation, 2));
    let again = fixture::answering_again(named(begin, "m2"), &listed[2], 3);
    setup::start_turn(storage, &again).await;
    assert_found("m2", fixture::message_id(4)).await;
    setup::cancel_turn(storage, &again, None).await;

    let begin = fixture::begin_turn(5, &agent, fixture::existing(&conversation, 3));
    let edit = fixture::superseding(named(begin, "m1"), 1, 0);
    setup::start_turn(storage, &edit).await;
    assert_found("m1", edit.message_id).await;
    assert_found("m2", fixture::message_id(4)).await;

    let waiting = fixture::begin_turn(6, &agent, fixture::existing(&conversation, 4));
    setup::queue_turn(storage, &named(waiting, "m6")).await;
    for unknown in ["m3", "m6", "", "M1"] {
        let found = find_by_client_id(storage, conversation.id, unknown).await;
        assert_eq!(found, None, "{unknown}");
    }
    setup::delete_conversation(storage, &conversation).await;
    let found = find_by_client_id(storage, conversation.id, "m1").await;
    assert_eq!(found, None);
}
