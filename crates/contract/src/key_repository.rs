//! `KeyRepository`.

use domain::{
    ApiKey, KeyId, Scopes,
    api_key::{LimitOverrides, SecretDigest},
};
use ports::{KeyPosition, Storage};
use tokio::task::JoinSet;

use crate::{
    answers::{Answer as _, assert_conflict},
    given, pages, samples,
};

async fn stored(storage: &Storage, key: ApiKey) -> ApiKey {
    storage.keys.insert(&key).await.answered();
    key
}

async fn found(storage: &Storage, id: &KeyId) -> Option<ApiKey> {
    storage.keys.find(id).await.answered()
}

async fn listed(storage: &Storage, limit: usize) -> Vec<ApiKey> {
    let mut all: Vec<ApiKey> = Vec::new();
    for _ in 0..pages::TOO_MANY_PAGES {
        let after = all.last().map(|last| KeyPosition {
            created_at: last.created_at,
            id: last.id.clone(),
        });
        let tenant = samples::tenant();
        let page = storage.keys.list(&tenant, after.as_ref(), limit).await;
        let page = page.answered();
        assert!(page.items.len() <= limit, "a page is longer than its limit");
        all.extend(page.items);
        if !page.has_more {
            return all;
        }
    }
    panic!("the listing does not end");
}

/// What `insert` took is what `find` gives, with every member set and with none.
pub async fn stores_a_key_as_it_was_given(storage: &Storage) {
    let full = ApiKey {
        name: "Clé 🔑".to_owned(),
        scopes: Scopes::all(),
        digest: SecretDigest::new(std::array::from_fn(|index| index.to_le_bytes()[0])),
        previous: Some((SecretDigest::new([255; 32]), samples::at(11))),
        expires_at: Some(samples::at(12)),
        last_used_at: Some(samples::at(13)),
        revoked_at: Some(samples::at(14)),
        allowed_origins: vec![
            "https://b.example".to_owned(),
            "http://localhost:5173".to_owned(),
        ],
        limits: LimitOverrides {
            requests_per_minute: Some(u32::MAX),
            requests_burst: Some(0),
            chat_per_minute: Some(1),
            chat_burst: None,
            streams: Some(2),
        },
        ..samples::key(1)
    };
    let bare = ApiKey {
        scopes: Scopes::NONE,
        ..samples::key(2)
    };
    for key in [full, bare] {
        let key = stored(storage, key).await;
        assert_eq!(found(storage, &key.id).await, Some(key));
    }
}

/// `insert` MUST answer `Conflict` when the id exists, in whatever tenant.
pub async fn refuses_a_duplicate_key_id(storage: &Storage) {
    let key = stored(storage, samples::key(1)).await;
    let impostor = ApiKey {
        tenant: given::another_tenant(storage).await,
        ..samples::key(1)
    };
    for second in [&key, &impostor] {
        assert_conflict(&storage.keys.insert(second).await);
    }
    assert_eq!(found(storage, &key.id).await, Some(key));
}

/// "Not found" is a value.
pub async fn finds_no_key_that_was_never_made(storage: &Storage) {
    assert_eq!(found(storage, &samples::key_id(404)).await, None);
}

/// `insert_first` MUST answer `false` when the store holds a key or has ever held one.
pub async fn stores_the_first_key_only_once(storage: &Storage) {
    let (first, second) = (samples::key(1), samples::key(2));
    assert!(storage.keys.insert_first(&first).await.answered());
    assert!(!storage.keys.insert_first(&second).await.answered());
    assert_eq!(found(storage, &first.id).await, Some(first.clone()));
    assert_eq!(found(storage, &second.id).await, None);
    let revoked = storage
        .keys
        .revoke(&first.tenant, &first.id, samples::at(9));
    assert!(revoked.await.answered());
    assert!(!storage.keys.insert_first(&second).await.answered());
    assert_eq!(listed(storage, 10).await.len(), 1);
}

/// A key that came in by `insert` counts as well, in whatever tenant.
pub async fn stores_no_first_key_after_any_other(storage: &Storage) {
    let tenant = given::another_tenant(storage).await;
    let other = ApiKey {
        tenant,
        ..samples::key(1)
    };
    stored(storage, other).await;
    let second = samples::key(2);
    assert!(!storage.keys.insert_first(&second).await.answered());
    assert_eq!(found(storage, &second.id).await, None);
}

/// `insert_first` holds also when several ask at the same time.
pub async fn one_of_eight_racing_first_keys_is_stored(storage: &Storage) {
    let mut racers = JoinSet::new();
    for number in 1..=8 {
        let storage = storage.clone();
        racers.spawn(async move {
            let key = samples::key(number);
            let won = storage.keys.insert_first(&key).await.answered();
            won.then_some(key)
        });
    }
    let winners: Vec<_> = racers.join_all().await.into_iter().flatten().collect();
    assert_eq!(winners.len(), 1);
    assert_eq!(listed(storage, 10).await, winners);
}

/// `list` is newest first, in pages.
pub async fn lists_keys_newest_first(storage: &Storage) {
    for number in [2, 5, 1, 4, 3] {
        stored(storage, samples::key(number)).await;
    }
    for limit in [1, 2, 5] {
        assert_eq!(
            listed(storage, limit).await,
            [5, 4, 3, 2, 1].map(samples::key)
        );
    }
}

