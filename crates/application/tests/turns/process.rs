//! A process that runs turns.

use std::{collections::BTreeMap, sync::Arc};

use application::{
    ChatCommand, ChatError, ChatService, Engines, FileService, Toolbox, TurnService,
    cache::{
        CacheInvalidator, CachedAgents, CachedConversations, CachedPorts, CachedUsers,
        CachedWrites, Caches, FollowedTurns,
    },
    chat::{AcceptedTurn, ChatCaller, ChatContext, OnBusy, TurnRunner},
    files::FileLinks,
    live_turns::LiveTurns,
    node::Node,
    realtime::LogTails,
    remote_turns::ForwardedReplies,
    sweep::{LocalTurnReconciler, Sweeper},
};
use contract::fixture;
use domain::{
    AcceptedTypes, ConversationId, CredentialSource, IdempotencyKey, LimitOverrides, Principal,
    Scopes, UploadQuota, config::Metadata,
};
use ports::{Clock, EventBus, IdSource, ReplyEngine, Storage, WriteStore};
use scripted_engine::{Script, ScriptedEngine};
use single_node::LocalBus;
use tokio::runtime::Handle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use writes::{WriteTimeouts, Writes};

use crate::fixture::Fixture;

/// A process that runs turns. Its periodic work runs only when the test calls it.
pub(crate) struct Process {
    pub(crate) engine: ScriptedEngine,
    pub(crate) node: Arc<Node>,
    pub(crate) live: Arc<LiveTurns>,
    pub(crate) runner: Arc<TurnRunner>,
    pub(crate) chat: ChatService,
    pub(crate) turns: TurnService,
    pub(crate) reconciler: LocalTurnReconciler,
    pub(crate) sweeper: Sweeper,
    pub(crate) invalidator: CacheInvalidator,
    pub(crate) tasks: TaskTracker,
}

impl Process {
    pub(crate) async fn start(fixture: &Fixture) -> Self {
        let storage: &Storage = &fixture.storage;
        let ids: Arc<dyn IdSource> = fixture.ids.clone();
        let bus: Arc<dyn EventBus> = Arc::new(LocalBus::new());
        let caches = Caches::new(Arc::clone(&bus));
        let engine = ScriptedEngine::new();
        let scripted: Arc<dyn ReplyEngine> = Arc::new(engine.clone());
        let engines = BTreeMap::from([("scripted".to_owned(), scripted)]);
        let engines = Engines::new(engines, "scripted".to_owned(), schemas());
        let node = Node::register(Arc::clone(&storage.nodes), ids, Arc::clone(&bus), "1.2.3");
        let node = node.await;
        let node = Arc::new(node.expect("the store answers"));
        let tasks = TaskTracker::new();
        let engines = Arc::new(engines.expect("there is the default"));
        let forwarded = ForwardedReplies::new(Arc::clone(&bus), Arc::clone(&node));
        let forwarded = Arc::new(forwarded);
        let context_over = |writes| {
            let ports = cached_ports(fixture, &caches, writes);
            let (types, quota) = (AcceptedTypes::default(), UploadQuota::default());
            let links = FileLinks::new(String::new(), Arc::default());
            let files = FileService::new(ports.clone(), types, quota, links);
            Arc::new(ChatContext::new(
                ports,
                Arc::new(files),
                Arc::clone(&engines),
                Arc::clone(&node),
                Arc::clone(&caches.live),
                Arc::clone(&forwarded),
                tasks.clone(),
            ))
        };
        let context = context_over(&fixture.writes);
        let cancelling = context_over(&fixture.cancellations);
        let runner = Arc::new(TurnRunner::new(
            Arc::clone(&context),
            Arc::clone(&storage.agents),
            Arc::new(Toolbox::new(vec![fixture.tools.clone()])),
        ));
        let sweep = || Arc::clone(&storage.sweep);
        let invalidator = invalidator(fixture, &caches, Arc::clone(&bus), &tasks);
        Self {
            chat: ChatService::new(Arc::clone(&context), Arc::clone(&runner)),
            turns: TurnService::new(cancelling, Arc::clone(&runner), bus),
            reconciler: LocalTurnReconciler::new(sweep(), Arc::clone(&context)),
            sweeper: Sweeper::new(sweep(), context, Arc::clone(&runner)),
            invalidator,
            live: caches.live,
            engine,
            node,
            runner,
            tasks,
        }
    }

