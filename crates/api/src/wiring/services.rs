//! Builds the use cases, with caches in front of the ports.

use std::sync::Arc;

use access::{CredentialService, UserTokens};
use application::{
    AgentLimits, AgentService, ChatService, ConversationService, Engines, EventService, Toolbox,
    TurnService,
    cache::{CachedAgents, CachedConversations, CachedTurns, Caches},
    chat::ChatPorts,
};
use ports::{Clock, IdSource, Storage};

use super::{Parts, Turns, auth::document_source, realtime::Realtime};
use crate::state::{ApiState, Services};

/// Builds the use cases on cached ports.
pub(super) fn build(
    parts: Parts<'_>,
    cached: &ChatPorts,
    state: &ApiState,
    engines: Arc<Engines>,
    toolbox: Arc<Toolbox>,
    turns: &Turns,
    realtime: Realtime,
) -> Services {
    let Parts {
        settings,
        storage,
        peers,
        ..
    } = parts;
    let (context, runner) = (|| Arc::clone(&turns.context), || Arc::clone(&turns.runner));
    let (clock, ids) = (Arc::clone(&cached.clock), Arc::clone(&cached.ids));
    let user_tokens = UserTokens::new(
        Arc::clone(&state.authenticator),
        Arc::clone(&storage.credentials),
        storage.tokens,
        Arc::clone(&clock),
    );
    let credentials = CredentialService::new(
        storage.credentials,
        Arc::clone(&storage.idempotency),
        Arc::clone(&clock),
        Arc::clone(&ids),
        document_source(settings),
        settings.limits.sizes.name_characters,
    );
    Services {
        agents: AgentService::new(
            Arc::clone(&cached.agents),
            storage.agents,
            Arc::clone(&storage.idempotency),
            Arc::clone(&engines),
            Arc::clone(&clock),
            Arc::clone(&ids),
            AgentLimits {
                sizes: settings.limits.sizes.clone(),
                rates: Arc::clone(&state.limits),
            },
        ),
        conversations: ConversationService::new(
            Arc::clone(&cached.conversations),
            Arc::clone(&cached.agents),
            storage.idempotency,
            clock,
            ids,
        ),
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
    storage: &Storage,
    caches: &Caches,
    clock: &Arc<dyn Clock>,
    ids: &Arc<dyn IdSource>,
) -> ChatPorts {
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
    ChatPorts {
        agents: Arc::new(agents),
        conversations: Arc::new(conversations),
        turns: Arc::new(CachedTurns::new(Arc::clone(&storage.turns), caches.clone())),
        idempotency: Arc::clone(&storage.idempotency),
        clock: Arc::clone(clock),
        ids: Arc::clone(ids),
    }
}
