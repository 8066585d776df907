//! Conversations that are kept no longer.

use std::{sync::Arc, time::Duration};

use application::{
    cache::{CachedWrites, Caches},
    expiry::ConversationExpiry,
};
use async_trait::async_trait;
use contract::fixture;
use domain::{Agent, AgentConfig, Conversation, ConversationId, EventType, Timestamp};
use ports::{FirstMessages, Maintenance, RepositoryError, RetentionCutoffs};
use single_node::LocalBus;
use tokio_util::sync::CancellationToken;
use writes::{WriteTimeouts, Writes};

use crate::{fixture::Fixture, process::Process};

/// The clock of a store.
struct StoreClock(Timestamp);

#[async_trait]
impl Maintenance for StoreClock {
    async fn compact(&self) -> Result<(), RepositoryError> {
        Ok(())
    }

    async fn ping(&self) -> Result<(), RepositoryError> {
        Ok(())
    }

    async fn now(&self) -> Result<Timestamp, RepositoryError> {
        Ok(self.0)
    }

    async fn purge(&self, _: usize, _: RetentionCutoffs) -> Result<u64, RepositoryError> {
        Ok(0)
    }

    async fn trim_log(&self, _: Timestamp, _: usize) -> Result<u64, RepositoryError> {
        Ok(0)
    }
}

/// Deletes what is kept no longer at a number of minutes, and returns the number of conversations.
async fn expire(fixture: &Fixture, minutes: u64, retention: Option<u64>) -> u64 {
    let now = fixture::at(0) + Duration::from_mins(minutes);
    let writes = Writes::start(
        Arc::clone(&fixture.writes),
        WriteTimeouts::default(),
        &tokio_util::task::TaskTracker::new(),
    );
    let caches = Caches::new(Arc::new(LocalBus::new()));
    let expiry = ConversationExpiry::new(
        Arc::clone(&fixture.storage.ports().tenants),
        Arc::clone(&fixture.storage.ports().sweep),
        Arc::new(StoreClock(now)),
        CachedWrites::new(writes, caches),
        retention.map(Duration::from_mins),
    );
    let expired = expiry.expire(&CancellationToken::new()).await;
    expired.expect("the store answers")
}

async fn exists(fixture: &Fixture, id: ConversationId) -> bool {
    let (tenant, conversations) = (fixture::tenant(), &fixture.storage.conversations);
    let found = conversations.find(&tenant, id).await;
    found.expect("the store answers").value.is_some()
}

/// Conversation 2, whose agent keeps conversations for 30 minutes.
async fn of_other_agent(fixture: &Fixture) -> Conversation {
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(0));
    let agent = Agent {
        config: AgentConfig {
            retention: Some("30m".to_owned()),
            ..AgentConfig::default()
        },
        ..fixture::agent(2)
    };
    let storage = &fixture.storage;
    let made = storage.agents.insert(&tenant, &agent, &stamp, None).await;
    made.expect("the agent is made");
    let conversation = fixture::conversation(2, agent.id);
    let first = FirstMessages::None;
    let made = storage
        .conversations
        .insert(&tenant, &conversation, &first, &stamp, None);
    made.await.expect("the conversation is made");
    conversation
}

#[tokio::test(flavor = "multi_thread")]
async fn the_shorter_retention_holds() {
    let fixture = Fixture::new().await;
    let other = of_other_agent(&fixture).await.id;
    assert_eq!(expire(&fixture, 1_000_000, None).await, 1, "of its agent");
    assert!(exists(&fixture, fixture.conversation.id).await);
    assert!(!exists(&fixture, other).await);

    let fixture = Fixture::new().await;
    of_other_agent(&fixture).await;
    assert_eq!(expire(&fixture, 29, Some(60)).await, 0);
    assert_eq!(expire(&fixture, 31, Some(60)).await, 1);
    assert_eq!(expire(&fixture, 59, Some(60)).await, 0);
    assert_eq!(expire(&fixture, 61, Some(60)).await, 1);

    let fixture = Fixture::new().await;
    of_other_agent(&fixture).await;
    assert_eq!(expire(&fixture, 11, Some(10)).await, 2, "that of all");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_conversation_is_deleted_with_an_event() {
    let fixture = Fixture::new().await;
    assert_eq!(expire(&fixture, 61, Some(60)).await, 1);
    let events = contract::events(&fixture.storage).await;
    let last = events.last().expect("an event");
    assert_eq!(last.kind, EventType::ConversationDeleted);
    assert_eq!(last.conversation_id, Some(fixture.conversation.id));
    assert_eq!(last.actor.as_str(), "service");
    assert_eq!(expire(&fixture, 61, Some(60)).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_with_an_open_turn_is_kept() {
    let fixture = Fixture::new().await;
    let process = Process::start(&fixture).await;
    let begin = fixture.begin_turn(1, &scripted_engine::Script::default());
    let begin = writes::BeginTurn {
        node: process.node.id(),
        ..begin
    };
    fixture.begin(begin).await;
    assert_eq!(expire(&fixture, 1_000_000, Some(60)).await, 0);
    assert!(exists(&fixture, fixture.conversation.id).await);
}
