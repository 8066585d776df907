//! Builds the use cases, with caches in front of the ports.

use std::sync::Arc;

use access::{CredentialService, UserTokens};
use application::{
    AgentLimits, AgentService, ChatService, ConversationService, Engines, EventService,
    ExportService, Toolbox, TurnService, UserService,
    cache::{
        CachedAgents, CachedConversations, CachedPorts, CachedUsers, CachedWrites, Caches,
        FollowedTurns,
    },
};
use kit::state::{HttpState, Services};
use ports::{BlobStore, Clock, IdSource};

use super::{Parts, Turns, auth::document_source, realtime::Realtime};

/// Builds the use cases on cached ports.
pub(super) fn build(
    parts: Parts<'_>,
    cached: &CachedPorts,
    state: &HttpState,
    engines: Arc<Engines>,
    toolbox: Arc<Toolbox>,
    turns: &Turns,
    realtime: Realtime,
) -> Services {
    let Parts {
        settings,
        storage,
        writes,
        peers,
        ..
    } = parts;
    let (context, runner) = (|| Arc::clone(&turns.context), || Arc::clone(&turns.runner));
    let user_tokens = UserTokens::new(
        Arc::clone(&state.authenticator),
        Arc::clone(&storage.credentials),
        storage.tokens,
        Arc::clone(&cached.clock),
    );
    let credentials = CredentialService::new(
        storage.credentials,
        writes,
        storage.idempotency,
        Arc::clone(&cached.clock),
        Arc::clone(&cached.ids),
        document_source(settings),
        settings.limits.sizes.name_characters,
    );
    Services {
        agents: AgentService::new(
            cached.clone(),
            storage.agents,
            Arc::clone(&engines),
            Arc::clone(&toolbox),
            AgentLimits {
                sizes: settings.limits.sizes.clone(),
                rates: Arc::clone(&state.rates.principals),
            },
            turns.context.node.watch_membership(),
        ),
        exports: ExportService::new(
            cached.clone(),
            Arc::clone(&storage.users),
            Arc::clone(&storage.notes),
        ),
        conversations: ConversationService::new(
            cached.clone(),
            storage.notes,
            storage.feedback,
            storage.search,
        ),
        files: Arc::clone(&turns.context.files),
        users: UserService::new(cached.clone(), storage.users),
        turns: TurnService::new(context(), runner(), peers.links.bus),
        events: EventService::new(Arc::clone(&realtime.log)),
        log: realtime.log,
        live: realtime.caches.live,
        typing: realtime.typing,
        credentials: credentials.with_authenticator(Arc::clone(&state.authenticator)),
        user_tokens,
        chat: ChatService::new(context(), runner()),
        node: Arc::clone(&turns.context.node),
        engines,
        toolbox,
    }
}

/// Returns the ports that every chat uses, with caches in front of them.
pub(super) fn cached_ports(
    parts: &Parts<'_>,
    blobs: Option<Arc<dyn BlobStore>>,
    caches: &Caches,
    clock: &Arc<dyn Clock>,
    ids: &Arc<dyn IdSource>,
) -> CachedPorts {
    let storage = &parts.storage;
    let agents = CachedAgents::new(
        Arc::clone(&storage.agents),
        caches.clone(),
        Arc::clone(clock),
    );
    let conversations = CachedConversations::new(
        Arc::clone(&storage.conversations),
        caches.clone(),
        Arc::clone(clock),
    );
    let users = CachedUsers::new(
        Arc::clone(&storage.users),
        caches.clone(),
        Arc::clone(clock),
    );
    CachedPorts {
        users: Arc::new(users),
        files: Arc::clone(&storage.files),
        blobs,
        agents: Arc::new(agents),
        conversations: Arc::new(conversations),
        turns: Arc::new(FollowedTurns::new(
            Arc::clone(&storage.turns),
            Arc::clone(&caches.applied),
        )),
        writes: CachedWrites::new(parts.writes.clone(), caches.clone()),
        idempotency: Arc::clone(&storage.idempotency),
        clock: Arc::clone(clock),
        ids: Arc::clone(ids),
    }
}
