//! Trimming of logs when the log of one tenant cannot be trimmed.

use contract::fixture;
use domain::Seq;

use crate::database::Database;

const REFUSAL: &str = "\
    create function refuse() returns trigger language plpgsql as \
    $$ begin raise exception 'damaged'; end $$";
const REFUSE: &str = "\
    create trigger refuse before delete on events for each row \
    when (old.tenant_id = 'a-first-one') execute function refuse()";

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_cannot_be_trimmed_does_not_affect_other_tenants() {
    let database = Database::new().await;
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
    let mut damaging = database.connect().await;
    for statement in [REFUSAL, REFUSE] {
        sqlx::query(statement).execute(&mut damaging).await.unwrap();
    }

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
