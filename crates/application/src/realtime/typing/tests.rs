use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use domain::{Scopes, Timestamp};
use single_node::LocalBus;
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
        agents: domain::AgentReach::ALL,
        names_user: false,
    }
}

fn conversation(user: Option<&str>) -> ConversationState {
    ConversationState {
        id: ConversationId::new(Uuid::from_u128(1)),
        agent_id: AgentId::new(Uuid::from_u128(2)),
        user_id: user.map(ToOwned::to_owned),
        last_message_seq: 0,
        turn_count: 0,
        running_turn: None,
        newest_message: None,
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
        whole_agents: true,
        users: true,
        conversations,
        principal: PrincipalId::new("ada"),
        user_id: user.map(ToOwned::to_owned),
        reach: domain::AgentReach::ALL,
        audience: domain::Audience::Staff,
    };
    let shown = |conversations, user| update.is_shown_to(&reader(conversations, user), "there");
    assert!(shown(true, None));
    assert!(shown(true, Some("ada")));
    assert!(!shown(true, Some("bob")));
    assert!(!shown(false, None));
    let own = update.is_shown_to(&reader(true, Some("ada")), HERE);
    assert!(!own, "the sending connection receives nothing");
}
