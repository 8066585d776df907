//! What a newer version of the service, running beside this one, may have written.

use contract::samples;
use domain::{EventType, Seq};

use crate::database::Database;

const APPEND: &str = "\
    insert into events (tenant_id, seq, type, time, agent_id, actor) \
    select tenant_id, seq + 1, 'agent.praised', time, agent_id, actor from events where seq = 1";
const GROW: &str = "update tenants set head_seq = 2";

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_an_unknown_type_is_told_with_its_ids() {
    let database = Database::make().await;
    let (tenant, agent) = (samples::tenant(), samples::agent(1));
    database
        .agents
        .insert(&tenant, &agent, &samples::stamp(0), None)
        .await
        .unwrap();
    let mut newer = database.connect().await;
    for statement in [APPEND, GROW] {
        sqlx::query(statement).execute(&mut newer).await.unwrap();
    }
    let changes = database.events.changes(&tenant, Seq(0), 10).await.unwrap();
    let told: Vec<_> = changes
        .iter()
        .map(|change| (change.seq, change.kind, change.agent_id))
        .collect();
    let expected = [
        (Seq(1), Some(EventType::AgentCreated), Some(agent.id)),
        (Seq(2), None, Some(agent.id)),
    ];
    assert_eq!(told, expected);
}
