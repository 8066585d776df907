//! `WriteStaffMessage` and `ChangeStaffMessage`: messages of staff.

use domain::{
    Author, AuthorKind, Conversation, ConversationId, EventData, EventType, FileReference,
    HistoryMessage, IdempotencyEntry, Message, Role, Seq,
    event_data::{EventMessage, MessagePlace},
};
use ports::{FoundMessage, HistoryQuery, MessageReference, RepositoryError};
use writes::{
    BeginTurn, ChangeStaffMessage, Committed, StaffMessageChange, StaffMessageOutcome,
    UnusableFile, WriteStaffMessage,
};

use crate::{
    Store, files, fixture, forks, log, lookup,
    results::{ResultExt as _, assert_stale},
    setup,
};

pub(crate) fn author() -> Author {
    Author {
        name: "Grace 🦊".to_owned(),
        avatar_url: Some("https://example.org/grace.png".to_owned()),
        kind: AuthorKind::Staff,
    }
}

fn draft(id: ConversationId, number: u32) -> WriteStaffMessage {
    let content = format!("Staff {number}");
    let (place, message_id) = ((id, 0), fixture::message_id(1_000 + number));
    let stamp = fixture::stamp(2_000 + i64::from(number));
    WriteStaffMessage {
        tenant: fixture::tenant(),
        message: Message {
            author: Some(author()),
            client_message_id: Some(format!("desk-{number}")),
            ..Message::new(place, message_id, Role::Agent, content, stamp.time)
        },
        stamp,
        idempotency: None,
    }
}

/// Writes a numbered message of staff.
pub(crate) async fn write(
    storage: &Store,
    conversation: &Conversation,
    number: u32,
) -> (Committed, Message) {
    let write = draft(conversation.id, number);
    written(storage.writes.write(write).await.success())
}

/// Writes a numbered message of staff with a file.
pub(crate) async fn write_with(
    storage: &Store,
    conversation: &Conversation,
    number: u32,
    file: &FileReference,
) -> Message {
    let mut write = draft(conversation.id, number);
    write.message.files = vec![file.clone()];
    written(storage.writes.write(write).await.success()).1
}

