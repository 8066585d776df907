//! `SweepRepository`: agents that state a retention, and conversations that are kept no longer.

use domain::{Agent, AgentConfig, Conversation, ConversationId, Message, Role};
use ports::{AgentRetention, FirstMessages};

use crate::{
    Store, fixture,
    results::{IdempotentExt as _, ResultExt as _},
    setup,
};

/// Agents 1 to 3, of which the second states a retention.
async fn agents(storage: &Store) {
    for number in 1..=3 {
        let agent = Agent {
            config: AgentConfig {
                retention: (number == 2).then(|| "30d".to_owned()),
                ..AgentConfig::default()
            },
            ..fixture::agent(number)
        };
        setup::insert_agent(storage, agent).await;
    }
}

fn found(number: u32, retention: Option<&str>) -> AgentRetention {
    AgentRetention {
        agent_id: fixture::agent_id(number),
        retention: retention.map(str::to_owned),
    }
}

/// Agents are listed in pages: all, or those that state a retention.
pub async fn agents_are_listed_with_their_retention(storage: &Store) {
    agents(storage).await;
    let list = async |after: Option<u32>, all, limit| {
        let (tenant, after) = (fixture::tenant(), after.map(fixture::agent_id));
        let page = storage
            .sweep
            .agents_with_retention(&tenant, after, all, limit);
        page.await.success()
    };
    let (one, two, three) = (found(1, None), found(2, Some("30d")), found(3, None));
    assert_eq!(list(None, true, 2).await, [one, two.clone()]);
    assert_eq!(list(Some(2), true, 2).await, [three]);
    assert_eq!(list(None, false, 2).await, [two]);
    assert_eq!(list(Some(2), false, 2).await, []);
    setup::delete_agent(storage, &{
        let tenant = fixture::tenant();
        let agent = storage.agents.find(&tenant, fixture::agent_id(2)).await;
        let agent = agent.success().value.expect("it exists");
        Agent::clone(&agent)
    })
    .await;
    assert_eq!(list(None, false, 2).await, []);
}

async fn idle(storage: &Store, before: i64) -> Vec<ConversationId> {
    let (tenant, agent, before) = (fixture::tenant(), fixture::agent_id(1), fixture::at(before));
    let found = storage.sweep.idle_conversations(&tenant, agent, before, 10);
    found.await.success()
}

fn ids<const N: usize>(numbers: [u32; N]) -> Vec<ConversationId> {
    numbers.map(fixture::conversation_id).into()
}

/// Conversations are idle since their last message, or since their creation.
pub async fn conversations_are_idle_since_their_last_message(storage: &Store) {
    agents(storage).await;
    for (number, agent, last) in [(1, 1, Some(5_000)), (2, 1, None), (3, 2, None)] {
        let conversation = Conversation {
            created_at: fixture::at(1_000),
            last_message_at: last.map(fixture::at),
            ..fixture::conversation(number, fixture::agent_id(agent))
        };
        setup::insert_conversation(storage, conversation).await;
    }
    assert_eq!(idle(storage, 1_000).await, []);
    assert_eq!(idle(storage, 1_001).await, ids([2]));
    assert_eq!(idle(storage, 5_001).await, ids([2, 1]));
    let (tenant, agent, before) = (fixture::tenant(), fixture::agent_id(1), fixture::at(9_000));
    let first = storage.sweep.idle_conversations(&tenant, agent, before, 1);
    assert_eq!(first.await.success(), ids([2]));
    let deleted = fixture::conversation(2, fixture::agent_id(1));
    setup::delete_conversation(storage, &deleted).await;
    assert_eq!(idle(storage, 9_000).await, ids([1]));
}

/// Imported conversations are not idle before their import.
pub async fn imported_conversations_are_not_idle_before_their_import(storage: &Store) {
    agents(storage).await;
    let conversation = Conversation {
        created_at: fixture::at(1),
        last_message_at: Some(fixture::at(2)),
        message_count: 1,
        ..fixture::conversation(1, fixture::agent_id(1))
    };
    let (place, id) = ((conversation.id, 1), fixture::message_id(701));
    let message = Message::new(place, id, Role::User, "Hi".to_owned(), fixture::at(2));
    let (tenant, stamp) = (fixture::tenant(), fixture::stamp(7_000));
    let first = FirstMessages::Imported(vec![message]);
    let conversations = &storage.conversations;
    let result = conversations.insert(&tenant, &conversation, &first, &stamp, None);
    assert!(result.await.applied().is_some());
    assert_eq!(idle(storage, 7_000).await, []);
    assert_eq!(idle(storage, 7_001).await, ids([1]));
}

/// Conversations with open turns are not idle: also queued turns, and those that wait for an answer.
pub async fn conversations_with_open_turns_are_not_idle(storage: &Store) {
    let (agent, conversation) = setup::chat(storage).await;
    let begin = fixture::begin_turn(1, &agent, fixture::existing(&conversation, 0));
    setup::start_turn(storage, &begin).await;
    assert_eq!(idle(storage, 1_000_000).await, []);
    setup::complete_turn(storage, &begin, 1).await;
    assert_eq!(idle(storage, 1_000_000).await, ids([1]));
}
