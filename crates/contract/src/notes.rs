//! `NoteRepository`, and the commands that write and delete notes.

use domain::{
    Audience, ConversationId, EventData, EventType, FileReference, Message, Note, NoteDraft,
    NoteId, PrincipalId, StoredFile, TenantId, event_data::NoteReference,
};
use ports::{EventVisibility, write_store::NoteKey};
use serde_json::json;
use uuid::Uuid;
use writes::{
    BeginOutcome, BeginTurn, Committed, CreateNote, CreateNoteOutcome, DeleteConversation,
    DeleteFileOutcome, DeleteNote, StaffMessageChange, UnusableFile,
};

use crate::{
    Store, files, fixture, forks, log, lookup, purging, results::ResultExt as _, setup,
    staff_messages,
};

fn create(conversation: u32, number: u32) -> CreateNote {
    let draft = json!({"content": format!("Note {number} 🦊"), "author": {"name": "Grace"}});
    let draft: NoteDraft = serde_json::from_value(draft).expect("a draft");
    let stamp = fixture::stamp(i64::from(1_000 + number));
    let id = NoteId::new(Uuid::from_u128(u128::from(number)));
    let conversation = fixture::conversation_id(conversation);
    CreateNote {
        tenant: fixture::tenant(),
        note: draft.into_note((conversation, id), Vec::new(), stamp.time),
        stamp,
        idempotency: None,
    }
}

async fn write(storage: &Store, conversation: u32, number: u32) -> Note {
    write_with(storage, conversation, number, &[]).await
}

/// Writes a note with files.
async fn write_with(
    storage: &Store,
    conversation: u32,
    number: u32,
    files: &[FileReference],
) -> Note {
    let mut create = create(conversation, number);
    create.note.files = files.to_vec();
    let note = create.note.clone();
    let written = storage.writes.write(create).await.success();
    assert!(
        matches!(written, CreateNoteOutcome::Written(_)),
        "{written:?}"
    );
    note
}

fn key(note: &Note) -> NoteKey {
    NoteKey {
        tenant: fixture::tenant(),
        conversation_id: note.conversation_id,
        id: note.id,
    }
}

async fn delete(storage: &Store, note: NoteKey) -> bool {
    let stamp = fixture::stamp(5_000);
    storage
        .writes
        .write(DeleteNote { note, stamp })
        .await
        .success()
        .is_some()
}

async fn found(storage: &Store, note: &Note) -> Option<Note> {
    let (tenant, conversation) = (fixture::tenant(), note.conversation_id);
    let found = storage.notes.find(&tenant, conversation, note.id);
    found.await.success()
}

async fn listed(storage: &Store, tenant: &TenantId, conversation: u32) -> Vec<Note> {
    let (mut notes, mut after) = (Vec::new(), None);
    loop {
        let id = fixture::conversation_id(conversation);
        let page = storage.notes.list(tenant, id, after, 2).await.success();
        after = page.items.last().map(|last| last.sort_seq);
        let has_more = page.has_more;
        notes.extend(page.into_items().items);
        if !has_more {
            return notes;
        }
    }
}

/// Notes are stored unchanged and listed in their conversation, the newest first. They are no messages.
pub async fn notes_are_listed_in_their_conversation(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    for number in [1, 2] {
        setup::conversation(storage, number, &agent).await;
    }
    let before = lookup::conversation(storage, fixture::conversation_id(1)).await;
    let mut expected = Vec::new();
    for number in 1..=3 {
        expected.insert(0, write(storage, 1, number).await);
    }
    let other = write(storage, 2, 4).await;
    let tenant = fixture::tenant();
    assert_eq!(listed(storage, &tenant, 1).await, expected);
    assert_eq!(listed(storage, &tenant, 2).await, [other]);
    assert_eq!(listed(storage, &tenant, 3).await, []);
    let elsewhere = setup::second_tenant(storage).await;
    assert_eq!(listed(storage, &elsewhere, 1).await, []);
    let after = lookup::conversation(storage, fixture::conversation_id(1)).await;
    assert_eq!(after, before);
}

