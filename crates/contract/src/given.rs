//! What a store holds before a promise is tried.

use domain::{Agent, TenantId};
use ports::{Committed, Storage};

use crate::{
    answers::{Answer as _, OnceAnswer as _},
    samples,
};

/// A second tenant.
pub(crate) async fn another_tenant(storage: &Storage) -> TenantId {
    let tenant = samples::tenant_named("another");
    let answer = storage.tenants.insert(&tenant, samples::at(0)).await;
    answer.answered();
    tenant
}

/// This agent, in the samples' tenant.
pub(crate) async fn stored_agent(storage: &Storage, agent: Agent) -> Agent {
    stored_agent_of(storage, &samples::tenant(), agent).await
}

/// This agent, in this tenant.
pub(crate) async fn stored_agent_of(storage: &Storage, tenant: &TenantId, agent: Agent) -> Agent {
    let stamp = samples::stamp(0);
    let answer = storage.agents.insert(tenant, &agent, &stamp, None).await;
    answer.done();
    agent
}

/// A numbered agent.
pub(crate) async fn agent(storage: &Storage, number: u32) -> Agent {
    stored_agent(storage, samples::agent(number)).await
}

/// That this agent has become its next version.
pub(crate) async fn agent_updated(storage: &Storage, next: &Agent) -> Committed {
    let (tenant, stamp) = (samples::tenant(), samples::stamp(500));
    let answer = storage.agents.update(&tenant, next, &stamp).await;
    answer.answered().expect("the agent is there")
}

/// That this agent is no more.
pub(crate) async fn agent_deleted(storage: &Storage, agent: &Agent) -> Committed {
    let tenant = samples::tenant();
    let stamp = samples::stamp(1_000);
    crate::answers::deleted(storage.agents.delete(&tenant, agent.id, None, &stamp).await)
}
