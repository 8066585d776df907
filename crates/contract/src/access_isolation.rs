//! Isolation of the credentials, idempotency keys and ids of tenants.

use domain::Credential;
use ports::NewProof;
use serde_json::json;
use writes::{BeginTurn, DeleteOutcome, TurnEnding};

use super::tenant_isolation::Neighbours;
use crate::{
    Store, fixture, log, lookup, purging,
    results::{IdempotentExt as _, ResultExt as _},
    setup,
};

/// Keys and clients: `list`. `find` is how a tenant is determined, so it has no tenant.
pub async fn credentials_of_another_tenant_are_not_listed(storage: &Store) {
    let other = setup::second_tenant(storage).await;
    for own in [fixture::key(1), fixture::client(1)] {
        let own = setup::credential(storage, own).await;
        let (credentials, kind) = (&storage.credentials, own.kind);
        let listed = credentials.list(kind, &other, None, 10).await.success();
        assert_eq!((listed.items, listed.has_more), (Vec::new(), false));
        let theirs = Credential {
            id: fixture::key_id(if own.id == fixture::key_id(1) { 2 } else { 3 }),
            tenant: other.clone(),
            ..own.clone()
        };
        let theirs = setup::credential(storage, theirs).await;
        for (tenant, credential) in [(&own.tenant, &own), (&other, &theirs)] {
            let listed = credentials.list(kind, tenant, None, 10).await.success();
            let listed: Vec<_> = listed.items.iter().map(|listed| &listed.item).collect();
            assert_eq!(listed, [credential]);
            let found = lookup::credential(storage, credential).await;
            assert_eq!(found.as_ref(), Some(credential));
        }
    }
}

/// Keys and clients: `rotate`, `revoke`, updates.
pub async fn credentials_of_another_tenant_are_not_changed(storage: &Store) {
    let other = setup::second_tenant(storage).await;
    let version = lookup::access_version(storage).await;
    let signing = fixture::signing_client(2, fixture::key_set(1));
    for (credential, proof) in [
        (fixture::key(1), fixture::new_secret(8, None)),
        (fixture::client(1), fixture::new_secret(8, None)),
        (signing, NewProof::Keys(fixture::key_set(2))),
    ] {
        let credential = setup::credential(storage, credential).await;
        let Credential { kind, id, .. } = &credential;
        let credentials = &storage.credentials;
        let rotated = credentials.rotate(*kind, &other, id, &proof, None).await;
        assert_eq!(rotated.applied(), None);
        let patch = json!({"name": "theirs"});
        let updated = credentials.update(*kind, &other, id, patch).await;
        assert_eq!(updated.success(), None);
        let revoked = credentials.revoke(*kind, &other, id, fixture::at(9)).await;
        assert!(!revoked.success());
        let found = lookup::credential(storage, &credential).await;
        assert_eq!(found, Some(credential));
    }
    assert_eq!(lookup::access_version(storage).await, version);
}

/// A key that one tenant has used counts as unused in another.
pub async fn idempotency_keys_belong_to_one_tenant(storage: &Store) {
    let Neighbours { other, .. } = Neighbours::create(storage).await;
    let (agent, stamp, entry) = (fixture::agent(1), fixture::stamp(0), fixture::entry("k"));
    let before = storage.idempotency.find(&other, &entry).await.success();
    assert_eq!(before, None);
    let result = storage.agents.insert(&other, &agent, &stamp, Some(&entry));
    result.await.applied();
    let ours = lookup::record(storage, &entry).await;
    let theirs = storage.idempotency.find(&other, &entry).await.success();
    assert!(ours.is_some_and(|record| record.turn_id.is_some()));
    assert!(theirs.is_some_and(|record| record.turn_id.is_none()));
}

/// Two tenants can hold resources with the same ids, and delete them independently.
pub async fn the_same_ids_in_two_tenants_are_different_resources(storage: &Store) {
    let neighbours = Neighbours::create(storage).await;
    let Neighbours {
        agent,
        conversation,
        running,
        other,
        ..
    } = &neighbours;
    setup::insert_agent_in(storage, other, fixture::agent_named(1, "Namesake")).await;
    let new = fixture::conversation(1, agent.id);
    setup::insert_conversation_in(storage, other, new).await;
    let theirs = BeginTurn {
        tenant: other.clone(),
        ..fixture::begin_turn(1, agent, fixture::existing(conversation, 0))
    };
    setup::start_turn(storage, &theirs).await;
    let ending = TurnEnding::Completed(fixture::reply(1));
    setup::finish_turn(storage, fixture::finish(&theirs, ending)).await;
    let (stamp, agents) = (fixture::stamp(700), &storage.agents);
    let deleted = agents.delete(other, agent.id, None, &stamp).await.success();
    assert!(matches!(deleted, DeleteOutcome::Deleted(_)), "{deleted:?}");
    let ours = lookup::agent(storage, agent.id).await;
    assert_eq!(ours.as_ref(), Some(agent));
    let ours = lookup::state(storage, conversation.id).await;
    assert_eq!(
        (ours.last_message_seq, ours.running_turn),
        (1, Some(running.turn_id))
    );
    assert_eq!(
        log::head(storage, &fixture::tenant()).await,
        neighbours.head
    );
    let purged = purging::purge_all(storage, 100, purging::deleted_before(fixture::at(10_000)));
    assert!(purged.await > 0);
    assert_eq!(lookup::messages(storage, conversation.id).await.len(), 1);
}
