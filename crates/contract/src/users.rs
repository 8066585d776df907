//! `UserRepository`, and the command that stores users.

use domain::{
    AsOf, Audience, EventData, EventType, PrincipalId, Stamp, TenantId, User, UserDraft,
    sizes::{METADATA_PAIRS, PAGE_BYTES},
};
use ports::{EventQuery, EventVisibility};
use serde_json::{Value, json};
use writes::{SaveUser, SavedUser, UserChange, UserRejection};

use crate::{Store, fixture, log, results::ResultExt as _, setup};

fn draft(content: Value) -> UserDraft {
    serde_json::from_value(content).expect("a draft")
}

async fn save_in(
    storage: &Store,
    tenant: &TenantId,
    user_id: &str,
    change: UserChange,
    stamp: Stamp,
) -> Result<SavedUser, UserRejection> {
    let save = SaveUser {
        tenant: tenant.clone(),
        user_id: user_id.to_owned(),
        change,
        stamp,
    };
    storage.writes.write(save).await.success()
}

async fn put(storage: &Store, user_id: &str, content: Value, time: i64) -> SavedUser {
    let (tenant, change) = (fixture::tenant(), UserChange::Replace(draft(content)));
    let saved = save_in(storage, &tenant, user_id, change, fixture::stamp(time)).await;
    saved.expect("a replacement is always stored")
}

async fn patch(
    storage: &Store,
    user_id: &str,
    patch: Value,
    time: i64,
) -> Result<SavedUser, UserRejection> {
    let (tenant, change) = (fixture::tenant(), UserChange::Patch(patch));
    save_in(storage, &tenant, user_id, change, fixture::stamp(time)).await
}

async fn found(storage: &Store, tenant: &TenantId, user_id: &str) -> AsOf<Option<User>> {
    let found = storage.users.find(tenant, user_id).await.success();
    found.map(|user| user.map(|user| User::clone(&user)))
}

/// A user is stored unchanged, and its replacement keeps the time of creation.
pub async fn a_user_is_stored_unchanged(storage: &Store) {
    let content = json!({
        "name": "Zoë 🦊", "context": "Pays\nlate.", "metadata": {"clé": "śćieżka"},
    });
    let saved = put(storage, "ada ✓", content, 1).await;
    assert!(saved.is_new);
    let tenant = fixture::tenant();
    let read = found(storage, &tenant, "ada ✓").await;
    assert_eq!(read.value, Some(saved.user.clone()));
    assert!(read.position <= log::head(storage, &tenant).await);
    assert_eq!(saved.user.created_at, fixture::stamp(1).time);
    let replaced = put(storage, "ada ✓", json!({}), 2).await;
    let expected = User {
        name: None,
        context: String::new(),
        metadata: [].into(),
        updated_at: fixture::stamp(2).time,
        ..saved.user
    };
    assert_eq!((replaced.user, replaced.is_new), (expected.clone(), false));
    assert_eq!(found(storage, &tenant, "ada ✓").await.value, Some(expected));
    assert_eq!(found(storage, &tenant, "eve").await.value, None);
}

/// A patch keeps what it does not name, and needs a stored user.
pub async fn a_patch_changes_only_what_it_names(storage: &Store) {
    let early = patch(storage, "ada", json!({"name": "Ada"}), 1).await;
    assert_eq!(early, Err(UserRejection::NotFound));
    let content = json!({"name": "Ada", "context": "old", "metadata": {"a": "1", "b": "2"}});
    put(storage, "ada", content, 1).await;
    let change = json!({"context": null, "metadata": {"a": null, "c": "3"}});
    let patched = patch(storage, "ada", change, 2)
        .await
        .expect("it is stored");
    let expected = draft(json!({"name": "Ada", "metadata": {"b": "2", "c": "3"}}));
    assert_eq!((patched.user.draft(), patched.is_new), (expected, false));
    let read = found(storage, &fixture::tenant(), "ada").await;
    assert_eq!(read.value, Some(patched.user));
}

/// A patch is judged with what is stored, and writes nothing if the result is not valid.
pub async fn a_patch_with_an_invalid_result_is_rejected(storage: &Store) {
    let pairs: serde_json::Map<_, _> = (0..METADATA_PAIRS)
        .map(|number| (number.to_string(), "x".into()))
        .collect();
    let saved = put(storage, "ada", json!({"metadata": pairs}), 1).await;
    let patched = patch(storage, "ada", json!({"metadata": {"one more": "x"}}), 2).await;
    let Err(UserRejection::Invalid(faults)) = patched else {
        panic!("{patched:?}")
    };
    assert_eq!(faults[0].pointer, "/metadata");
    let read = found(storage, &fixture::tenant(), "ada").await;
    assert_eq!(read.value, Some(saved.user));
    assert_eq!(log::types(storage).await, [EventType::UserUpdated]);
}

