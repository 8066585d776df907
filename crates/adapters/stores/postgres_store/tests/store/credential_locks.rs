//! Tests of the order of locks: credentials before the state of the store. Uses are recorded under
//! locks of credentials alone, so with another order three calls could wait for each other.

use contract::{Store, fixture};
use domain::Credential;
use serde_json::json;
use sqlx::Connection;

use crate::database::{Database, waiting};

const HOLD: &str = "select from credentials where id = $1 for update";
const LOCK_STATE: &str = "select from store_state for update nowait";

/// Holds a credential, and asserts that `change` waits for it without holding the state.
async fn assert_state_is_free(
    database: &Database,
    credential: &Credential,
    change: impl AsyncFnOnce(&Store),
) {
    let storage: &Store = database;
    let inserted = storage.credentials.insert(credential, None).await;
    inserted.expect("a new credential");
    let mut other = database.connect().await;
    let mut watch = database.connect().await;
    let mut holder = other.begin().await.expect("a transaction");
    let hold = sqlx::query(HOLD).bind(credential.id.as_str());
    hold.execute(&mut *holder).await.expect("a lock");
    let look = async {
        waiting(&mut watch, 1).await;
        let locked = sqlx::query(LOCK_STATE).execute(&mut *holder).await;
        locked.expect("the state is not locked");
        holder.commit().await.expect("an end");
    };
    tokio::join!(change(storage), look);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_locks_the_credential_before_the_state() {
    let database = Database::new().await;
    let key = fixture::key(1);
    assert_state_is_free(&database, &key, async |storage| {
        let credentials = &storage.credentials;
        let revoked = credentials.revoke(key.kind, &key.tenant, &key.id, fixture::at(9));
        assert!(revoked.await.expect("no deadlock"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_locks_the_credential_before_the_state() {
    let database = Database::new().await;
    let key = fixture::key(1);
    assert_state_is_free(&database, &key, async |storage| {
        let (credentials, patch) = (&storage.credentials, json!({"name": "new"}));
        let updated = credentials.update(key.kind, &key.tenant, &key.id, patch);
        assert!(updated.await.expect("no deadlock").is_some());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_locks_the_credential_before_the_state() {
    let database = Database::new().await;
    let key = fixture::key(1);
    let proof = fixture::new_secret(8, None);
    assert_state_is_free(&database, &key, async |storage| {
        let credentials = &storage.credentials;
        let rotated = credentials.rotate(key.kind, &key.tenant, &key.id, &proof, None);
        rotated.await.expect("no deadlock");
    })
    .await;
}
