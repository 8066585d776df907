//! `EventBus`: the contract for publishers and subscribers.

use std::{collections::HashSet, sync::Arc, time::Duration};

use domain::{AgentId, ConversationId, PrincipalId, Seq, TenantId};
use futures::{StreamExt as _, stream::BoxStream};
use ports::{EventBus, Signal};
use tokio::time::timeout;
use uuid::Uuid;

/// Expands to one test per promise of a bus. `$fixture` is the path (from the crate's root) of an
/// async function that returns the only `Arc<dyn ports::EventBus>` of a bus: dropping it closes the
/// bus.
#[macro_export]
macro_rules! event_bus_contract {
    ($fixture:path) => {
        $crate::event_bus_contract! {
            $fixture;
            event_bus {
                every_subscriber_receives_signals_including_the_publisher,
                each_signal_is_delivered_once_and_unchanged,
                signals_before_the_subscription_are_not_delivered,
                publishing_without_subscribers_does_not_fail,
                a_subscriber_that_does_not_read_delays_no_others,
                a_slow_subscriber_continues_with_the_newest_signals,
                a_subscriber_receives_what_passes_its_filter,
                a_subscriber_that_ends_does_not_affect_others,
                subscriptions_end_when_the_bus_is_closed,
            }
        }
    };
    ($fixture:path; $($module:ident { $($promise:ident,)* })*) => {
        $(mod $module {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $promise() {
                    let fixture = $fixture().await;
                    $crate::$module::$promise(fixture).await;
                }
            )*
        })*
    };
}

/// More signals than any bus keeps for a subscriber that does not read.
const TOO_MANY: i64 = 50_000;

/// The timeout of a wait, so that a test fails instead of hanging.
const TIMEOUT: Duration = Duration::from_secs(20);

fn tenant() -> TenantId {
    TenantId::DEFAULT.parse().expect("the id of a tenant")
}

fn log_appended(head: i64) -> Signal {
    Signal::LogAppended {
        tenant: tenant(),
        head: Seq(head),
    }
}

async fn next(signals: &mut BoxStream<'static, Signal>) -> Option<Signal> {
    let next = timeout(TIMEOUT, signals.next()).await;
    next.expect("nothing comes")
}

/// Subscribes to all signals but the bus's own report on lost ones, which may come at any time.
fn all(bus: &Arc<dyn EventBus>) -> BoxStream<'static, Signal> {
    bus.subscribe(Box::new(|signal| *signal != Signal::SignalsLost))
}

async fn next_head(signals: &mut BoxStream<'static, Signal>) -> i64 {
    match next(signals).await {
        Some(Signal::LogAppended { head, .. }) => head.0,
        other => panic!("{other:?} is no growth"),
    }
}

/// A signal reaches every subscriber, including the publisher's own subscription.
pub async fn every_subscriber_receives_signals_including_the_publisher(bus: Arc<dyn EventBus>) {
    let mut subscribers: Vec<_> = (0..5).map(|_| all(&bus)).collect();
    for head in 1..=10 {
        bus.publish(log_appended(head));
        for signals in &mut subscribers {
            assert_eq!(next(signals).await, Some(log_appended(head)));
        }
    }
}

/// Each signal MUST be delivered at most once, unchanged, whatever its content.
pub async fn each_signal_is_delivered_once_and_unchanged(bus: Arc<dyn EventBus>) {
    let typing = |user: Option<&str>, typing| Signal::Typing {
        tenant: tenant(),
        conversation_id: ConversationId::new(Uuid::from_u128(7)),
        agent_id: AgentId::new(Uuid::from_u128(8)),
        user_id: user.map(ToOwned::to_owned),
        actor: PrincipalId::new("key:Sample000001"),
        connection_id: "01a1fbb5-0710-72ac-81a3-f4a9b26dcf52".to_owned(),
        typing,
    };
    let mut signals = all(&bus);
    let published = [
        log_appended(i64::MAX),
        typing(Some("ada \u{1f469}"), true),
        typing(None, false),
        log_appended(1),
    ];
    for signal in &published {
        bus.publish(signal.clone());
    }
    let mut received = Vec::new();
    for _ in &published {
        received.extend(next(&mut signals).await);
    }
    drop(bus);
    received.extend(next(&mut signals).await);
    assert_eq!(received.len(), published.len());
    for signal in published {
        assert!(received.contains(&signal), "{signal:?} was not delivered");
    }
}