/// A note is written once with its key, deleted once, and only in its conversation. Its text is in no event.
pub async fn notes_are_written_and_deleted_once(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    for number in [1, 2] {
        setup::conversation(storage, number, &agent).await;
    }
    let head = log::head(storage, &fixture::tenant()).await;
    let with_key = CreateNote {
        idempotency: Some(fixture::entry("note")),
        ..create(1, 1)
    };
    let note = with_key.note.clone();
    let written = storage.writes.write(with_key.clone()).await.success();
    let expected = CreateNoteOutcome::Written(Committed::at(head.plus(1)));
    assert_eq!(written, expected);
    assert_eq!(found(storage, &note).await.as_ref(), Some(&note));
    let again = CreateNote {
        idempotency: with_key.idempotency,
        ..create(1, 2)
    };
    let again = storage.writes.write(again).await.success();
    let CreateNoteOutcome::Replayed(record) = again else {
        panic!("{again:?}")
    };
    assert_eq!(record.result, Some(json!({"id": note.id})));
    let missing = storage.writes.write(create(3, 3)).await.success();
    assert_eq!(missing, CreateNoteOutcome::NoConversation);
    let moved = Note {
        conversation_id: fixture::conversation_id(2),
        ..note.clone()
    };
    assert_eq!(found(storage, &moved).await, None);
    let elsewhere = NoteKey {
        conversation_id: fixture::conversation_id(2),
        ..key(&note)
    };
    assert!(!delete(storage, elsewhere).await);
    let of_other = NoteKey {
        tenant: setup::second_tenant(storage).await,
        ..key(&note)
    };
    assert!(!delete(storage, of_other).await);
    assert!(delete(storage, key(&note)).await);
    assert!(!delete(storage, key(&note)).await);
    assert_eq!(found(storage, &note).await, None);
    assert_eq!(listed(storage, &fixture::tenant(), 1).await, []);
    let events = log::events(storage).await;
    let events = events.into_iter().filter(|event| event.seq > head);
    let events: Vec<_> = events.map(|event| (event.kind, event.data)).collect();
    let reference = NoteReference { id: note.id };
    let data = EventData::Note { note: reference };
    let kinds = [EventType::NoteCreated, EventType::NoteDeleted];
    assert_eq!(events, kinds.map(|kind| (kind, data.clone())));
}

/// Events of notes are for staff alone.
pub async fn events_of_notes_are_hidden_from_users(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    setup::conversation(storage, 1, &agent).await;
    let head = log::head(storage, &fixture::tenant()).await;
    write(storage, 1, 1).await;
    let mut visibility = EventVisibility {
        agents: true,
        whole_agents: true,
        users: true,
        conversations: true,
        principal: PrincipalId::user("ada"),
        user_id: None,
        reach: domain::AgentReach::ALL,
        audience: Audience::Staff,
    };
    let logged = log::page(storage, &log::query(head)).await.events;
    assert_eq!(logged.len(), 1);
    for (audience, expected) in [(Audience::Staff, 1), (Audience::User, 0)] {
        visibility.audience = audience;
        let mut query = log::query(head);
        query.visibility = Some(visibility.clone());
        let page = log::page(storage, &query).await;
        assert_eq!(page.events.len(), expected, "{audience:?}");
        assert_eq!(page.next_since, page.head);
        assert_eq!(visibility.shows(&logged[0]), expected == 1);
    }
}

/// The file 1, and whether notes use it in each conversation that does.
async fn file_and_uses(storage: &Store) -> (StoredFile, Vec<(ConversationId, bool)>) {
    let found = files::find(storage, &fixture::tenant(), 1).await;
    let found = found.expect("it is stored");
    let uses = found.uses.iter();
    let mut uses: Vec<_> = uses
        .map(|of| (of.conversation_id, of.is_by_notes))
        .collect();
    uses.sort_unstable();
    (found, uses)
}

/// Notes show their files, and each use ends with its note: a file of no other is purged.
pub async fn a_note_uses_its_files(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let conversation = setup::conversation(storage, 1, &agent).await;
    let files = [files::file(storage, 1).await, files::file(storage, 2).await];
    let notes = [
        write_with(storage, 1, 1, &files).await,
        write_with(storage, 1, 2, &files[..1]).await,
    ];
    assert_eq!(found(storage, &notes[0]).await.as_ref(), Some(&notes[0]));
    let newest_first = [notes[1].clone(), notes[0].clone()];
    assert_eq!(listed(storage, &fixture::tenant(), 1).await, newest_first);
    let purge = async || {
        let outdated = purging::ended_before(fixture::at(2 * files::EXPIRY));
        purging::purge_all(storage, 10, outdated).await
    };
    for (note, purged) in notes.iter().zip([1, 1]) {
        let (file, uses) = file_and_uses(storage).await;
        assert_eq!(file.file.expires_at, None);
        assert_eq!(uses, [(conversation.id, true)]);
        assert_eq!(file.uses[0].user_id, conversation.user_id);
        assert_eq!(files::delete(storage, 1).await, DeleteFileOutcome::InUse);
        assert_eq!(purge().await, 0);
        assert!(delete(storage, key(note)).await);
        assert_eq!(purge().await, purged);
    }
    assert_eq!(files::find(storage, &fixture::tenant(), 1).await, None);
    assert_eq!(storage.files.deleted_blobs(10).await.success().len(), 2);
}

