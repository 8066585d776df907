//! `AgentRepository`: making, finding and changing agents.

use domain::{EventData, EventType, IdempotencyClaim};
use ports::Storage;
use serde_json::json;

use crate::{
    answers::{Answer as _, OnceAnswer as _, assert_conflict, assert_stale, event_count},
    found, given, log, samples,
};

/// What `insert` took is what `find` gives.
pub async fn stores_an_agent_as_it_was_given(storage: &Storage) {
    let agent = given::agent(storage, 1).await;
    let found = storage.agents.find(&samples::tenant(), agent.id).await;
    let found = found.answered();
    assert_eq!(found.value.as_deref(), Some(&agent));
    assert!(found.position <= log::head(storage, &samples::tenant()).await);
}

/// `insert` MUST write `agent.created` with the agent's snapshot.
pub async fn writes_agent_created_with_its_snapshot(storage: &Storage) {
    let (tenant, agent, stamp) = (samples::tenant(), samples::agent(1), samples::stamp(5));
    let answer = storage.agents.insert(&tenant, &agent, &stamp, None).await;
    let committed = answer.done();
    assert_eq!((committed.first.0, committed.last.0), (1, 1));
    let event = log::events(storage).await.remove(0);
    assert_eq!((event.seq.0, event.kind), (1, EventType::AgentCreated));
    assert_eq!((event.time, event.actor), (stamp.time, stamp.actor));
    assert_eq!(event.tenant_id, tenant);
    assert_eq!(event.agent_id, Some(agent.id));
    assert_eq!((event.conversation_id, event.turn_id), (None, None));
    assert_eq!(event.data, EventData::Agent { agent });
}

/// `insert` MUST answer `Conflict` when the id exists.
pub async fn refuses_a_duplicate_agent_id(storage: &Storage) {
    let (tenant, stamp) = (samples::tenant(), samples::stamp(0));
    let first = given::agent(storage, 1).await;
    let second = samples::agent_named(1, "Impostor");
    assert_conflict(&storage.agents.insert(&tenant, &second, &stamp, None).await);
    assert_eq!(found::agent(storage, first.id).await, Some(first));
}

/// The transaction of a refused `insert` leaves nothing behind.
pub async fn a_refused_duplicate_leaves_no_event_and_no_claim(storage: &Storage) {
    let (tenant, stamp, claim) = (samples::tenant(), samples::stamp(0), samples::claim("k"));
    let agent = given::agent(storage, 1).await;
    let answer = storage.agents.insert(&tenant, &agent, &stamp, Some(&claim));
    assert_conflict(&answer.await);
    assert_eq!(log::types(storage).await, [EventType::AgentCreated]);
    assert_eq!(found::claim(storage, &claim).await, None);
}

/// `insert` MUST write the claim in the same transaction.
pub async fn records_the_claim_with_the_agent(storage: &Storage) {
    let (tenant, stamp) = (samples::tenant(), samples::stamp(0));
    let claim = IdempotencyClaim {
        answer: Some(json!({"id": 1, "name": "Ada 🦊", "none": null, "half": 0.5})),
        ..samples::claim("k")
    };
    let agent = samples::agent(1);
    let answer = storage.agents.insert(&tenant, &agent, &stamp, Some(&claim));
    answer.await.done();
    let record = found::claim(storage, &claim).await;
    let record = record.expect("the claim is remembered");
    assert_eq!(record.fingerprint, claim.fingerprint);
    assert_eq!(record.answer, claim.answer);
    assert_eq!(record.created_at, claim.created_at);
    assert_eq!(record.turn_id, None);
}

/// `insert` MUST write nothing when the claim's key was used before.
pub async fn a_used_key_makes_no_second_agent(storage: &Storage) {
    let (tenant, stamp, claim) = (samples::tenant(), samples::stamp(0), samples::claim("k"));
    let (first, second) = (samples::agent(1), samples::agent(2));
    let answer = storage.agents.insert(&tenant, &first, &stamp, Some(&claim));
    answer.await.done();
    let answer = storage
        .agents
        .insert(&tenant, &second, &stamp, Some(&claim));
    assert_eq!(answer.await.repeated().fingerprint, claim.fingerprint);
    assert_eq!(found::agent(storage, second.id).await, None);
    assert_eq!(log::types(storage).await, [EventType::AgentCreated]);
}

/// "Not found" is a value.
pub async fn finds_no_agent_that_was_never_made(storage: &Storage) {
    let id = samples::agent_id(404);
    assert_eq!(found::agent(storage, id).await, None);
}

/// `update` replaces everything that a client decides.
pub async fn replaces_an_agent_by_its_next_version(storage: &Storage) {
    let (tenant, stamp) = (samples::tenant(), samples::stamp(9));
    let agent = given::agent(storage, 1).await;
    let mut next = samples::renamed(&agent, "Grace");
    next.personality = String::new();
    next.capabilities = vec!["orders".to_owned(), "time".to_owned()];
    next.config.engine = Some("rules".to_owned());
    let answer = storage.agents.update(&tenant, &next, &stamp).await;
    assert_eq!(answer.answered().map(event_count), Some(1));
    assert_eq!(found::agent(storage, agent.id).await, Some(next));
}

/// `update` MUST write `agent.updated` with the new snapshot; the old event keeps the old one.
pub async fn writes_agent_updated_with_the_new_snapshot(storage: &Storage) {
    let (tenant, stamp) = (samples::tenant(), samples::stamp(9));
    let agent = given::agent(storage, 1).await;
    let next = samples::renamed(&agent, "Grace");
    let answer = storage.agents.update(&tenant, &next, &stamp).await;
    let committed = answer.answered().expect("the agent is there");
    let events = log::events(storage).await;
    assert_eq!(events.len(), 2);
    assert_eq!(
        (committed.first, committed.last),
        (events[1].seq, events[1].seq)
    );
    assert_eq!(events[1].kind, EventType::AgentUpdated);
    assert_eq!(events[1].time, stamp.time);
    assert_eq!(events[1].agent_id, Some(agent.id));
    assert_eq!(events[1].data, EventData::Agent { agent: next });
    assert_eq!(events[0].data, EventData::Agent { agent });
}

/// `update` MUST answer `Stale` and write nothing unless it is the next version.
pub async fn refuses_an_update_of_another_version(storage: &Storage) {
    let (tenant, stamp) = (samples::tenant(), samples::stamp(9));
    let agent = given::agent(storage, 1).await;
    for version in [0, 1, 3] {
        let mut next = samples::renamed(&agent, "Grace");
        next.version = version;
        assert_stale(&storage.agents.update(&tenant, &next, &stamp).await);
    }
    assert_eq!(found::agent(storage, agent.id).await, Some(agent));
    assert_eq!(log::types(storage).await, [EventType::AgentCreated]);
}

/// `update` MUST answer `None` when the agent is gone.
pub async fn updates_no_agent_that_is_gone(storage: &Storage) {
    let (tenant, stamp) = (samples::tenant(), samples::stamp(9));
    let next = samples::renamed(&samples::agent(1), "Grace");
    let answer = storage.agents.update(&tenant, &next, &stamp).await;
    assert_eq!(answer.answered(), None);
    let agent = given::agent(storage, 1).await;
    given::agent_deleted(storage, &agent).await;
    let answer = storage.agents.update(&tenant, &next, &stamp).await;
    assert_eq!(answer.answered(), None);
    let types = log::types(storage).await;
    assert_eq!(types, [EventType::AgentCreated, EventType::AgentDeleted]);
}