/// A subscription starts with the call of `subscribe`.
pub async fn signals_before_the_subscription_are_not_delivered(bus: Arc<dyn EventBus>) {
    bus.publish(log_appended(1));
    let mut signals = all(&bus);
    bus.publish(log_appended(2));
    assert_eq!(next(&mut signals).await, Some(log_appended(2)));
}

/// `publish` MUST never fail.
pub async fn publishing_without_subscribers_does_not_fail(bus: Arc<dyn EventBus>) {
    bus.publish(log_appended(1));
    drop(all(&bus));
    bus.publish(log_appended(2));
    assert_eq!(
        {
            let mut signals = all(&bus);
            bus.publish(log_appended(3));
            next(&mut signals).await
        },
        Some(log_appended(3))
    );
}

/// `publish` MUST return at once, however many signals a subscriber has not read, and the other
/// subscribers receive all of them.
pub async fn a_subscriber_that_does_not_read_delays_no_others(bus: Arc<dyn EventBus>) {
    let _unread = all(&bus);
    let mut signals = all(&bus);
    for head in 1..=TOO_MANY {
        bus.publish(log_appended(head));
        assert_eq!(next_head(&mut signals).await, head);
    }
}

/// A subscriber that is too slow loses the oldest signals: it continues, reaches the newest, and
/// receives none twice.
pub async fn a_slow_subscriber_continues_with_the_newest_signals(bus: Arc<dyn EventBus>) {
    let mut signals = all(&bus);
    for head in 1..=TOO_MANY {
        bus.publish(log_appended(head));
    }
    let mut seen = HashSet::new();
    while !seen.contains(&TOO_MANY) {
        let head = next_head(&mut signals).await;
        assert!(seen.insert(head), "{head} came twice");
    }
    bus.publish(log_appended(0));
    while next_head(&mut signals).await != 0 {}
}

/// A subscriber receives the signals that pass its filter, and no others.
pub async fn a_subscriber_receives_what_passes_its_filter(bus: Arc<dyn EventBus>) {
    let is_even =
        |signal: &Signal| matches!(signal, Signal::LogAppended { head, .. } if head.0 % 2 == 0);
    let (mut even, mut whole) = (bus.subscribe(Box::new(is_even)), all(&bus));
    for head in 1..=4 {
        bus.publish(log_appended(head));
        assert_eq!(next_head(&mut whole).await, head);
    }
    let received = HashSet::from([next_head(&mut even).await, next_head(&mut even).await]);
    assert_eq!(received, HashSet::from([2, 4]));
}

/// A subscriber that ends does not affect the others.
pub async fn a_subscriber_that_ends_does_not_affect_others(bus: Arc<dyn EventBus>) {
    let leaving = all(&bus);
    let mut staying = all(&bus);
    bus.publish(log_appended(1));
    drop(leaving);
    bus.publish(log_appended(2));
    let received = HashSet::from([next_head(&mut staying).await, next_head(&mut staying).await]);
    assert_eq!(received, HashSet::from([1, 2]));
}

/// A subscription MUST end when the bus is closed, after the signals that were published before.
pub async fn subscriptions_end_when_the_bus_is_closed(bus: Arc<dyn EventBus>) {
    let mut subscribers = [all(&bus), all(&bus)];
    bus.publish(log_appended(1));
    drop(bus);
    for signals in &mut subscribers {
        assert_eq!(next(signals).await, Some(log_appended(1)));
        assert_eq!(next(signals).await, None);
    }
}
