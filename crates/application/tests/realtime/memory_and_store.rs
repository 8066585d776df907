//! Equality of the events in memory and those that a real store returns.

use std::sync::Arc;

use application::realtime::{EventFilter, LogTails, SerializedEvent, Tail};
use contract::{Store, fixture};
use domain::{Agent, Conversation, EventData, EventType, PrincipalId, Seq};
use ports::{EventVisibility, LogBounds, LoggedEvent};
use sqlite_store::{SqliteOptions, SqliteStore};
use tempfile::TempDir;
use tokio::{runtime::Handle, time::Duration};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use writes::{CompletedTurn, ConversationTarget};

use crate::fixture::events;

/// A store, and a tail that follows it from the first event.
struct FollowedStore {
    storage: Store,
    tails: LogTails,
    tail: Arc<Tail>,
    _folder: TempDir,
}

impl FollowedStore {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite://{}", folder.path().join("log.db").display());
        let store = SqliteStore::open(&url, SqliteOptions::default(), &TaskTracker::new()).await;
        let store = store.expect("the store opens");
        store.migrate().await.expect("the store migrates");
        let storage = Store::new(store.storage());
        let tails = LogTails::new(
            Arc::clone(&storage.events),
            TaskTracker::new(),
            Handle::current(),
            CancellationToken::new(),
        );
        let tail = tails.tail(&fixture::tenant()).await.expect("a tail");
        Self {
            storage,
            tails,
            tail,
            _folder: folder,
        }
    }

    /// Waits until the tail has read the whole log.
    async fn read(&self) {
        let bounds = self.storage.events.bounds(&fixture::tenant()).await;
        let LogBounds { head, .. } = bounds.expect("the store answers");
        self.tails.report_head(&fixture::tenant(), head);
        let mut positions = self.tail.positions();
        let reached = positions.wait_for(|position| *position == head);
        let reached = tokio::time::timeout(Duration::from_secs(30), reached).await;
        reached.expect("in time").expect("the tail lives");
    }

    async fn create_agent(&self, number: u32) -> Agent {
        let (agent, stamp) = (fixture::agent(number), fixture::stamp(0));
        let (agents, tenant) = (&self.storage.agents, fixture::tenant());
        let made = agents.insert(&tenant, &agent, &stamp, None).await;
        made.expect("the agent is made");
        self.read().await;
        agent
    }

    async fn record(&self, completed: CompletedTurn) {
        let recorded = self.storage.turns.record_completed_turn(completed).await;
        recorded.expect("the turn is recorded");
        self.read().await;
    }

    /// A store with one conversation with each of three agents: of `ada`, of `bob` and of no user.
    /// Two principals sent the messages.
    async fn with_conversations() -> Self {
        let followed = Self::new().await;
        for (number, user) in [(1, Some("ada")), (2, Some("bob")), (3, None)] {
            let agent = followed.create_agent(number).await;
            let conversation = Conversation {
                user_id: user.map(ToOwned::to_owned),
                ..fixture::conversation(number, agent.id)
            };
            let target = ConversationTarget::New(conversation.clone());
            followed
                .record(fixture::completed_turn(number, &agent, target))
                .await;
            let mut later =
                fixture::completed_turn(10 + number, &agent, fixture::existing(&conversation, 1));
            later.begin.stamp.actor = PrincipalId::new("main~bob");
            followed.record(later).await;
        }
        followed
    }

    async fn move_conversation(&self, number: u32, user: Option<&str>) {
        let (tenant, id) = (fixture::tenant(), fixture::conversation_id(number));
        let conversations = &self.storage.conversations;
        let found = conversations.find(&tenant, id).await.expect("it is found");
        let conversation = found.value.expect("it exists").item;
        let next = Conversation {
            user_id: user.map(ToOwned::to_owned),
            ..fixture::retitled(&conversation, "Moved")
        };
        let stamp = fixture::stamp(50);
        let moved = conversations.update(&tenant, &next, &stamp).await;
        moved.expect("the store answers").expect("it exists");
        self.read().await;
    }

    async fn delete_conversation(&self, number: u32) {
        let (tenant, id) = (fixture::tenant(), fixture::conversation_id(number));
        let stamp = fixture::stamp(100);
        let deleted = self.storage.conversations.delete(&tenant, id, None, &stamp);
        deleted.await.expect("the conversation is deleted");
        self.read().await;
    }

    async fn delete_agent(&self, number: u32) {
        let (tenant, id) = (fixture::tenant(), fixture::agent_id(number));
        let stamp = fixture::stamp(200);
        let deleted = self.storage.agents.delete(&tenant, id, None, &stamp);
        deleted.await.expect("the agent is deleted");
        self.read().await;
    }

    /// The events of the whole log according to memory and to the store.
    async fn both(&self, filter: &EventFilter) -> (Vec<LoggedEvent>, Vec<LoggedEvent>) {
        let shown = |event: &SerializedEvent| filter.matches(&event.logged);
        let read = self
            .tail
            .read(Seq(0), events(1_000), shown)
            .expect("all is held");
        let held = read
            .events
            .iter()
            .map(|event| event.logged.clone())
            .collect();
        let query = filter.query(Seq(0), events(1_000));
        let page = self.storage.event_page(&fixture::tenant(), &query).await;
        (held, page.expect("the store answers").events)
    }
}

