//! The follower that writes titles, over a store and scripted engines.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use application::{Engines, cache::Caches, followers::FollowerWork, titles::TitleWriter};
use async_trait::async_trait;
use contract::fixture;
use domain::{Agent, AgentConfig, Conversation, FinishReason, Seq};
use futures::{StreamExt as _, stream};
use parking_lot::Mutex;
use ports::{
    EventQuery, FollowerPosition, FollowerStep, LoggedEvent, ModelChunk, ModelRequest, ModelStream,
    ReplyEngine, ReplyError,
};
use single_node::LocalBus;
use writes::{CompletedTurn, UpdateConversation, Writes};

use crate::{fixture::Fixture, process::cached_ports};

/// An engine that answers every request with the same text, or fails without one.
#[derive(Default)]
pub(super) struct Titler {
    pub(super) answer: Option<&'static str>,
    pub(super) is_immediate: bool,
    pub(super) requests: Mutex<Vec<ModelRequest>>,
    /// A change that is made while the model is asked.
    pub(super) meanwhile: Mutex<Option<(Writes, UpdateConversation)>>,
}

impl Titler {
    pub(super) fn answering(answer: &'static str) -> Arc<Self> {
        Arc::new(Self {
            answer: Some(answer),
            ..Self::default()
        })
    }

    pub(super) fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().clone()
    }
}

struct Shared(Arc<Titler>);

#[async_trait]
impl ReplyEngine for Shared {
    fn is_immediate(&self) -> bool {
        self.0.is_immediate
    }

    async fn request(&self, request: ModelRequest) -> Result<ModelStream, ReplyError> {
        self.0.requests.lock().push(request);
        let change = self.0.meanwhile.lock().take();
        if let Some((writes, change)) = change {
            writes.write(change).await.expect("the change is made");
        }
        let Some(answer) = self.0.answer else {
            return Err(ReplyError::TimedOut);
        };
        let chunks = [
            ModelChunk::Text(answer.to_owned()),
            ModelChunk::End {
                finish_reason: FinishReason::Stop,
                usage: None,
                model: None,
                state: None,
            },
        ];
        Ok(stream::iter(chunks.map(Ok)).boxed())
    }
}

/// The follower over a store, with the engines `own`, the default, and `other`.
pub(super) struct Following {
    pub(super) fixture: Fixture,
    pub(super) own: Arc<Titler>,
    pub(super) other: Arc<Titler>,
    pub(super) writer: TitleWriter,
    pub(super) position: Option<FollowerPosition>,
}

impl Following {
    /// Starts with an agent that has this configuration. Nothing has happened since the follower has begun.
    pub(super) async fn start(config: AgentConfig, own: Arc<Titler>) -> Self {
        let mut fixture = Fixture::new().await;
        let (tenant, stamp) = (fixture::tenant(), fixture::stamp(1));
        fixture.agent = Agent {
            config,
            version: 2,
            ..fixture.agent
        };
        let updated = fixture
            .storage
            .agents
            .update(&tenant, &fixture.agent, &stamp);
        updated
            .await
            .expect("the store answers")
            .expect("the agent");
        fixture
            .storage
            .nodes
            .insert(
                fixture::node_id(1),
                &fixture::process(),
                Duration::from_hours(1),
            )
            .await
            .expect("a node");
        let other = Titler::answering("By another engine");
        let engine =
            |titler: &Arc<Titler>| Arc::new(Shared(Arc::clone(titler))) as Arc<dyn ReplyEngine>;
        let engines = BTreeMap::from([
            ("own".to_owned(), engine(&own)),
            ("other".to_owned(), engine(&other)),
        ]);
        let engines =
            Engines::new(engines, "own".to_owned(), schemas()).expect("there is the default");
        let caches = Caches::new(Arc::new(LocalBus::new()));
        let ports = cached_ports(&fixture, &caches, &fixture.writes);
        let followers = Arc::clone(&fixture.storage.followers);
        let writer = TitleWriter::new(followers, ports, Arc::new(engines));
        let mut following = Self {
            fixture,
            own,
            other,
            writer,
            position: None,
        };
        let head = following.read(Seq(0)).await.1;
        following.position = following
            .writer
            .begin(&tenant, None, head)
            .await
            .expect("the store answers");
        assert_eq!(following.position.map(|at| at.seq), Some(head));
        following
    }

    pub(super) async fn read(&self, since: Seq) -> (Vec<LoggedEvent>, Seq) {
        let query = EventQuery {
            since,
            limit: 100,
            bytes: 1 << 20,
            types: self.writer.types().to_vec(),
            agent_id: None,
            conversation_id: None,
            visibility: None,
        };
        let tenant = fixture::tenant();
        let page = self.fixture.storage.event_page(&tenant, &query);
        let page = page.await.expect("the store answers");
        (page.events, page.head)
    }

    /// The step from the follower's position to the head.
    pub(super) async fn step(&self) -> (FollowerStep, Vec<LoggedEvent>) {
        let from = self.position.expect("the follower has begun");
        let (events, seq) = self.read(from.seq).await;
        let to = FollowerPosition { seq, ..from };
        (
            FollowerStep::new(&fixture::tenant(), Some(from), to),
            events,
        )
    }

    /// Follows the log to the head.
    pub(super) async fn follow(&mut self) {
        let (step, events) = self.step().await;
        assert!(
            self.writer
                .apply(&step, &events)
                .await
                .expect("the store answers")
        );
        self.position = Some(step.to);
    }

    pub(super) fn completed(&self, number: u32, turn_count: i64) -> CompletedTurn {
        let target = fixture::existing(&self.fixture.conversation, turn_count);
        fixture::completed_turn(number, &self.fixture.agent, target)
    }

    pub(super) async fn record(&self, turn: CompletedTurn) {
        let recorded = self.fixture.storage.turns.record_completed_turn(turn).await;
        recorded.expect("the store answers");
    }

    pub(super) async fn conversation(&self) -> Conversation {
        let (tenant, id) = (fixture::tenant(), self.fixture.conversation.id);
        let found = self.fixture.storage.conversations.find(&tenant, id).await;
        let found = found.expect("the store answers").value;
        found.expect("the conversation exists").item
    }

    /// The change of a person.
    pub(super) async fn retitled(&self, title: Option<&str>) -> UpdateConversation {
        UpdateConversation {
            tenant: fixture::tenant(),
            conversation: Conversation {
                title: title.map(ToOwned::to_owned),
                ..fixture::retitled(&self.conversation().await, "")
            },
            stamp: fixture::stamp(50),
        }
    }
}

fn schemas() -> Arc<dyn ports::SchemaChecker> {
    Arc::new(json_schemas::PooledSchemaChecker::new().expect("threads start"))
}
