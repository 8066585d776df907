//! Tests of migrations of databases with data.

mod database;

use std::time::Duration;

use contract::fixture;
use domain::{
    Credential, CredentialKind, LimitOverrides, SecretDigest,
    credential::{Proof, StoredSecret},
};
use sqlx::{Connection, SqliteConnection, migrate::Migrator, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

static MIGRATOR: Migrator = sqlx::migrate!("../../../migrations/sqlite");

const INSERT_KEY: &str = "\
    insert into api_keys (id, tenant_id, name, scopes, digest, last4, previous_digest, \
        previous_until, created_at, expires_at, last_used_at, revoked_at, allowed_origins, limits) \
    values (?1, 'default', 'Key 1', '[\"agents:read\",\"chat:write\"]', ?2, '4fZ1', ?3, ?4, ?5, \
        ?6, ?7, ?8, '[\"https://example.org\"]', '{\"streams\":3}')";
const NOTE_KEY: &str = "update store_state set had_key = 1, access_version = 5";

/// Two turns of one conversation: one in progress on a node, and one queued.
const INSERT_TURNS: &str = "\
    insert into turns (tenant_id, id, conversation_id, agent_id, status, principal, input, \
        message_id, node_id, queued_seq, created_at) \
    values ('default', ?1, ?3, ?4, 'in_progress', 'key:any', 'Hi', ?1, ?5, null, ?6), \
        ('default', ?2, ?3, ?4, 'queued', 'key:any', 'Hi', ?2, null, 7, ?6)";

fn secret() -> StoredSecret {
    StoredSecret {
        digest: SecretDigest::new([7; 32]),
        last4: "4fZ1".to_owned(),
        previous: Some((SecretDigest::new([8; 32]), fixture::at(20))),
    }
}

fn expected() -> Credential {
    Credential {
        proof: Proof::Secret(secret()),
        expires_at: Some(fixture::at(30)),
        last_used_at: Some(fixture::at(40)),
        revoked_at: Some(fixture::at(50)),
        allowed_origins: vec!["https://example.org".to_owned()],
        limits: LimitOverrides {
            streams: Some(3),
            ..LimitOverrides::default()
        },
        ..fixture::key(1)
    }
}

/// Creates a database with the schema of `version`.
async fn of_version(folder: &TempDir, version: i64) -> SqliteConnection {
    let path = folder.path().join("data/test.db");
    std::fs::create_dir(folder.path().join("data")).expect("a folder");
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true);
    let mut connection = SqliteConnection::connect_with(&options)
        .await
        .expect("a database");
    let migrated = MIGRATOR.run_to(version, &mut connection).await;
    migrated.expect("the version exists");
    connection
}

#[tokio::test]
async fn a_key_of_the_first_version_is_kept() {
    let folder = TempDir::new().unwrap();
    let mut first = of_version(&folder, 1).await;
    let key = expected();
    sqlx::query(INSERT_KEY)
        .bind(key.id.as_str())
        .bind([7_u8; 32].as_slice())
        .bind([8_u8; 32].as_slice())
        .bind(fixture::at(20).milliseconds())
        .bind(key.created_at.milliseconds())
        .bind(fixture::at(30).milliseconds())
        .bind(fixture::at(40).milliseconds())
        .bind(fixture::at(50).milliseconds())
        .execute(&mut first)
        .await
        .unwrap();
    sqlx::query(NOTE_KEY).execute(&mut first).await.unwrap();
    first.close().await.unwrap();

    let database = database::migrated(&database::url(&folder)).await;
    let credentials = &database.credentials;
    let found = credentials.find(CredentialKind::Key, &key.id).await;
    assert_eq!(found.unwrap(), Some(key));
    assert!(credentials.has_ever_held_a_key().await.unwrap());
    assert_eq!(credentials.access_version().await.unwrap(), 5);
}

#[tokio::test]
async fn a_turn_queued_by_the_second_version_is_queued_since_the_migration_to_the_third() {
    let folder = TempDir::new().unwrap();
    let mut second = of_version(&folder, 2).await;
    sqlx::query(INSERT_TURNS)
        .bind(fixture::turn_id(1).uuid())
        .bind(fixture::turn_id(2).uuid())
        .bind(fixture::conversation_id(1).uuid())
        .bind(fixture::agent_id(1).uuid())
        .bind(fixture::node_id(1).uuid())
        .bind(fixture::at(0).milliseconds())
        .execute(&mut second)
        .await
        .unwrap();
    second.close().await.unwrap();

    let database = database::migrated(&database::url(&folder)).await;
    let (node, long) = (fixture::node_id(1), Duration::from_hours(1));
    database.nodes.insert(node, long).await.unwrap();
    let recovery = &database.recovery;
    assert_eq!(recovery.tenants_to_sweep(long).await.unwrap(), []);
    let late = recovery.tenants_to_sweep(Duration::ZERO).await.unwrap();
    assert_eq!(late, [fixture::tenant()]);
}