/// Neither a turn nor another conversation uses a file that only notes use. Messages of staff do, and the file stays
/// while either has it.
pub async fn only_staff_uses_files_of_notes(storage: &Store) {
    let (agent, conversation) = setup::chat_with_turns(storage, 1).await;
    setup::conversation(storage, 2, &agent).await;
    let file = files::file(storage, 1).await;
    let note = write_with(storage, 1, 1, std::slice::from_ref(&file)).await;
    let in_use = UnusableFile::InUse(file.id);
    let begin = BeginTurn {
        files: vec![file.clone()],
        ..fixture::begin_turn(5, &agent, fixture::existing(&conversation, 1))
    };
    let refused = storage.writes.write(begin).await.success();
    assert_eq!(refused, BeginOutcome::FileUnusable(in_use));
    let mut elsewhere = create(2, 2);
    elsewhere.note.files = vec![file.clone()];
    let refused = storage.writes.write(elsewhere).await.success();
    assert_eq!(refused, CreateNoteOutcome::FileUnusable(in_use));
    let messages = lookup::messages(storage, conversation.id).await;
    let (_, forked) = forks::fork(storage, 3, &conversation, &messages, 1).await;
    forked.success();
    let by_notes = (conversation.id, true);
    assert_eq!(file_and_uses(storage).await.1, [by_notes]);

    let message = staff_messages::write_with(storage, &conversation, 1, &file).await;
    let both = [(conversation.id, false), by_notes];
    assert_eq!(file_and_uses(storage).await.1, both);
    let delete_message = async |message: &Message| {
        let found = staff_messages::found(storage, message).await;
        let deleted = StaffMessageChange::Deleted;
        let deleted = staff_messages::change(storage, found, deleted).await;
        assert!(deleted.success().is_some());
    };
    delete_message(&message).await;
    assert_eq!(file_and_uses(storage).await.1, [by_notes]);
    let message = staff_messages::write_with(storage, &conversation, 2, &file).await;
    assert!(delete(storage, key(&note)).await);
    let (stored, uses) = file_and_uses(storage).await;
    assert_eq!(stored.file.expires_at, None);
    assert_eq!(uses, [(conversation.id, false)]);
    delete_message(&message).await;
    let (stored, uses) = file_and_uses(storage).await;
    assert_eq!((stored.file.expires_at.is_some(), uses), (true, vec![]));
}

/// A file that does not exist or has expired is no file of a note.
pub async fn unusable_files_make_no_note(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    setup::conversation(storage, 1, &agent).await;
    let file = files::file(storage, 1).await;
    let unknown = files::row(&fixture::tenant(), 9, "user:ada").file.reference;
    for (reference, at) in [(unknown, 1_000), (file, files::EXPIRY)] {
        let mut create = create(1, 1);
        create.note.files = vec![reference.clone()];
        create.stamp = fixture::stamp(at);
        let refused = storage.writes.write(create).await.success();
        let expected = UnusableFile::NotFound(reference.id);
        assert_eq!(refused, CreateNoteOutcome::FileUnusable(expected));
    }
    assert_eq!(listed(storage, &fixture::tenant(), 1).await, []);
}

/// Nothing of a note is left once its conversation is deleted and purged.
pub async fn notes_are_purged_with_their_conversation(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    for number in [1, 2] {
        setup::conversation(storage, number, &agent).await;
    }
    for number in 1..=2 {
        write(storage, 1, number).await;
    }
    let file = files::file(storage, 1).await;
    write_with(storage, 1, 3, &[file]).await;
    let kept = write(storage, 2, 4).await;
    let delete = DeleteConversation {
        tenant: fixture::tenant(),
        id: fixture::conversation_id(1),
        expected: None,
        only_of: None,
        is_erasure: false,
        idle_since_before: None,
        stamp: fixture::stamp(6_000),
    };
    storage.writes.write(delete).await.success();
    let tenant = fixture::tenant();
    assert_eq!(listed(storage, &tenant, 1).await, []);
    assert_eq!(file_and_uses(storage).await.1, []);
    let outdated = purging::deleted_before(fixture::at(10_000));
    // Three notes with a file, and their conversation.
    assert_eq!(purging::purge_all(storage, 2, outdated).await, 5);
    assert_eq!(files::find(storage, &tenant, 1).await, None);
    assert_eq!(listed(storage, &tenant, 2).await, [kept]);
}
