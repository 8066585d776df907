//! `WriteStore::write_if`: rows are written as given if every condition holds, and none otherwise.

use std::sync::Arc;

use domain::{NodeId, Seq};
use ports::{
    ConditionalRows, Conditions, ConversationName, Rows,
    write_store::{CredentialKey, RecordKey, RunningTurn},
};

use writes::BeginTurn;

use crate::{Store, fixture, log, setup, sweep_candidates::started_of};

/// The conditions under which the store of [`prepared`] can be written.
async fn conditions(storage: &Store) -> Conditions {
    let tenant = fixture::tenant();
    let head = log::head(storage, &tenant).await;
    let name = ConversationName {
        agent_id: fixture::agent_id(1),
        user_id: None,
        key: fixture::named(fixture::conversation(9, fixture::agent_id(1)), "unused")
            .key
            .expect("the conversation is named"),
    };
    Conditions {
        heads: [(tenant.clone(), head)].into(),
        live_nodes: vec![fixture::node_id(1)],
        unused_keys: vec![RecordKey::new(&tenant, &fixture::entry("unused"))],
        unused_names: vec![(tenant, name)],
        valid_credentials: vec![key_of(1)],
        running_turns: Vec::new(),
    }
}

fn key_of(number: u32) -> CredentialKey {
    let key = fixture::key(number);
    CredentialKey {
        id: key.id,
        tenant: key.tenant,
        kind: key.kind,
    }
}

/// Stores process 1, agent 1, conversation 1 and key 1.
async fn prepared(storage: &Store) {
    setup::chat(storage).await;
    setup::credential(storage, fixture::key(1)).await;
}

/// Tries to raise the head by one under `conditions`; asserts that it was raised if `write_if`
/// returned `true`, and only then.
async fn is_written(storage: &Store, conditions: Conditions) -> bool {
    let tenant = fixture::tenant();
    let before = log::head(storage, &tenant).await;
    let raised = Seq(before.0 + 1);
    let write = ConditionalRows {
        writes: 1,
        conditions,
        rows: Rows {
            heads: vec![(tenant.clone(), raised)],
            ..Rows::default()
        },
    };
    let written = storage.ports().writes.write_if(Arc::new(write)).await;
    let written = written.expect("the store responds");
    let expected = if written { raised } else { before };
    assert_eq!(log::head(storage, &tenant).await, expected);
    written
}

/// All conditions hold.
pub async fn rows_are_written_if_every_condition_holds(storage: &Store) {
    prepared(storage).await;
    let conditions = conditions(storage).await;
    assert!(is_written(storage, conditions).await);
}

/// The head is another one, or the tenant does not exist.
pub async fn nothing_is_written_under_another_head(storage: &Store) {
    prepared(storage).await;
    let current = conditions(storage).await;
    setup::agent(storage, 2).await;
    assert!(!is_written(storage, current).await);
    let mut unknown = conditions(storage).await;
    let tenant = fixture::tenant_named("unknown");
    unknown.heads.insert(tenant, Seq(0));
    assert!(!is_written(storage, unknown).await);
}

/// The node is unknown.
pub async fn nothing_is_written_for_a_node_that_is_not_live(storage: &Store) {
    prepared(storage).await;
    let mut conditions = conditions(storage).await;
    conditions
        .live_nodes
        .push(NodeId::new(fixture::node_id(404).uuid()));
    assert!(!is_written(storage, conditions).await);
}

/// A record of the key exists.
pub async fn nothing_is_written_with_a_used_key(storage: &Store) {
    prepared(storage).await;
    let (tenant, entry) = (fixture::tenant(), fixture::entry("used"));
    let (agent, stamp) = (fixture::agent(2), fixture::stamp(0));
    let inserted = storage.agents.insert(&tenant, &agent, &stamp, Some(&entry));
    inserted.await.expect("the store responds");
    let mut conditions = conditions(storage).await;
    conditions.unused_keys.push(RecordKey::new(&tenant, &entry));
    assert!(!is_written(storage, conditions).await);
}

/// A conversation has the name.
pub async fn nothing_is_written_with_a_used_name(storage: &Store) {
    prepared(storage).await;
    let named = fixture::named(fixture::conversation(2, fixture::agent_id(1)), "used");
    let name = ConversationName::of(&named).expect("the conversation is named");
    setup::insert_conversation(storage, named).await;
    let mut conditions = conditions(storage).await;
    conditions.unused_names.push((fixture::tenant(), name));
    assert!(!is_written(storage, conditions).await);
}

fn running(begin: &BeginTurn) -> RunningTurn {
    RunningTurn {
        tenant: begin.tenant.clone(),
        id: begin.turn_id,
        node: begin.node,
    }
}

/// The turn is unknown, belongs to another tenant or runs on another node, or has ended.
pub async fn nothing_is_written_for_a_turn_that_runs_elsewhere(storage: &Store) {
    prepared(storage).await;
    let target = fixture::existing(&fixture::conversation(1, fixture::agent_id(1)), 0);
    let begin = fixture::begin_turn(1, &fixture::agent(1), target);
    setup::start_turn(storage, &begin).await;
    let with = async |turn: RunningTurn| {
        let mut conditions = conditions(storage).await;
        conditions.running_turns.push(turn);
        is_written(storage, conditions).await
    };
    assert!(with(running(&begin)).await);
    let unknown = RunningTurn {
        id: fixture::turn_id(404),
        ..running(&begin)
    };
    let foreign = RunningTurn {
        tenant: setup::second_tenant(storage).await,
        ..running(&begin)
    };
    let elsewhere = RunningTurn {
        node: fixture::node_id(9),
        ..running(&begin)
    };
    for other in [unknown, foreign, elsewhere] {
        assert!(!with(other).await);
    }
    setup::complete_turn(storage, &begin, 1).await;
    assert!(!with(running(&begin)).await);
}

/// All of them, of any tenant, or nothing is written.
pub async fn turns_of_several_tenants_must_be_running(storage: &Store) {
    prepared(storage).await;
    let target = fixture::existing(&fixture::conversation(1, fixture::agent_id(1)), 0);
    let ours = fixture::begin_turn(1, &fixture::agent(1), target);
    setup::start_turn(storage, &ours).await;
    let tenant = setup::second_tenant(storage).await;
    let theirs = started_of(storage, &tenant).await;
    let with_heads = |has_head: bool| async move {
        let mut conditions = conditions(storage).await;
        if !has_head {
            conditions.heads.clear();
        }
        conditions
    };
    for has_head in [true, false] {
        let mut conditions = with_heads(has_head).await;
        conditions.running_turns = vec![running(&ours), running(&theirs)];
        assert!(is_written(storage, conditions).await);
    }
    setup::cancel_turn(storage, &theirs, None).await;
    for has_head in [true, false] {
        let mut conditions = with_heads(has_head).await;
        conditions.running_turns = vec![running(&ours), running(&theirs)];
        assert!(!is_written(storage, conditions).await);
    }
}

/// The credential is unknown, belongs to another tenant or is revoked.
pub async fn nothing_is_written_for_a_credential_that_is_not_valid(storage: &Store) {
    prepared(storage).await;
    let mut unknown = conditions(storage).await;
    unknown.valid_credentials.push(key_of(2));
    assert!(!is_written(storage, unknown).await);
    let mut foreign = conditions(storage).await;
    foreign.valid_credentials[0].tenant = fixture::tenant_named("another");
    assert!(!is_written(storage, foreign).await);
    setup::revoke(storage, &fixture::key(1), fixture::at(9)).await;
    let revoked = conditions(storage).await;
    assert!(!is_written(storage, revoked).await);
}
