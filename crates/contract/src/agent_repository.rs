//! `AgentRepository`: creating, finding and updating agents.

use domain::{EventData, EventType, IdempotencyEntry};

use serde_json::json;

use crate::{
    Store, fixture, log, lookup,
    results::{IdempotentExt as _, ResultExt as _, assert_conflict, assert_stale, event_count},
    setup,
};

/// `find` returns what `insert` stored.
pub async fn an_inserted_agent_is_stored_unchanged(storage: &Store) {
    let agent = setup::agent(storage, 1).await;
    let found = storage.agents.find(&fixture::tenant(), agent.id).await;
    let found = found.success();
    assert_eq!(found.value.as_deref(), Some(&agent));
    assert!(found.position <= log::head(storage, &fixture::tenant()).await);
}

/// `insert` MUST write `agent.created` with a snapshot of the agent.
pub async fn an_insert_writes_agent_created_with_a_snapshot(storage: &Store) {
    let (tenant, agent, stamp) = (fixture::tenant(), fixture::agent(1), fixture::stamp(5));
    let result = storage.agents.insert(&tenant, &agent, &stamp, None).await;
    let committed = result.applied();
    assert_eq!((committed.first.0, committed.last.0), (1, 1));
    let event = log::events(storage).await.remove(0);
    assert_eq!((event.seq.0, event.kind), (1, EventType::AgentCreated));
    assert_eq!((event.time, event.actor), (stamp.time, stamp.actor));
    assert_eq!(event.tenant_id, tenant);
    assert_eq!(event.agent_id, Some(agent.id));
    assert_eq!((event.conversation_id, event.turn_id), (None, None));
    assert_eq!(event.data, EventData::Agent { agent });
}

/// `insert` MUST return `Conflict` if the id exists.
pub async fn a_duplicate_agent_id_is_a_conflict(storage: &Store) {
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(0));
    let first = setup::agent(storage, 1).await;
    let second = fixture::agent_named(1, "Impostor");
    assert_conflict(&storage.agents.insert(&tenant, &second, &stamp, None).await);
    assert_eq!(lookup::agent(storage, first.id).await, Some(first));
}

/// A rejected `insert` writes nothing.
pub async fn a_rejected_duplicate_agent_writes_no_event_and_no_idempotency_entry(storage: &Store) {
    let (tenant, stamp, entry) = (fixture::tenant(), fixture::stamp(0), fixture::entry("k"));
    let agent = setup::agent(storage, 1).await;
    let result = storage.agents.insert(&tenant, &agent, &stamp, Some(&entry));
    assert_conflict(&result.await);
    assert_eq!(log::types(storage).await, [EventType::AgentCreated]);
    assert_eq!(lookup::record(storage, &entry).await, None);
}

/// `insert` MUST write the entry in the same transaction.
pub async fn the_idempotency_entry_is_stored_with_the_agent(storage: &Store) {
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(0));
    let entry = IdempotencyEntry {
        result: Some(json!({"id": 1, "name": "Ada 🦊", "none": null, "half": 0.5})),
        ..fixture::entry("k")
    };
    let agent = fixture::agent(1);
    let result = storage.agents.insert(&tenant, &agent, &stamp, Some(&entry));
    result.await.applied();
    let record = lookup::record(storage, &entry).await;
    let record = record.expect("the entry is stored");
    assert_eq!(record.fingerprint, entry.fingerprint);
    assert_eq!(record.result, entry.result);
    assert_eq!(record.created_at, entry.created_at);
    assert_eq!(record.turn_id, None);
}

/// `insert` MUST write nothing if the key of the entry was used before.
pub async fn a_used_key_creates_no_second_agent(storage: &Store) {
    let (tenant, stamp, entry) = (fixture::tenant(), fixture::stamp(0), fixture::entry("k"));
    let (first, second) = (fixture::agent(1), fixture::agent(2));
    let result = storage.agents.insert(&tenant, &first, &stamp, Some(&entry));
    result.await.applied();
    let result = storage
        .agents
        .insert(&tenant, &second, &stamp, Some(&entry));
    assert_eq!(result.await.replayed().fingerprint, entry.fingerprint);
    assert_eq!(lookup::agent(storage, second.id).await, None);
    assert_eq!(log::types(storage).await, [EventType::AgentCreated]);
}