fn written(outcome: StaffMessageOutcome) -> (Committed, Message) {
    match outcome {
        StaffMessageOutcome::Written(committed, message) => (committed, *message),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn found(storage: &Store, message: &Message) -> FoundMessage {
    let reference = MessageReference::Id(message.id);
    let (tenant, conversation) = (fixture::tenant(), message.conversation_id);
    let conversations = &storage.conversations;
    let found = conversations.find_message(&tenant, conversation, &reference);
    found.await.success().expect("the message exists")
}

pub(crate) async fn change(
    storage: &Store,
    found: FoundMessage,
    change: StaffMessageChange,
) -> Result<Option<(Committed, Message)>, RepositoryError> {
    let command = ChangeStaffMessage {
        tenant: fixture::tenant(),
        found,
        change,
        stamp: fixture::stamp(3_000),
    };
    storage.writes.write(command).await
}

async fn conversation(storage: &Store, id: ConversationId) -> Conversation {
    let found = lookup::conversation(storage, id).await;
    found.expect("the conversation exists")
}

/// A message of staff follows all others, with its author and the client's id. It is the newest of its
/// conversation.
pub async fn a_message_of_staff_is_stored_after_all_others(storage: &Store) {
    let (_, original) = setup::chat_with_turns(storage, 1).await;
    let (committed, written) = write(storage, &original, 1).await;
    assert_eq!(written.seq, 3);
    let messages = lookup::messages(storage, original.id).await;
    assert_eq!((messages.len(), messages.last()), (3, Some(&written)));
    let after = conversation(storage, original.id).await;
    assert_eq!(after.message_count, 3);
    assert_eq!(after.excerpt.as_deref(), Some("Staff 1"));
    assert_eq!(after.last_message_at, Some(written.created_at));
    let event = log::events_of(storage, committed).await.remove(0);
    assert_eq!(event.kind, EventType::MessageCreated);
    assert_eq!(event.conversation_id, Some(original.id));
    assert_eq!(
        (event.agent_id, event.turn_id),
        (Some(original.agent_id), None)
    );
    let message = EventMessage::Whole(written);
    assert_eq!(event.data, EventData::Message { message });
}

/// A key writes one message. An unknown conversation gets none.
pub async fn a_used_key_writes_no_second_message_of_staff(storage: &Store) {
    let (_, original) = setup::chat_with_turns(storage, 1).await;
    let with_key = WriteStaffMessage {
        idempotency: Some(fixture::entry("staff")),
        ..draft(original.id, 1)
    };
    let first = storage.writes.write(with_key.clone()).await.success();
    let (_, written) = written(first);
    let StaffMessageOutcome::Replayed(record) = storage.writes.write(with_key).await.success()
    else {
        panic!("the key was used");
    };
    let expected = serde_json::to_value(&written).expect("a message");
    assert_eq!(record.result, Some(expected));
    assert_eq!(lookup::message_seqs(storage, original.id).await, [1, 2, 3]);
    let unknown = draft(fixture::conversation(404, original.agent_id).id, 2);
    let outcome = storage.writes.write(unknown).await.success();
    assert_eq!(outcome, StaffMessageOutcome::NoConversation);
}

/// A message of staff uses its files, which must not be those of another conversation.
pub async fn a_message_of_staff_uses_its_files(storage: &Store) {
    let (agent, original) = setup::chat_with_turns(storage, 1).await;
    let other = setup::conversation(storage, 2, &agent).await;
    let file = files::file(storage, 1).await;
    let draft = |id, number| {
        let draft = draft(id, number);
        let message = Message {
            files: vec![file.clone()],
            ..draft.message
        };
        WriteStaffMessage { message, ..draft }
    };
    let (_, stored) = written(storage.writes.write(draft(original.id, 1)).await.success());
    assert_eq!(stored.files, std::slice::from_ref(&file));
    let messages = lookup::messages(storage, original.id).await;
    assert_eq!(messages.last(), Some(&stored));
    let (_, uses) = files::uses(storage, 1).await.expect("it is stored");
    assert_eq!(uses, [original.id]);
    let refused = storage.writes.write(draft(other.id, 2)).await.success();
    let expected = StaffMessageOutcome::FileUnusable(UnusableFile::InUse(file.id));
    assert_eq!(refused, expected);
}

/// A file is used until the last message of its conversation that has it is deleted.
pub async fn a_deleted_message_of_staff_uses_its_files_no_longer(storage: &Store) {
    let (_, original) = setup::chat_with_turns(storage, 1).await;
    let file = files::file(storage, 1).await;
    let mut messages = Vec::new();
    for number in [1, 2] {
        messages.push(write_with(storage, &original, number, &file).await);
    }
    let mut uses_left = [1, 0].into_iter();
    for message in &messages {
        let found = found(storage, message).await;
        let deleted = change(storage, found, StaffMessageChange::Deleted).await;
        assert!(deleted.success().is_some());
        let (file, uses) = files::uses(storage, 1).await.expect("it is stored");
        let is_used = file.expires_at.is_none();
        assert_eq!(
            (Some(uses.len()), is_used),
            (uses_left.next(), !uses.is_empty())
        );
    }
}

/// A turn supersedes what it and other turns have written, and nothing that staff has.
pub async fn messages_of_staff_are_not_superseded(storage: &Store) {
    let (agent, original) = setup::chat_with_turns(storage, 1).await;
    write(storage, &original, 1).await;
    let target = fixture::existing(&original, 1);
    setup::record_turn(storage, fixture::completed_turn(5, &agent, target)).await;
    let (_, last) = write(storage, &original, 2).await;
    let place = found(storage, &last).await;
    assert_eq!((place.before, place.of_staff), (5, 1));
    let begin = fixture::begin_turn(10, &agent, fixture::existing(&original, 2));
    let edit = fixture::superseding(begin, 4, 2);
    setup::start_turn(storage, &edit).await;
    assert_eq!(
        lookup::message_seqs(storage, original.id).await,
        [1, 2, 3, 6, 7]
    );
    assert_eq!(conversation(storage, original.id).await.message_count, 5);
    setup::complete_turn(storage, &edit, 10).await;
    let begin = fixture::begin_turn(20, &agent, fixture::existing(&original, 3));
    setup::start_turn(storage, &fixture::superseding(begin, 1, 0)).await;
    assert_eq!(lookup::message_seqs(storage, original.id).await, [3, 6, 9]);
    assert_eq!(conversation(storage, original.id).await.message_count, 3);
}

/// A rewritten message keeps everything but its text, which becomes the excerpt if it is the newest.
pub async fn a_message_of_staff_is_rewritten(storage: &Store) {
    let (_, original) = setup::chat_with_turns(storage, 1).await;
    let (_, written) = write(storage, &original, 1).await;
    let rewritten = StaffMessageChange::Rewritten("Better".to_owned());
    let changed = change(storage, found(storage, &written).await, rewritten).await;
    let (committed, changed) = changed.success().expect("the conversation exists");
    let expected = Message {
        content: "Better".to_owned(),
        ..written
    };
    assert_eq!(changed, expected);
    let messages = lookup::messages(storage, original.id).await;
    assert_eq!(messages.last(), Some(&expected));
    let after = conversation(storage, original.id).await;
    assert_eq!(
        (after.message_count, after.excerpt.as_deref()),
        (3, Some("Better"))
    );
    let event = log::events_of(storage, committed).await.remove(0);
    assert_eq!(event.kind, EventType::MessageUpdated);
    let message = EventMessage::Whole(expected);
    assert_eq!(event.data, EventData::Message { message });
}

/// A deleted message is gone, and its text is in no event. What precedes it becomes the excerpt.
pub async fn a_message_of_staff_is_deleted(storage: &Store) {
    let (_, original) = setup::chat_with_turns(storage, 1).await;
    let excerpt = conversation(storage, original.id).await.excerpt;
    let (created, written) = write(storage, &original, 1).await;
    let place = found(storage, &written).await;
    let deleted = change(storage, place.clone(), StaffMessageChange::Deleted).await;
    let (committed, _) = deleted.success().expect("the conversation exists");
    assert_eq!(lookup::message_seqs(storage, original.id).await, [1, 2]);
    let after = conversation(storage, original.id).await;
    assert_eq!((after.message_count, after.excerpt), (2, excerpt));
    let event = log::events_of(storage, created).await.remove(0);
    assert_eq!(event.data, EventData::DELETED);
    let event = log::events_of(storage, committed).await.remove(0);
    assert_eq!(event.kind, EventType::MessageDeleted);
    let (id, seq) = (written.id, written.seq);
    let message = MessagePlace { id, seq };
    assert_eq!(event.data, EventData::MessageDeleted { message });
    assert_stale(&change(storage, place, StaffMessageChange::Deleted).await);
    let (_, next) = write(storage, &original, 2).await;
    assert!(next.seq > written.seq, "a position is used twice");
    assert_eq!(conversation(storage, original.id).await.message_count, 3);
}

/// A message that was written since makes a change stale.
pub async fn a_change_of_a_message_of_staff_is_stale_after_another_message(storage: &Store) {
    let (_, original) = setup::chat_with_turns(storage, 1).await;
    let (_, first) = write(storage, &original, 1).await;
    let place = found(storage, &first).await;
    write(storage, &original, 2).await;
    let head = log::head(storage, &fixture::tenant()).await;
    assert_stale(&change(storage, place, StaffMessageChange::Deleted).await);
    assert_eq!(log::head(storage, &fixture::tenant()).await, head);
}

/// Engines receive messages of staff with the names of their authors.
pub async fn histories_contain_messages_of_staff_with_their_authors(storage: &Store) {
    let (agent, original) = setup::chat_with_turns(storage, 1).await;
    write(storage, &original, 1).await;
    let file = files::file(storage, 1).await;
    write_with(storage, &original, 2, &file).await;
    let target = fixture::existing(&original, 1);
    let begin = fixture::begin_turn(10, &agent, target);
    let started = setup::start_turn(storage, &begin).await;
    assert_eq!(started.messages.message.seq, 5);
    let query = HistoryQuery {
        before: 5,
        limits: domain::HistoryLimits::default(),
    };
    let (tenant, conversations) = (fixture::tenant(), &storage.conversations);
    let history = conversations.history(&tenant, original.id, &query);
    let history = history.await.success();
    let of_staff = HistoryMessage::of_staff(3, &author().name, "Staff 1");
    assert_eq!(&*of_staff.content, "Grace 🦊: Staff 1");
    let with_file = HistoryMessage {
        files: vec![file],
        ..HistoryMessage::of_staff(4, &author().name, "Staff 2")
    };
    assert_eq!(
        (history.len(), &history[2..]),
        (4, &[of_staff, with_file][..])
    );
}

/// A reply follows what staff has written while it was computed.
pub async fn a_reply_follows_what_staff_wrote_meanwhile(storage: &Store) {
    let (agent, original) = setup::chat_with_turns(storage, 1).await;
    let begin = fixture::begin_turn(10, &agent, fixture::existing(&original, 1));
    setup::start_turn(storage, &begin).await;
    write(storage, &original, 1).await;
    setup::complete_turn(storage, &begin, 10).await;
    let messages = lookup::messages(storage, original.id).await;
    let of_staff: Vec<_> = messages.iter().map(Message::is_of_staff).collect();
    assert_eq!(of_staff, [false, false, false, true, false]);
    assert_eq!(
        lookup::message_seqs(storage, original.id).await,
        [1, 2, 3, 4, 5]
    );
}

/// A failed turn is repeated with its message, although staff has written since.
pub async fn a_retry_answers_its_message_after_one_of_staff(storage: &Store) {
    let (agent, original) = setup::chat_with_turns(storage, 1).await;
    let entry: IdempotencyEntry = fixture::entry("retried");
    let begin = |number, turn_count| BeginTurn {
        idempotency: Some(entry.clone()),
        ..fixture::begin_turn(number, &agent, fixture::existing(&original, turn_count))
    };
    let first = begin(10, 1);
    setup::start_turn(storage, &first).await;
    setup::fail_turn(storage, &first).await;
    write(storage, &original, 1).await;
    let again = setup::start_turn(storage, &begin(11, 2)).await;
    assert_eq!(again.messages.message.id, first.message_id);
    assert_eq!(again.messages.reply_seq, 5);
}

/// A fork has copies of messages of staff, which are not superseded there either.
pub async fn forks_copy_messages_of_staff(storage: &Store) {
    let (agent, original) = setup::chat_with_turns(storage, 1).await;
    write(storage, &original, 1).await;
    let messages = lookup::messages(storage, original.id).await;
    let (fork, created) = forks::fork(storage, 2, &original, &messages, 1).await;
    assert!(created.success().last > Seq(0));
    let copied = lookup::messages(storage, fork.id).await;
    assert_eq!(
        copied.last().and_then(|it| it.author.clone()),
        Some(author())
    );
    let begin = fixture::begin_turn(10, &agent, fixture::existing(&fork, 0));
    setup::start_turn(storage, &fixture::superseding(begin, 1, 0)).await;
    assert_eq!(lookup::message_seqs(storage, fork.id).await, [3, 4]);
    assert_eq!(conversation(storage, fork.id).await.message_count, 2);
}

/// Messages of staff that are written in one group keep their own values.
pub async fn messages_of_staff_of_a_group_keep_their_own_values(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let mut conversations = Vec::new();
    for number in 1..=8 {
        conversations.push(setup::conversation(storage, number, &agent).await);
    }
    let writes = (1..).zip(&conversations);
    let writes = writes.map(|(number, of)| storage.writes.write(draft(of.id, number)));
    let written = futures::future::join_all(writes).await;
    for ((number, of), written) in (1..).zip(&conversations).zip(written) {
        let Ok(StaffMessageOutcome::Written(_, message)) = written else {
            panic!("{written:?}")
        };
        assert_eq!(message.content, format!("Staff {number}"));
        assert_eq!(lookup::messages(storage, of.id).await, [*message]);
    }
}
