//! Typing updates: sent to the current listeners and never stored.

use std::{collections::HashMap, sync::Arc};

use domain::{AgentId, ConversationContext, ConversationId, Principal, PrincipalId, TenantId};
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
    /// Whether the principal is typing.
    pub typing: bool,
}

impl TypingUpdate {
    /// Returns whether the update is sent to a reader on this connection. The connection that sent
    /// the update does not receive it.
    pub fn is_shown_to(&self, reader: &EventVisibility, connection_id: &str) -> bool {
        connection_id != self.connection_id && reader.shows_within(self.user_id.as_deref(), None)
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
        conversation: &ConversationContext,
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
            // A tenant that has lost its last listener is otherwise removed only at its next update.
            listeners.retain(|_, sender| sender.receiver_count() > 0);
        }
        let sender = listeners
            .entry(tenant.clone())
            .or_insert_with(|| broadcast::Sender::new(QUEUE_LENGTH));
        sender.subscribe()
    }

    /// Forwards the updates of all nodes to the listeners, until `stop`.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut signals = self.bus.subscribe();
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
mod tests {
    use std::{
        sync::atomic::{AtomicU64, Ordering},
        time::Duration,
    };

    use domain::{Scopes, Timestamp};
    use local_bus::LocalBus;
    use tokio_util::task::TaskTracker;
    use uuid::Uuid;

    use super::*;

    /// The connection that sends the updates.
    const HERE: &str = "here";

    fn principal(tenant: &str) -> Principal {
        Principal {
            id: PrincipalId::new("ada"),
            tenant: tenant.parse().unwrap(),
            scopes: Scopes::all(),
            user_id: None,
        }
    }

    fn conversation(user: Option<&str>) -> ConversationContext {
        ConversationContext {
            id: ConversationId::new(Uuid::from_u128(1)),
            agent_id: AgentId::new(Uuid::from_u128(2)),
            user_id: user.map(ToOwned::to_owned),
            message_count: 0,
            turn_count: 0,
            running_turn: None,
        }
    }

    /// A clock that advances by a second at each call.
    #[derive(Default)]
    struct FastClock(AtomicU64);

    impl Clock for FastClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_milliseconds(0)
        }

        fn running_for(&self) -> Duration {
            Duration::from_secs(self.0.fetch_add(1, Ordering::Relaxed))
        }
    }

    fn running() -> (Arc<Typing>, CancellationToken) {
        let clock = Arc::new(FastClock::default());
        let typing = Arc::new(Typing::new(Arc::new(LocalBus::default()), clock));
        let stop = CancellationToken::new();
        TaskTracker::new().spawn(Arc::clone(&typing).run(stop.clone()));
        (typing, stop)
    }

    /// Publishes until the forwarding task has subscribed, too.
    async fn publish_until_received(
        typing: &Typing,
        caller: &Principal,
        listener: &mut broadcast::Receiver<Arc<TypingUpdate>>,
    ) -> Arc<TypingUpdate> {
        loop {
            typing.publish(caller, HERE, &conversation(Some("ada")), true);
            tokio::task::yield_now().await;
            if let Ok(update) = listener.try_recv() {
                return update;
            }
        }
    }

    #[tokio::test]
    async fn all_listeners_of_the_tenant_receive_an_update_and_no_others() {
        let (typing, _stop) = running();
        let ours = principal("ours");
        let mut listeners = [typing.listen(&ours.tenant), typing.listen(&ours.tenant)];
        let mut theirs = typing.listen(&"theirs".parse().unwrap());
        let update = publish_until_received(&typing, &ours, &mut listeners[0]).await;
        assert_eq!(update.conversation_id, conversation(None).id);
        assert_eq!(update.agent_id, conversation(None).agent_id);
        assert_eq!(update.actor, ours.id);
        assert!(update.typing);
        assert_eq!(listeners[1].recv().await.unwrap(), update);
        assert!(theirs.try_recv().is_err());
    }

    #[tokio::test]
    async fn a_tenant_without_listeners_is_removed_at_its_next_update() {
        let (typing, _stop) = running();
        let ours = principal("ours");
        let mut listener = typing.listen(&ours.tenant);
        publish_until_received(&typing, &ours, &mut listener).await;
        drop(listener);
        while !typing.listeners.lock().is_empty() {
            typing.publish(&ours, HERE, &conversation(None), false);
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_tenant_without_listeners_is_removed_when_another_is_followed() {
        let (typing, _stop) = running();
        drop(typing.listen(&principal("ours").tenant));
        let _listener = typing.listen(&principal("theirs").tenant);
        assert_eq!(typing.listeners.lock().len(), 1);
    }

    #[test]
    fn a_user_sees_only_updates_of_its_own_conversations_and_with_the_scope() {
        let update = TypingUpdate {
            conversation_id: conversation(None).id,
            agent_id: conversation(None).agent_id,
            user_id: Some("ada".to_owned()),
            actor: PrincipalId::new("ada"),
            connection_id: HERE.to_owned(),
            typing: true,
        };
        let reader = |conversations, user: Option<&str>| EventVisibility {
            agents: true,
            conversations,
            principal: PrincipalId::new("ada"),
            user_id: user.map(ToOwned::to_owned),
        };
        let shown = |conversations, user| update.is_shown_to(&reader(conversations, user), "there");
        assert!(shown(true, None));
        assert!(shown(true, Some("ada")));
        assert!(!shown(true, Some("bob")));
        assert!(!shown(false, None));
        let own = update.is_shown_to(&reader(true, Some("ada")), HERE);
        assert!(!own, "the sending connection receives nothing");
    }
}
