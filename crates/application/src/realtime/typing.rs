//! Typing updates: sent to the current listeners and never stored.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use domain::{AgentId, ConversationContext, ConversationId, Principal, PrincipalId, TenantId};
use futures::StreamExt as _;
use ports::{Clock, EventBus, EventVisibility, Signal};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use super::typing_pace::TypingPace;

/// The maximum number of updates that wait for a slow listener. The oldest of more are lost.
const WAITING: usize = 64;

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
    pace: TypingPace,
    listeners: Mutex<HashMap<TenantId, broadcast::Sender<Arc<TypingUpdate>>>>,
}

impl Typing {
    /// Creates a distributor of updates over this bus.
    pub fn new(bus: Arc<dyn EventBus>, clock: Arc<dyn Clock>) -> Self {
        Self {
            bus,
            pace: TypingPace::new(clock),
            listeners: Mutex::default(),
        }
    }

    /// Publishes that a caller types in a conversation, or has stopped; a repetition at most once a
    /// second. All connections receive it except the one that sent it.
    pub fn tell(
        &self,
        caller: &Principal,
        connection_id: &str,
        conversation: &ConversationContext,
        typing: bool,
    ) {
        let typist = (caller.tenant.clone(), conversation.id, caller.id.clone());
        if !self.pace.take(typist, typing) {
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
        let mut listeners = self.listeners();
        if !listeners.contains_key(tenant) {
            // Only an update detects that a tenant has lost its last listener, so idle tenants are
            // removed here.
            listeners.retain(|_, news| news.receiver_count() > 0);
        }
        let news = listeners
            .entry(tenant.clone())
            .or_insert_with(|| broadcast::Sender::new(WAITING));
        news.subscribe()
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
                self.hand_on(
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

    fn hand_on(&self, tenant: &TenantId, news: TypingUpdate) {
        let mut listeners = self.listeners();
        let Some(sender) = listeners.get(tenant) else {
            return;
        };
        if sender.send(Arc::new(news)).is_err() {
            // The tenant has no listeners left.
            listeners.remove(tenant);
        }
    }

    fn listeners(&self) -> MutexGuard<'_, HashMap<TenantId, broadcast::Sender<Arc<TypingUpdate>>>> {
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
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
    struct HastyClock(AtomicU64);

    impl Clock for HastyClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_milliseconds(0)
        }

        fn running_for(&self) -> Duration {
            Duration::from_secs(self.0.fetch_add(1, Ordering::Relaxed))
        }
    }

    fn running() -> (Arc<Typing>, CancellationToken) {
        let clock = Arc::new(HastyClock::default());
        let typing = Arc::new(Typing::new(Arc::new(LocalBus::default()), clock));
        let stop = CancellationToken::new();
        TaskTracker::new().spawn(Arc::clone(&typing).run(stop.clone()));
        (typing, stop)
    }

    /// Publishes until the forwarding task has subscribed, too.
    async fn told(
        typing: &Typing,
        caller: &Principal,
        listener: &mut broadcast::Receiver<Arc<TypingUpdate>>,
    ) -> Arc<TypingUpdate> {
        loop {
            typing.tell(caller, HERE, &conversation(Some("ada")), true);
            tokio::task::yield_now().await;
            if let Ok(news) = listener.try_recv() {
                return news;
            }
        }
    }

    #[tokio::test]
    async fn whoever_listens_to_the_tenant_is_told_and_nobody_else() {
        let (typing, _stop) = running();
        let ours = principal("ours");
        let mut listeners = [typing.listen(&ours.tenant), typing.listen(&ours.tenant)];
        let mut theirs = typing.listen(&"theirs".parse().unwrap());
        let news = told(&typing, &ours, &mut listeners[0]).await;
        assert_eq!(news.conversation_id, conversation(None).id);
        assert_eq!(news.agent_id, conversation(None).agent_id);
        assert_eq!(news.actor, ours.id);
        assert!(news.typing);
        assert_eq!(listeners[1].recv().await.unwrap(), news);
        assert!(theirs.try_recv().is_err());
    }

    #[tokio::test]
    async fn nothing_is_kept_of_a_tenant_to_which_nobody_listens() {
        let (typing, _stop) = running();
        let ours = principal("ours");
        let mut listener = typing.listen(&ours.tenant);
        told(&typing, &ours, &mut listener).await;
        drop(listener);
        while !typing.listeners().is_empty() {
            typing.tell(&ours, HERE, &conversation(None), false);
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn where_nobody_types_the_next_who_listens_elsewhere_clears_away_what_is_left() {
        let (typing, _stop) = running();
        drop(typing.listen(&principal("ours").tenant));
        let _listener = typing.listen(&principal("theirs").tenant);
        assert_eq!(typing.listeners().len(), 1);
    }

    #[test]
    fn a_user_is_told_of_its_own_conversations_and_of_none_without_the_scope() {
        let news = TypingUpdate {
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
        let shown = |conversations, user| news.is_shown_to(&reader(conversations, user), "there");
        assert!(shown(true, None));
        assert!(shown(true, Some("ada")));
        assert!(!shown(true, Some("bob")));
        assert!(!shown(false, None));
        let own = news.is_shown_to(&reader(true, Some("ada")), HERE);
        assert!(!own, "the connection that told it knows");
    }
}
