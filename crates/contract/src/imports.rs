//! `CreateConversation`: conversations that begin with the messages of a conversation led elsewhere.

use domain::{
    Author, AuthorKind, Conversation, EventData, EventType, HistoryLimits, Message, Role,
    conversation::excerpt,
};
use ports::{FirstMessages, HistoryQuery, MessageReference};

use crate::{
    Store, fixture, forks, log, lookup,
    results::{IdempotentExt as _, ResultExt as _},
    setup,
};

/// A question, the agent's reply and a message of staff, all before the import.
fn messages(conversation: &Conversation) -> Vec<Message> {
    let message = |number: u32, role, content: &str| {
        let place = (conversation.id, i64::from(number));
        let at = fixture::at(i64::from(number));
        let id = fixture::message_id(700 + number);
        Message::new(place, id, role, content.to_owned(), at)
    };
    vec![
        Message {
            client_message_id: Some("own-1".to_owned()),
            ..message(1, Role::User, "Where is my order?")
        },
        message(2, Role::Agent, "On its way."),
        Message {
            author: Some(Author {
                name: "Grace".to_owned(),
                avatar_url: None,
                kind: AuthorKind::Staff,
            }),
            ..message(3, Role::Agent, "It arrives today.")
        },
    ]
}

/// Imports a conversation of agent 1, 50 seconds after it began.
async fn import(storage: &Store) -> (Conversation, Vec<Message>) {
    let agent = setup::agent(storage, 1).await;
    let conversation = fixture::conversation(1, agent.id);
    let messages = messages(&conversation);
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(50));
    let conversation = Conversation {
        message_count: 3,
        excerpt: Some(excerpt(&messages[2].content, &[])),
        last_message_at: Some(messages[2].created_at),
        updated_at: stamp.time,
        ..conversation
    };
    let first = FirstMessages::Imported(messages.clone());
    let conversations = &storage.conversations;
    let result = conversations.insert(&tenant, &conversation, &first, &stamp, None);
    let committed = result.await.applied().expect("the agent exists");
    let types = log::types_of(storage, committed).await;
    assert_eq!(types, [EventType::ConversationCreated]);
    let event = log::events_of(storage, committed).await.remove(0);
    let greeting = None;
    let expected = EventData::Conversation {
        conversation: conversation.clone(),
        greeting,
    };
    assert_eq!(event.data, expected, "no imported message is a greeting");
    (conversation, messages)
}

/// Imported messages are stored as they are, with one event.
pub async fn imported_messages_are_stored_unchanged(storage: &Store) {
    let (conversation, messages) = import(storage).await;
    let stored = lookup::conversation(storage, conversation.id).await;
    assert_eq!(stored, Some(conversation.clone()));
    assert_eq!(lookup::messages(storage, conversation.id).await, messages);
    let state = lookup::state(storage, conversation.id).await;
    assert_eq!((state.last_message_seq, state.turn_count), (3, 0));
}

/// The user's messages are found by the client's own id.
pub async fn imported_messages_are_found_by_the_clients_id(storage: &Store) {
    let (conversation, messages) = import(storage).await;
    let (tenant, conversations) = (fixture::tenant(), &storage.conversations);
    let find = async |id: &str| {
        let reference = MessageReference::ClientId(id.to_owned());
        let found = conversations.find_message(&tenant, conversation.id, &reference);
        found.await.success().map(|found| found.message)
    };
    assert_eq!(find("own-1").await.as_ref(), Some(&messages[0]));
    assert_eq!(find("own-2").await, None);
    let (fork, committed) = forks::fork(storage, 2, &conversation, &messages, 0).await;
    committed.success();
    let copied = lookup::messages(storage, fork.id).await;
    let of_clients: Vec<_> = copied
        .iter()
        .map(|it| it.client_message_id.as_deref())
        .collect();
    assert_eq!(of_clients, [Some("own-1"), None, None]);
}

/// Imported messages are part of the history, and turns continue after them.
pub async fn turns_continue_after_imported_messages(storage: &Store) {
    let (conversation, _) = import(storage).await;
    setup::node(storage, 1).await;
    let agent = fixture::agent(1);
    let begin = fixture::begin_turn(10, &agent, fixture::existing(&conversation, 0));
    let started = setup::start_turn(storage, &begin).await.messages;
    assert_eq!((started.message.seq, started.turn_number), (4, 0));
    setup::complete_turn(storage, &begin, 10).await;
    let query = HistoryQuery {
        before: 4,
        limits: HistoryLimits::default(),
    };
    let (tenant, conversations) = (fixture::tenant(), &storage.conversations);
    let history = conversations.history(&tenant, conversation.id, &query);
    let history = history.await.success();
    let seqs: Vec<_> = history.iter().map(|message| message.seq).collect();
    assert_eq!(seqs, [1, 2, 3]);
    assert_eq!(history[1].role, Role::Agent);
    // Editing the imported message replaces what follows, but not what staff has written.
    let begin = fixture::begin_turn(11, &agent, fixture::existing(&conversation, 1));
    let edit = fixture::superseding(begin, 1, 0);
    setup::start_turn(storage, &edit).await;
    assert_eq!(lookup::message_seqs(storage, conversation.id).await, [3, 6]);
}
