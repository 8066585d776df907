//! Trimming the log where that of one tenant refuses it.

use contract::samples;
use domain::Seq;

use crate::database::Database;

const REFUSAL: &str = "\
    create function refuse() returns trigger language plpgsql as \
    $$ begin raise exception 'damaged'; end $$";
const REFUSE: &str = "\
    create trigger refuse before delete on events for each row \
    when (old.tenant_id = 'a-first-one') execute function refuse()";

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_that_cannot_be_trimmed_keeps_no_other_from_it() {
    let database = Database::make().await;
    let tenants = ["a-first-one", "b-second-one"].map(samples::tenant_named);
    for (number, tenant) in (1..).zip(&tenants) {
        database
            .tenants
            .insert(tenant, samples::at(0))
            .await
            .unwrap();
        database
            .agents
            .insert(tenant, &samples::agent(number), &samples::stamp(10), None)
            .await
            .unwrap();
    }
    let mut damaging = database.connect().await;
    for statement in [REFUSAL, REFUSE] {
        sqlx::query(statement).execute(&mut damaging).await.unwrap();
    }

    // As long as more may be left, it is gone on.
    let trimmed = database.maintenance.trim_log(samples::at(100), 1).await;
    assert_eq!(trimmed.unwrap(), 1);
    let trimmed = database.maintenance.trim_log(samples::at(100), 1).await;
    assert!(trimmed.is_err(), "{trimmed:?}");
    let mut firsts = Vec::new();
    for tenant in &tenants {
        let bounds = database.events.bounds(tenant).await.unwrap();
        firsts.push(bounds.first);
    }
    assert_eq!(firsts, [Seq(1), Seq(2)]);
}
