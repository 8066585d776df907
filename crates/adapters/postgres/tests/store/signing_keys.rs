//! Of two processes that add a signing key at the same time, one does it.

use contract::samples;
use sqlx::Connection;

use crate::database::{Database, waiting};

const HOLD: &str = "select access_version from store_state for update";
const ADD: &str = "\
    insert into signing_keys (kid, private_key, is_sealed, public_key, created_at) \
    values ('added meanwhile', '', false, '{}', $1)";

#[tokio::test(flavor = "multi_thread")]
async fn a_key_added_while_another_process_waited_is_seen() {
    let database = Database::make().await;
    let signing_keys = &database.signing_keys;
    let first = samples::signing_key(1);
    let end = samples::at(1_000);
    assert!(signing_keys.add(&first, None, end).await.unwrap());
    let mut other = database.connect().await;
    let mut watch = database.connect().await;
    let mut holder = other.begin().await.unwrap();
    sqlx::query(HOLD).execute(&mut *holder).await.unwrap();

    let late = samples::signing_key(3);
    let release = async {
        waiting(&mut watch, 1).await;
        sqlx::query(ADD)
            .bind(samples::at(2).date_time())
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
