//! Trimming of logs when the log of one tenant cannot be trimmed.

mod database;

use contract::fixture;
use domain::Seq;
use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;

const REFUSE: &str = "\
    create trigger refuse before delete on events when old.tenant_id = 'a-first-one' \
    begin select raise(abort, 'damaged'); end";

#[tokio::test]
async fn a_log_that_cannot_be_trimmed_does_not_affect_other_tenants() {
    let folder = TempDir::new().unwrap();
    let url = database::url(&folder);
    let database = database::migrated(&url).await;
    let tenants = ["a-first-one", "b-second-one"].map(fixture::tenant_named);
    for (number, tenant) in (1..).zip(&tenants) {
        database
            .tenants
            .insert(tenant, fixture::at(0))
            .await
            .unwrap();
        database
            .agents
            .insert(tenant, &fixture::agent(number), &fixture::stamp(10), None)
            .await
            .unwrap();
    }
    let mut damaging = SqliteConnection::connect(&url).await.unwrap();
    sqlx::query(REFUSE).execute(&mut damaging).await.unwrap();

    // An error is not returned as long as more events may be removed.
    let trimmed = database.maintenance.trim_log(fixture::at(100), 1).await;
    assert_eq!(trimmed.unwrap(), 1);
    let trimmed = database.maintenance.trim_log(fixture::at(100), 1).await;
    assert!(trimmed.is_err(), "{trimmed:?}");
    let mut firsts = Vec::new();
    for tenant in &tenants {
        let bounds = database.events.bounds(tenant).await.unwrap();
        firsts.push(bounds.first);
    }
    assert_eq!(firsts, [Seq(1), Seq(2)]);
}