fn everything() -> EventFilter {
    EventFilter {
        types: Vec::new(),
        agent_id: None,
        conversation_id: None,
        visibility: EventVisibility {
            agents: true,
            whole_agents: true,
            users: true,
            conversations: true,
            principal: fixture::principal(),
            user_id: None,
            reach: domain::AgentReach::ALL,
            audience: domain::Audience::Staff,
        },
    }
}

fn types() -> [Vec<EventType>; 3] {
    [
        vec![],
        vec![EventType::AgentCreated, EventType::TurnCompleted],
        vec![EventType::ConversationDeleted],
    ]
}

/// Every visibility that makes a difference in [`FollowedStore::with_conversations`].
fn views() -> Vec<EventVisibility> {
    let mut views = Vec::new();
    for (agents, conversations) in [(true, true), (true, false), (false, true), (false, false)] {
        for principal in [fixture::principal(), PrincipalId::new("main~bob")] {
            for user in [None, Some("ada"), Some("bob"), Some("")] {
                views.push(EventVisibility {
                    agents,
                    whole_agents: agents,
                    users: agents,
                    conversations,
                    principal: principal.clone(),
                    user_id: user.map(ToOwned::to_owned),
                    reach: domain::AgentReach::ALL,
                    audience: domain::Audience::Staff,
                });
            }
        }
    }
    views
}

/// The parts of an event that decide who sees it, and as what.
fn decisive(logged: &LoggedEvent) -> impl PartialEq + std::fmt::Debug {
    let user = match &logged.event.data {
        EventData::Conversation { conversation, .. } => conversation.user_id.clone(),
        _ => logged.event.user_id.clone(),
    };
    let event = &logged.event;
    let (started_by, moved) = (logged.started_by.clone(), logged.moved.clone());
    (event.seq, event.user_id.clone(), user, started_by, moved)
}

/// Compares the events of memory and store through every filter, and returns how many there were.
async fn compared(followed: &FollowedStore) -> usize {
    let mut shown = 0;
    for types in types() {
        for visibility in views() {
            for (agent, conversation) in [
                (None, None),
                (Some(1), None),
                (Some(2), Some(2)),
                (None, Some(3)),
            ] {
                let filter = EventFilter {
                    types: types.clone(),
                    agent_id: agent.map(fixture::agent_id),
                    conversation_id: conversation.map(fixture::conversation_id),
                    visibility: visibility.clone(),
                };
                let (held, stored) = followed.both(&filter).await;
                let held: Vec<_> = held.iter().map(decisive).collect();
                let stored: Vec<_> = stored.iter().map(decisive).collect();
                assert_eq!(held, stored, "{filter:?}");
                shown += held.len();
            }
        }
    }
    shown
}

#[tokio::test]
async fn memory_and_store_return_the_same_events() {
    let followed = FollowedStore::with_conversations().await;
    followed.delete_conversation(1).await;
    let shown = compared(&followed).await;
    assert!(shown > 500, "most filters show something: {shown}");
}

#[tokio::test]
async fn memory_and_store_return_the_same_events_after_moves() {
    let followed = FollowedStore::with_conversations().await;
    for (number, user) in [
        (1, None),
        (2, Some("ada")),
        (3, Some("bob")),
        (2, Some("bob")),
    ] {
        followed.move_conversation(number, user).await;
        let shown = compared(&followed).await;
        assert!(shown > 400, "most filters show something: {shown}");
    }
}

#[tokio::test]
async fn memory_hides_the_same_deleted_data_as_the_store() {
    let followed = FollowedStore::with_conversations().await;
    let is_hidden = |logged: &LoggedEvent| logged.event.data == EventData::DELETED;
    let hidden = async || {
        let (held, stored) = followed.both(&everything()).await;
        let held: Vec<_> = held.iter().map(is_hidden).collect();
        let stored: Vec<_> = stored.iter().map(is_hidden).collect();
        assert_eq!(held, stored);
        held.iter().filter(|is_hidden| **is_hidden).count()
    };
    assert_eq!(hidden().await, 0);
    followed.delete_conversation(1).await;
    let of_a_conversation = hidden().await;
    assert_eq!(of_a_conversation, 5);
    followed.delete_conversation(2).await;
    followed.delete_agent(2).await;
    // The agent's snapshot and the deletion of its conversation are hidden too.
    assert_eq!(hidden().await, 2 * of_a_conversation + 2);
}
