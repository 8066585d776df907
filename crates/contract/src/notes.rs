//! `NoteRepository`, and the commands that write and delete notes.

use domain::{
    Audience, EventData, EventType, Note, NoteDraft, NoteId, PrincipalId, TenantId,
    event_data::NoteReference,
};
use ports::{EventVisibility, write_store::NoteKey};
use serde_json::json;
use uuid::Uuid;
use writes::{Committed, CreateNote, DeleteConversation, DeleteNote};

use crate::{
    Store, fixture, log, lookup, purging,
    results::{IdempotentExt as _, ResultExt as _},
    setup,
};

fn create(conversation: u32, number: u32) -> CreateNote {
    let draft = json!({"content": format!("Note {number} 🦊"), "author": {"name": "Grace"}});
    let draft: NoteDraft = serde_json::from_value(draft).expect("a draft");
    let stamp = fixture::stamp(i64::from(1_000 + number));
    let id = NoteId::new(Uuid::from_u128(u128::from(number)));
    let conversation = fixture::conversation_id(conversation);
    CreateNote {
        tenant: fixture::tenant(),
        note: draft.into_note(id, conversation, stamp.time),
        stamp,
        idempotency: None,
    }
}

async fn write(storage: &Store, conversation: u32, number: u32) -> Note {
    let create = create(conversation, number);
    let note = create.note.clone();
    let written = storage.writes.write(create).await.applied();
    written.expect("the conversation exists");
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
    let written = storage.writes.write(with_key.clone()).await.applied();
    assert_eq!(written, Some(Committed::at(head.plus(1))));
    assert_eq!(found(storage, &note).await.as_ref(), Some(&note));
    let again = CreateNote {
        idempotency: with_key.idempotency,
        ..create(1, 2)
    };
    let record = storage.writes.write(again).await.replayed();
    assert_eq!(record.result, Some(json!({"id": note.id})));
    let missing = storage.writes.write(create(3, 3)).await.applied();
    assert_eq!(missing, None);
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

/// Nothing of a note is left once its conversation is deleted and purged.
pub async fn notes_are_purged_with_their_conversation(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    for number in [1, 2] {
        setup::conversation(storage, number, &agent).await;
    }
    for number in 1..=3 {
        write(storage, 1, number).await;
    }
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
    let outdated = purging::deleted_before(fixture::at(10_000));
    // Three notes and their conversation.
    assert_eq!(purging::purge_all(storage, 2, outdated).await, 4);
    assert_eq!(listed(storage, &tenant, 2).await, [kept]);
}
