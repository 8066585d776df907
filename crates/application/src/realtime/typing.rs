//! Typing updates: sent to the current listeners and never stored.

use std::{collections::HashMap, sync::Arc};

use domain::{AgentId, ConversationId, ConversationState, Principal, PrincipalId, TenantId};
use futures::StreamExt as _;
use parking_lot::Mutex;
use ports::{Clock, EventBus, EventVisibility, Signal};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use super::typing_throttle::TypingThrottle;

/// The maximum number of updates that wait for a slow listener; beyond it, the oldest are lost.
const QUEUE_LENGTH: usize = 64;

/// A report that a principal types in a conversation, or has stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypingUpdate {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The agent of the conversation.
    pub agent_id: AgentId,
    /// The user that the conversation belongs to.
    pub user_id: Option<String>,
    /// The principal that types.
    pub actor: PrincipalId,
    /// The connection that sent the update.
    pub connection_id: String,
    /// True if the principal is typing.
    pub typing: bool,
}

impl TypingUpdate {
    /// Returns whether the update is sent to a reader on this connection. The connection that sent
    /// the update does not receive it.
    pub fn is_shown_to(&self, reader: &EventVisibility, connection_id: &str) -> bool {
        let (agent, user) = (Some(self.agent_id), self.user_id.as_deref());
        connection_id != self.connection_id && reader.shows_within(agent, user, None)
    }
}

/// Distributes typing updates between all nodes.
pub struct Typing {
    bus: Arc<dyn EventBus>,
    throttle: TypingThrottle,
    listeners: Mutex<HashMap<TenantId, broadcast::Sender<Arc<TypingUpdate>>>>,
}

impl Typing {
    /// Creates a distributor of updates over this bus.
    pub fn new(bus: Arc<dyn EventBus>, clock: Arc<dyn Clock>) -> Self {
        Self {
            bus,
            throttle: TypingThrottle::new(clock),
            listeners: Mutex::default(),
        }
    }

    /// Publishes that a caller types in a conversation, or has stopped; a repetition at most once a
    /// second. All connections receive it except the one that sent it.
    pub fn publish(
        &self,
        caller: &Principal,
        connection_id: &str,
        conversation: &ConversationState,
        typing: bool,
    ) {
        let typist = (caller.tenant.clone(), conversation.id, caller.id.clone());
        if !self.throttle.permit(typist, typing) {
            return;
        }
        self.bus.publish(Signal::Typing {
            tenant: caller.tenant.clone(),
            conversation_id: conversation.id,
            agent_id: conversation.agent_id,
            user_id: conversation.user_id.clone(),
            actor: caller.id.clone(),
            connection_id: connection_id.to_owned(),
            typing,
        });
    }

    /// Subscribes to the updates of a tenant's conversations.
    pub fn listen(&self, tenant: &TenantId) -> broadcast::Receiver<Arc<TypingUpdate>> {
        let mut listeners = self.listeners.lock();
        if !listeners.contains_key(tenant) {
            // A tenant that has lost its last listener is otherwise removed only at its next
            // update.
            listeners.retain(|_, sender| sender.receiver_count() > 0);
        }
        let sender = listeners
            .entry(tenant.clone())
            .or_insert_with(|| broadcast::Sender::new(QUEUE_LENGTH));
        sender.subscribe()
    }

    /// Forwards the updates of all nodes to the listeners, until `stop`.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let is_typing = |signal: &Signal| matches!(signal, Signal::Typing { .. });
        let mut signals = self.bus.subscribe(Box::new(is_typing));
        while let Some(Some(signal)) = stop.run_until_cancelled(signals.next()).await {
            if let Signal::Typing {
                tenant,
                conversation_id,
                agent_id,
                user_id,
                actor,
                connection_id,
                typing,
            } = signal
            {
                self.forward(
                    &tenant,
                    TypingUpdate {
                        conversation_id,
                        agent_id,
                        user_id,
                        actor,
                        connection_id,
                        typing,
                    },
                );
            }
        }
    }

    fn forward(&self, tenant: &TenantId, update: TypingUpdate) {
        let mut listeners = self.listeners.lock();
        let Some(sender) = listeners.get(tenant) else {
            return;
        };
        if sender.send(Arc::new(update)).is_err() {
            // The tenant has no listeners left.
            listeners.remove(tenant);
        }
    }
}

#[cfg(test)]
mod tests;