/// Each change writes `user.updated`; what changes nothing writes nothing.
pub async fn a_change_of_a_user_writes_user_updated(storage: &Store) {
    let saved = put(storage, "ada", json!({"name": "Ada"}), 1).await;
    let committed = saved.committed.expect("it is new");
    let event = log::events_of(storage, committed).await.remove(0);
    assert_eq!(event.kind, EventType::UserUpdated);
    assert_eq!(event.time, fixture::stamp(1).time);
    assert_eq!((event.agent_id, event.conversation_id), (None, None));
    let user_id = "ada".to_owned();
    assert_eq!(event.data, EventData::User { user_id });
    let again = put(storage, "ada", json!({"name": "Ada"}), 2).await;
    assert_eq!((again.committed, &again.user), (None, &saved.user));
    let again = patch(storage, "ada", json!({"name": "Ada"}), 2).await;
    assert_eq!(again.expect("it is stored").committed, None);
    let changed = patch(storage, "ada", json!({"name": "Eve"}), 3).await;
    assert!(changed.is_ok_and(|changed| changed.committed.is_some()));
    let expected = [EventType::UserUpdated, EventType::UserUpdated];
    assert_eq!(log::types(storage).await, expected);
}

/// Events of users are visible to those who may see users, and to nobody else.
pub async fn events_of_users_are_hidden_from_others(storage: &Store) {
    put(storage, "ada", json!({}), 1).await;
    let mut visibility = EventVisibility {
        agents: true,
        whole_agents: true,
        users: false,
        conversations: true,
        principal: PrincipalId::user("ada"),
        user_id: None,
        reach: domain::AgentReach::ALL,
        audience: Audience::Staff,
    };
    for (users, user_id, expected) in [(false, None, 0), (false, Some("ada"), 0), (true, None, 1)] {
        visibility.users = users;
        visibility.user_id = user_id.map(str::to_owned);
        let query = EventQuery {
            since: domain::Seq(0),
            limit: 10,
            bytes: usize::MAX,
            types: Vec::new(),
            agent_id: None,
            conversation_id: None,
            visibility: Some(visibility.clone()),
        };
        let page = log::page(storage, &query).await;
        assert_eq!(page.events.len(), expected, "{users} {user_id:?}");
        let unfiltered = EventQuery {
            visibility: None,
            ..query
        };
        let all = log::page(storage, &unfiltered).await.events;
        assert_eq!(visibility.shows(&all[0]), expected == 1);
    }
}

/// Users are listed by their creation, newest first, and no user twice.
pub async fn users_are_listed_by_their_creation(storage: &Store) {
    for (number, user_id) in ["b", "a", "d", "c"].into_iter().enumerate() {
        put(
            storage,
            user_id,
            json!({}),
            i64::try_from(number).expect("small"),
        )
        .await;
    }
    put(storage, "b", json!({"name": "changed"}), 9).await;
    let (tenant, mut after, mut listed) = (fixture::tenant(), None, Vec::new());
    for has_more in [true, false] {
        let page = storage.users.list(&tenant, after, 2).await.success();
        assert_eq!((page.items.len(), page.has_more), (2, has_more));
        after = page.items.last().map(|last| last.sort_seq);
        listed.extend(page.items.into_iter().map(|user| user.item.user_id));
    }
    assert_eq!(listed, ["c", "d", "a", "b"]);
}

/// A page ends at about `sizes::PAGE_BYTES`, and contains at least one user.
pub async fn a_page_of_users_is_limited_in_bytes(storage: &Store) {
    let context = "x".repeat(PAGE_BYTES / 2 + 1);
    for (number, user_id) in (0..).zip(["a", "b", "c"]) {
        put(storage, user_id, json!({"context": context}), number).await;
    }
    let page = storage.users.list(&fixture::tenant(), None, 10).await;
    let page = page.success();
    assert_eq!((page.items.len(), page.has_more), (1, true));
}

/// A user of another tenant with the same id is another user.
pub async fn users_of_tenants_are_apart(storage: &Store) {
    put(storage, "ada", json!({"name": "Ada"}), 1).await;
    let other = setup::second_tenant(storage).await;
    assert_eq!(found(storage, &other, "ada").await.value, None);
    let patch = UserChange::Patch(json!({"name": "Eve"}));
    let patched = save_in(storage, &other, "ada", patch, fixture::stamp(2)).await;
    assert_eq!(patched, Err(UserRejection::NotFound));
    let change = UserChange::Replace(draft(json!({"name": "Eve"})));
    let saved = save_in(storage, &other, "ada", change, fixture::stamp(2)).await;
    assert!(saved.is_ok_and(|saved| saved.is_new));
    let own = found(storage, &fixture::tenant(), "ada").await.value;
    assert_eq!(own.and_then(|own| own.name).as_deref(), Some("Ada"));
    let listed = storage.users.list(&other, None, 10).await.success();
    assert_eq!(listed.items.len(), 1);
}

/// Users that are stored at the same time keep their own values.
pub async fn users_of_a_group_keep_their_own_values(storage: &Store) {
    let writes = (0..20).map(|number: i64| async move {
        let content =
            json!({"name": format!("User {number}"), "metadata": {"n": number.to_string()}});
        put(storage, &format!("u{number}"), content, number)
            .await
            .user
    });
    let saved = futures::future::join_all(writes).await;
    for user in saved {
        let read = found(storage, &fixture::tenant(), &user.user_id).await;
        assert_eq!(read.value, Some(user));
    }
}