/// Keys of one moment are told apart by id, descending, upper case before lower.
pub async fn sorts_keys_of_one_moment_by_code_point(storage: &Storage) {
    for id in [
        "aaaaaaaaaaaa",
        "BBBBBBBBBBBB",
        "000000000000",
        "bbbbbbbbbbbb",
    ] {
        let id = id.parse().expect("12 digits");
        stored(
            storage,
            ApiKey {
                id,
                ..samples::key(1)
            },
        )
        .await;
    }
    for limit in [1, 3, 10] {
        let keys = listed(storage, limit).await;
        let ids: Vec<_> = keys.iter().map(|key| key.id.as_str()).collect();
        let sorted = [
            "bbbbbbbbbbbb",
            "aaaaaaaaaaaa",
            "BBBBBBBBBBBB",
            "000000000000",
        ];
        assert_eq!(ids, sorted, "in pages of {limit}");
    }
}

/// `list` shows one tenant; `find` looks in all.
pub async fn lists_the_keys_of_one_tenant_only(storage: &Storage) {
    let tenant = given::another_tenant(storage).await;
    let own = stored(storage, samples::key(1)).await;
    let foreign = ApiKey {
        tenant: tenant.clone(),
        ..samples::key(2)
    };
    let foreign = stored(storage, foreign).await;
    assert_eq!(listed(storage, 10).await, [own]);
    let page = storage.keys.list(&tenant, None, 10).await.answered();
    assert_eq!(page.items, std::slice::from_ref(&foreign));
    assert_eq!(found(storage, &foreign.id).await, Some(foreign));
}

/// `revoke` refuses a key from now on; it stays to be seen.
pub async fn revokes_a_key_from_then_on(storage: &Storage) {
    let key = stored(storage, samples::key(1)).await;
    let other = stored(storage, samples::key(2)).await;
    let answer = storage.keys.revoke(&key.tenant, &key.id, samples::at(9));
    assert!(answer.await.answered());
    let revoked = ApiKey {
        revoked_at: Some(samples::at(9)),
        ..key
    };
    assert_eq!(found(storage, &revoked.id).await, Some(revoked.clone()));
    assert_eq!(listed(storage, 10).await, [other, revoked]);
}

/// `revoke` MUST raise the access version; making and using keys need not.
pub async fn revocation_raises_the_access_version(storage: &Storage) {
    let key = stored(storage, samples::key(1)).await;
    let before = storage.keys.access_version().await.answered();
    let answer = storage.keys.revoke(&key.tenant, &key.id, samples::at(9));
    assert!(answer.await.answered());
    assert!(storage.keys.access_version().await.answered() > before);
}

/// A key revoked before stays as it was, and no node need drop anything again.
pub async fn a_second_revocation_changes_nothing(storage: &Storage) {
    let key = stored(storage, samples::key(1)).await;
    let answer = storage.keys.revoke(&key.tenant, &key.id, samples::at(9));
    assert!(answer.await.answered());
    let before = storage.keys.access_version().await.answered();
    let again = storage.keys.revoke(&key.tenant, &key.id, samples::at(10));
    assert!(again.await.answered(), "there is such a key");
    let revoked_at = found(storage, &key.id).await.and_then(|key| key.revoked_at);
    assert_eq!(revoked_at, Some(samples::at(9)));
    assert_eq!(storage.keys.access_version().await.answered(), before);
}

/// `revoke` answers whether there is such a key in the tenant.
pub async fn revokes_no_unknown_and_no_foreign_key(storage: &Storage) {
    let tenant = given::another_tenant(storage).await;
    let key = stored(storage, samples::key(1)).await;
    let before = storage.keys.access_version().await.answered();
    let foreign = storage.keys.revoke(&tenant, &key.id, samples::at(9));
    assert!(!foreign.await.answered());
    let unknown = samples::key_id(404);
    let unknown = storage.keys.revoke(&key.tenant, &unknown, samples::at(9));
    assert!(!unknown.await.answered());
    assert_eq!(found(storage, &key.id).await, Some(key));
    assert_eq!(storage.keys.access_version().await.answered(), before);
}

/// `touch` notes the use of several keys at once.
pub async fn notes_when_keys_were_used(storage: &Storage) {
    let keys = [1, 2, 3].map(samples::key);
    for key in &keys {
        stored(storage, key.clone()).await;
    }
    let used = [
        (keys[0].id.clone(), samples::at(60_000)),
        (keys[2].id.clone(), samples::at(120_000)),
    ];
    storage.keys.touch(&used).await.answered();
    let mut times = Vec::new();
    for key in &keys {
        times.push(
            found(storage, &key.id)
                .await
                .and_then(|key| key.last_used_at),
        );
    }
    let expected = [Some(samples::at(60_000)), None, Some(samples::at(120_000))];
    assert_eq!(times, expected);
}

/// `touch` MUST NOT move a key's time backwards, also within one call.
pub async fn use_never_moves_a_key_backwards(storage: &Storage) {
    let id = stored(storage, samples::key(1)).await.id;
    for time in [200, 100] {
        let used = [(id.clone(), samples::at(time))];
        storage.keys.touch(&used).await.answered();
    }
    let last_used_at = found(storage, &id).await.and_then(|key| key.last_used_at);
    assert_eq!(last_used_at, Some(samples::at(200)));
    for times in [[300, 400], [600, 500]] {
        let used = times.map(|time| (id.clone(), samples::at(time)));
        storage.keys.touch(&used).await.answered();
    }
    let last_used_at = found(storage, &id).await.and_then(|key| key.last_used_at);
    assert_eq!(last_used_at, Some(samples::at(600)));
}

/// Neither an unknown key nor none at all is an error.
pub async fn notes_the_use_of_unknown_keys_as_nothing(storage: &Storage) {
    let unknown = (samples::key_id(404), samples::at(1));
    storage.keys.touch(&[unknown]).await.answered();
    storage.keys.touch(&[]).await.answered();
    assert!(listed(storage, 10).await.is_empty());
}
