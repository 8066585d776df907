//! Tests of changes whose commit or confirmation is lost.

use std::sync::Arc;

use contract::{Store, fixture};
use domain::Seq;
use ports::{Decided, Decision, Facts, FactsQuery, FirstMessages, Lane, Rows, WriteError};

use crate::{
    database::{Database, store},
    proxy::{FaultyProxy, ProxyFault},
};

/// The number of changes of [`change`].
const CHANGES: usize = 7;

/// Carries out the change with this number, each of which depends on the ones before, and returns
/// its outcome as text.
async fn change(storage: &Store, number: usize) -> String {
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(1));
    let entry = fixture::entry(&number.to_string());
    let agent = fixture::agent_able_to(1, &["weather", "time"]);
    let (conversation, greeting) = fixture::greeted(fixture::conversation(1, agent.id), "Hello");
    let (agents, conversations) = (&storage.agents, &storage.conversations);
    let (credentials, key) = (&storage.credentials, fixture::key(1));
    let at = fixture::at(2);
    match number {
        0 => {
            let created = agents.insert(&tenant, &agent, &stamp, Some(&entry)).await;
            format!("{created:?}")
        }
        1 => {
            let mut next = fixture::renamed(&agent, "Next");
            next.capabilities = vec!["time".to_owned(), "maps".to_owned()];
            let updated = agents.update(&tenant, &next, &stamp).await;
            format!("{updated:?}")
        }
        2 => {
            let greeting = FirstMessages::Greeting(greeting);
            let created =
                conversations.insert(&tenant, &conversation, &greeting, &stamp, Some(&entry));
            format!("{:?}", created.await)
        }
        3 => {
            let next = fixture::retitled(&conversation, "Next");
            let updated = conversations.update(&tenant, &next, &stamp).await;
            format!("{updated:?}")
        }
        4 => {
            let id = conversation.id;
            let deleted = conversations.delete(&tenant, id, Some(2), &stamp).await;
            format!("{deleted:?}")
        }
        5 => format!("{:?}", credentials.insert(&key, Some(&entry)).await),
        _ => {
            let revoked = credentials.revoke(key.kind, &tenant, &key.id, at).await;
            format!("{revoked:?}")
        }
    }
}

/// Makes the facts of agent 1 and conversation 1 known to the store, without a change.
async fn read_facts(storage: &Store) {
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(1));
    let agent = domain::Agent {
        version: 100,
        ..fixture::agent(1)
    };
    let _stale = storage.agents.update(&tenant, &agent, &stamp).await;
    let conversation = domain::Conversation {
        version: 100,
        ..fixture::conversation(1, agent.id)
    };
    let _stale = storage
        .conversations
        .update(&tenant, &conversation, &stamp)
        .await;
}

/// The changes have the outcomes that they have without faults.
async fn all_are_applied_once(fault: ProxyFault, facts_are_known: bool) {
    let (sound, faulty) = (Database::new().await, Database::new().await);
    let proxy = FaultyProxy::start(&faulty.options()).await;
    for number in 0..CHANGES {
        let expected = change(&sound, number).await;
        let storage = Store::new(store(&proxy.options(&faulty.options())).await.storage());
        if facts_are_known {
            read_facts(&storage).await;
        }
        proxy.set(fault);
        assert_eq!(change(&storage, number).await, expected);
        // A revocation with known facts writes none of the texts that the proxy knows.
        assert!(number == CHANGES - 1 || proxy.is_sound(), "{number}");
        proxy.set(ProxyFault::None);
        if [0, 2, 5].contains(&number) {
            let again = change(&storage, number).await;
            assert!(again.starts_with("Ok(Replayed("), "{again}");
        }
    }
    let tenant = fixture::tenant();
    let found = faulty.agents.find(&tenant, fixture::agent_id(1)).await;
    let expected = sound.agents.find(&tenant, fixture::agent_id(1)).await;
    assert_eq!(found.expect("a response"), expected.expect("a response"));
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_whose_commit_was_lost_are_applied_once() {
    all_are_applied_once(ProxyFault::LosesNextCommit, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_whose_confirmation_was_lost_are_applied_once() {
    all_are_applied_once(ProxyFault::LosesNextResponse, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_were_lost_on_their_way_are_applied_once_with_known_facts() {
    all_are_applied_once(ProxyFault::LosesNextCommit, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_whose_confirmation_was_lost_are_applied_once_with_known_facts() {
    all_are_applied_once(ProxyFault::LosesNextResponse, true).await;
}

/// Locks the tenant, and writes nothing.
struct OnlyLocks;

impl Decision for OnlyLocks {
    fn decide(&self, round: usize, _facts: &Facts) -> Decided {
        if round > 0 {
            return Decided::Write(Rows::default());
        }
        Decided::Read(FactsQuery {
            tenants: [fixture::tenant()].into(),
            ..FactsQuery::default()
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_was_not_confirmed_is_unknown_in_every_lane() {
    let database = Database::new().await;
    let proxy = FaultyProxy::start(&database.options()).await;
    let storage = Store::new(store(&proxy.options(&database.options())).await.storage());
    for lane in [Lane::Group, Lane::Alone] {
        for fault in [ProxyFault::LosesNextCommit, ProxyFault::LosesNextResponse] {
            proxy.set(fault);
            let writes = &storage.ports().writes;
            let outcome = writes.transact(Arc::new(OnlyLocks), lane).await;
            let Err(WriteError::Unknown { heads, .. }) = outcome else {
                panic!("{lane:?}: {outcome:?}");
            };
            assert_eq!(heads, [(fixture::tenant(), Seq(0))].into());
            assert!(proxy.is_sound());
        }
    }
}
