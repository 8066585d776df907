//! Tests of two processes that add a signing key at the same time: one of them adds it.

use contract::fixture;
use sqlx::Connection;

use crate::database::{Database, waiting};

const HOLD: &str = "select access_version from store_state for update";
const ADD: &str = "\
    insert into signing_keys (kid, private_key, is_sealed, public_key, created_at) \
    values ('added meanwhile', '', false, '{}', $1)";

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_waited_sees_the_key_that_another_has_added() {
    let database = Database::new().await;
    let signing_keys = &database.signing_keys;
    let first = fixture::signing_key(1);
    let end = fixture::at(1_000);
    assert!(signing_keys.add(&first, None, end).await.unwrap());
    let mut other = database.connect().await;
    let mut watch = database.connect().await;
    let mut holder = other.begin().await.unwrap();
    sqlx::query(HOLD).execute(&mut *holder).await.unwrap();

    let late = fixture::signing_key(3);
    let release = async {
        waiting(&mut watch, 1).await;
        sqlx::query(ADD)
            .bind(fixture::at(2).date_time())
            .execute(&mut *holder)
            .await
            .unwrap();
        holder.commit().await.unwrap();
    };
    let (added, ()) = tokio::join!(signing_keys.add(&late, Some(&first.kid), end), release);
    assert!(!added.unwrap());
    let stored = signing_keys.list().await.unwrap();
    let ids: Vec<_> = stored.iter().map(|key| key.kid.as_str()).collect();
    assert_eq!(ids, ["added meanwhile", first.kid.as_str()]);
    assert_eq!(stored[1], first);
}
