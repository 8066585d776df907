//! `ConversationRepository::find_all` and `texts`.

use ports::ConversationText;

use crate::{Store, fixture, lookup, results::ResultExt as _, setup};

/// Conversations are found by their ids as they are found alone, unless they are deleted or of another tenant.
pub async fn many_conversations_are_found_by_id(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    for number in 1..=3 {
        setup::conversation(storage, number, &agent).await;
    }
    let deleted = lookup::conversation(storage, fixture::conversation_id(2)).await;
    setup::delete_conversation(storage, &deleted.expect("a conversation")).await;
    let ids: Vec<_> = (1..=4).map(fixture::conversation_id).collect();
    let tenant = fixture::tenant();
    let found = storage
        .conversations
        .find_all(&tenant, &ids)
        .await
        .success();
    let mut conversations = found.value;
    conversations.sort_unstable_by_key(|it| it.id);
    for (conversation, number) in conversations.iter().zip([1, 3]) {
        let alone = lookup::conversation(storage, fixture::conversation_id(number)).await;
        assert_eq!(alone.as_ref(), Some(conversation));
    }
    assert_eq!(conversations.len(), 2);
    let head = storage.events.bounds(&tenant).await.success().head;
    assert_eq!(found.position, head);
    let other = setup::second_tenant(storage).await;
    let found = storage.conversations.find_all(&other, &ids).await.success();
    assert!(found.value.is_empty());
}

/// Texts are found by their places, unless they are superseded or of deleted conversations.
pub async fn texts_of_messages_are_found_by_place(storage: &Store) {
    let (agent, conversation) = setup::chat_with_turns(storage, 2).await;
    let begin = fixture::begin_turn(9, &agent, fixture::existing(&conversation, 2));
    setup::start_turn(storage, &fixture::superseding(begin, 3, 2)).await;
    let messages = lookup::messages(storage, conversation.id).await;
    let places: Vec<_> = (0..=9).map(|seq| (conversation.id, seq)).collect();
    let tenant = fixture::tenant();
    let texts = storage.conversations.texts(&tenant, &places).await;
    let mut texts = texts.success();
    texts.sort_unstable_by_key(|text| text.seq);
    let expected: Vec<_> = messages
        .into_iter()
        .map(|message| ConversationText {
            conversation_id: conversation.id,
            seq: message.seq,
            id: message.id,
            content: message.content,
        })
        .collect();
    assert_eq!(texts, expected);
    assert_eq!(texts.iter().map(|it| it.seq).collect::<Vec<_>>(), [1, 2, 5]);
    let other = setup::second_tenant(storage).await;
    assert!(
        storage
            .conversations
            .texts(&other, &places)
            .await
            .success()
            .is_empty()
    );
    let latest = lookup::conversation(storage, conversation.id).await;
    setup::delete_conversation(storage, &latest.expect("a conversation")).await;
    assert!(
        storage
            .conversations
            .texts(&tenant, &places)
            .await
            .success()
            .is_empty()
    );
}