    /// Sends a message in this conversation, or in a new one.
    pub(crate) async fn send(
        &self,
        fixture: &Fixture,
        conversation_id: Option<ConversationId>,
        script: &Script,
    ) -> Result<AcceptedTurn, ChatError> {
        self.send_with_key(fixture, conversation_id, script, None)
            .await
    }

    /// Sends a message with an idempotency key.
    pub(crate) async fn send_with_key(
        &self,
        fixture: &Fixture,
        conversation_id: Option<ConversationId>,
        script: &Script,
        key: Option<IdempotencyKey>,
    ) -> Result<AcceptedTurn, ChatError> {
        let command = ChatCommand {
            client_tools: Vec::new(),
            response_schema: None,
            omits_refused_tools: false,
            tool_use: ports::ToolUse::default(),
            agent_id: Some(fixture.agent.id),
            message: Some(script.to_message()),
            files: Vec::new(),
            instruction: None,
            conversation_id,
            conversation_key: None,
            supersedes: None,
            supersedes_itself: false,
            title: None,
            context: None,
            client_message_id: None,
            user_id: None,
            metadata: Metadata::new(),
            on_busy: OnBusy::Queue,
            request_id: None,
        };
        let caller = ChatCaller {
            principal: &caller(),
            credential: &Arc::new(CredentialSource::ExternalToken),
            limits: &LimitOverrides::default(),
        };
        self.chat.send(caller, command, key).await
    }
}

/// A principal with all scopes.
pub(crate) fn caller() -> Principal {
    Principal {
        tenant: fixture::tenant(),
        id: fixture::principal(),
        scopes: Scopes::all(),
        user_id: None,
        agents: domain::AgentReach::ALL,
        names_user: false,
    }
}

fn invalidator(
    fixture: &Fixture,
    caches: &Caches,
    bus: Arc<dyn EventBus>,
    tasks: &TaskTracker,
) -> CacheInvalidator {
    let events = || Arc::clone(&fixture.storage.events);
    let (tasks, stop) = (tasks.clone(), CancellationToken::new());
    let tails = LogTails::new(events(), tasks, Handle::current(), stop);
    let clock: Arc<dyn Clock> = fixture.clock.clone();
    CacheInvalidator::new(events(), caches.clone(), clock, bus, Arc::new(tails))
}

pub(crate) fn cached_ports(
    fixture: &Fixture,
    caches: &Caches,
    writes: &Arc<dyn WriteStore>,
) -> CachedPorts {
    let storage: &Storage = &fixture.storage;
    let clock: Arc<dyn Clock> = fixture.clock.clone();
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
    let applied = Arc::clone(&caches.applied);
    let (writes, tasks) = (Arc::clone(writes), TaskTracker::new());
    let writes = Writes::start(writes, WriteTimeouts::default(), &tasks);
    let users = CachedUsers::new(
        Arc::clone(&storage.users),
        caches.clone(),
        Arc::clone(&clock),
    );
    CachedPorts {
        users: Arc::new(users),
        files: Arc::clone(&storage.files),
        blobs: None,
        agents: Arc::new(agents),
        conversations: Arc::new(conversations),
        turns: Arc::new(FollowedTurns::new(Arc::clone(&storage.turns), applied)),
        writes: CachedWrites::new(writes, caches.clone()),
        idempotency: Arc::clone(&storage.idempotency),
        clock,
        ids: fixture.ids.clone(),
    }
}

fn schemas() -> Arc<dyn ports::SchemaChecker> {
    Arc::new(json_schemas::PooledSchemaChecker::new().expect("threads start"))
}
