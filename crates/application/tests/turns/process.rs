//! A process that runs turns.

use std::{collections::BTreeMap, sync::Arc};

use application::{
    ChatCommand, ChatError, ChatService, Engines, TurnService,
    cache::{CacheInvalidator, CachedAgents, CachedConversations, CachedTurns, Caches},
    chat::{AcceptedTurn, ChatContext, ChatPorts, OnBusy, TurnRunner},
    node::Node,
    realtime::Feed,
    recovery::{LocalTurnReconciler, Sweeper},
};
use contract::fixture;
use domain::{ConversationId, Principal, Scopes, config::Metadata};
use local_bus::LocalBus;
use ports::{Clock, EventBus, IdSource, ReplyEngine};
use scripted_engine::{Script, ScriptedEngine};
use tokio::runtime::Handle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::world::World;

/// A process that runs turns. Its periodic work runs only when the test calls it.
pub(crate) struct Process {
    pub(crate) engine: ScriptedEngine,
    pub(crate) node: Arc<Node>,
    pub(crate) runner: Arc<TurnRunner>,
    pub(crate) chat: ChatService,
    pub(crate) turns: TurnService,
    pub(crate) own: LocalTurnReconciler,
    pub(crate) sweeper: Sweeper,
    pub(crate) tail: CacheInvalidator,
    pub(crate) tasks: TaskTracker,
}

impl Process {
    pub(crate) async fn start(world: &World) -> Self {
        let storage = &world.storage;
        let clock: Arc<dyn Clock> = world.clock.clone();
        let ids: Arc<dyn IdSource> = world.ids.clone();
        let bus: Arc<dyn EventBus> = Arc::new(LocalBus::new());
        let caches = Caches::new(Arc::clone(&bus));
        let ports = over_caches(world, &caches);
        let engine = ScriptedEngine::new();
        let scripted: Arc<dyn ReplyEngine> = Arc::new(engine.clone());
        let engines = BTreeMap::from([("scripted".to_owned(), scripted)]);
        let engines = Engines::new(engines, "scripted".to_owned());
        let node = Node::register(Arc::clone(&storage.nodes), ids.clone()).await;
        let node = Arc::new(node.expect("the store answers"));
        let tasks = TaskTracker::new();
        let context = Arc::new(ChatContext {
            ports: ports.clone(),
            engines: Arc::new(engines.expect("there is the default")),
            node: Arc::clone(&node),
            live: Arc::clone(&caches.live),
        });
        let runner = Arc::new(TurnRunner::new(
            context,
            Arc::clone(&storage.agents),
            Arc::default(),
            tasks.clone(),
        ));
        let recovery = || Arc::clone(&storage.recovery);
        let applied = || Arc::clone(&caches.applied);
        let tail = tail(world, &caches, bus, &tasks);
        Self {
            chat: ChatService::new(Arc::clone(&runner)),
            turns: TurnService::new(
                Arc::clone(&ports.turns),
                Arc::clone(&runner),
                clock.clone(),
                ids,
            ),
            own: LocalTurnReconciler::new(
                recovery(),
                Arc::clone(&ports.turns),
                Arc::clone(&runner),
                Arc::clone(&node),
                applied(),
                clock.clone(),
            ),
            sweeper: Sweeper::new(
                recovery(),
                Arc::clone(&runner),
                Arc::clone(&node),
                applied(),
                clock,
            ),
            tail,
            engine,
            node,
            runner,
            tasks,
        }
    }

    /// Sends a message in this conversation, or in a new one.
    pub(crate) async fn ask(
        &self,
        world: &World,
        conversation_id: Option<ConversationId>,
        script: &Script,
    ) -> Result<AcceptedTurn, ChatError> {
        let command = ChatCommand {
            agent_id: world.agent.id,
            message: script.to_message(),
            conversation_id,
            user_id: None,
            metadata: Metadata::new(),
            on_busy: OnBusy::Queue,
            request_id: None,
        };
        self.chat.send(&caller(), command, None).await
    }
}

/// A principal with all scopes.
pub(crate) fn caller() -> Principal {
    Principal {
        tenant: fixture::tenant(),
        id: fixture::principal(),
        scopes: Scopes::all(),
        user_id: None,
    }
}

fn tail(
    world: &World,
    caches: &Caches,
    bus: Arc<dyn EventBus>,
    tasks: &TaskTracker,
) -> CacheInvalidator {
    let events = || Arc::clone(&world.storage.events);
    let (tasks, stop) = (tasks.clone(), CancellationToken::new());
    let feed = Feed::new(events(), tasks, Handle::current(), stop);
    let clock: Arc<dyn Clock> = world.clock.clone();
    CacheInvalidator::new(events(), caches.clone(), clock, bus, Arc::new(feed))
}

fn over_caches(world: &World, caches: &Caches) -> ChatPorts {
    let storage = &world.storage;
    let clock: Arc<dyn Clock> = world.clock.clone();
    let agents = CachedAgents::new(
        Arc::clone(&storage.agents),
        caches.clone(),
        Arc::clone(&clock),
    );
    let conversations = CachedConversations::new(
        Arc::clone(&storage.conversations),
        caches.clone(),
        Arc::clone(&clock),
    );
    ChatPorts {
        agents: Arc::new(agents),
        conversations: Arc::new(conversations),
        turns: Arc::new(CachedTurns::new(Arc::clone(&storage.turns), caches.clone())),
        claims: Arc::clone(&storage.claims),
        clock,
        ids: world.ids.clone(),
    }
}