/// "Not found" is a value.
pub async fn an_unknown_agent_is_not_found(storage: &Store) {
    let id = fixture::agent_id(404);
    assert_eq!(lookup::agent(storage, id).await, None);
}

/// `update` replaces every member that a client sets.
pub async fn an_update_stores_the_next_version_of_an_agent(storage: &Store) {
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(9));
    let agent = setup::agent(storage, 1).await;
    let mut next = fixture::renamed(&agent, "Grace");
    next.personality = String::new();
    next.capabilities = vec!["orders".to_owned(), "time".to_owned()];
    next.config.engine = Some("rules".to_owned());
    let result = storage.agents.update(&tenant, &next, &stamp).await;
    assert_eq!(result.success().map(event_count), Some(1));
    assert_eq!(lookup::agent(storage, agent.id).await, Some(next));
}

/// A store may write large agents in another way than small ones.
pub async fn a_large_agent_is_written_like_a_small_one(storage: &Store) {
    let (tenant, stamp, entry) = (fixture::tenant(), fixture::stamp(9), fixture::entry("k"));
    let mut agent = fixture::agent(1);
    agent.config.instructions = Some("x".repeat(100_000));
    let result = storage.agents.insert(&tenant, &agent, &stamp, Some(&entry));
    result.await.applied();
    let result = storage.agents.insert(&tenant, &agent, &stamp, Some(&entry));
    assert_eq!(result.await.replayed().fingerprint, entry.fingerprint);
    let next = fixture::renamed(&agent, "Grace");
    let result = storage.agents.update(&tenant, &next, &stamp).await;
    assert_eq!(result.success().map(event_count), Some(1));
    let late = storage.agents.update(&tenant, &next, &stamp).await;
    assert_stale(&late);
    let small = setup::agent(storage, 2).await;
    let small = fixture::renamed(&small, "Ada");
    let result = storage.agents.update(&tenant, &small, &stamp).await;
    assert_eq!(result.success().map(event_count), Some(1));
    assert_eq!(lookup::agent(storage, agent.id).await, Some(next));
    assert_eq!(log::types(storage).await.len(), 4);
}

/// `update` MUST write `agent.updated` with the new snapshot. The earlier event keeps its own.
pub async fn an_update_writes_agent_updated_with_the_new_snapshot(storage: &Store) {
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(9));
    let agent = setup::agent(storage, 1).await;
    let next = fixture::renamed(&agent, "Grace");
    let result = storage.agents.update(&tenant, &next, &stamp).await;
    let committed = result.success().expect("the agent exists");
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

/// `update` MUST return `Stale` and write nothing unless it is the next version.
pub async fn an_update_of_another_agent_version_is_stale(storage: &Store) {
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(9));
    let agent = setup::agent(storage, 1).await;
    for version in [0, 1, 3] {
        let mut next = fixture::renamed(&agent, "Grace");
        next.version = version;
        assert_stale(&storage.agents.update(&tenant, &next, &stamp).await);
    }
    assert_eq!(lookup::agent(storage, agent.id).await, Some(agent));
    assert_eq!(log::types(storage).await, [EventType::AgentCreated]);
}

/// `update` MUST return `None` if the agent does not exist.
pub async fn a_deleted_agent_cannot_be_updated(storage: &Store) {
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(9));
    let next = fixture::renamed(&fixture::agent(1), "Grace");
    let result = storage.agents.update(&tenant, &next, &stamp).await;
    assert_eq!(result.success(), None);
    let agent = setup::agent(storage, 1).await;
    setup::delete_agent(storage, &agent).await;
    let result = storage.agents.update(&tenant, &next, &stamp).await;
    assert_eq!(result.success(), None);
    let types = log::types(storage).await;
    assert_eq!(types, [EventType::AgentCreated, EventType::AgentDeleted]);
}
