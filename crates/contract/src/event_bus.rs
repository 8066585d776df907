//! `EventBus`: what every bus promises to those who listen.

use std::{collections::HashSet, sync::Arc, time::Duration};

use domain::{AgentId, ConversationId, PrincipalId, Seq, TenantId};
use futures::{StreamExt as _, stream::BoxStream};
use ports::{EventBus, Signal};
use tokio::time::timeout;
use uuid::Uuid;

/// Expands to one test per promise of a bus. `$fixture` is the path (from the crate's root) of an
/// async function that answers an `Arc<dyn ports::EventBus>` of which nobody else holds any part:
/// when it is dropped, the bus is closed.
#[macro_export]
macro_rules! event_bus_contract {
    ($fixture:path) => {
        $crate::event_bus_contract! {
            $fixture;
            event_bus {
                tells_every_subscriber_the_publisher_included,
                tells_each_signal_once_as_it_was,
                tells_nothing_of_before_the_subscription,
                publishing_where_nobody_listens_is_no_failure,
                a_subscriber_that_does_not_read_delays_nobody,
                a_subscriber_that_was_too_slow_goes_on_with_the_newest,
                a_subscriber_that_left_is_not_missed,
                ends_when_the_bus_is_closed,
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

/// More than any bus keeps for who does not read.
const TOO_MANY: i64 = 50_000;

/// A test must fail, not wait for ever.
const PATIENCE: Duration = Duration::from_secs(20);

fn tenant() -> TenantId {
    TenantId::DEFAULT.parse().expect("the id of a tenant")
}

fn grew(head: i64) -> Signal {
    Signal::Grew {
        tenant: tenant(),
        head: Seq(head),
    }
}

async fn next(signals: &mut BoxStream<'static, Signal>) -> Option<Signal> {
    let next = timeout(PATIENCE, signals.next()).await;
    next.expect("nothing comes")
}

async fn next_head(signals: &mut BoxStream<'static, Signal>) -> i64 {
    match next(signals).await {
        Some(Signal::Grew { head, .. }) => head.0,
        other => panic!("{other:?} is no growth"),
    }
}

/// What is published reaches every subscriber; `publish` is called by one of them.
pub async fn tells_every_subscriber_the_publisher_included(bus: Arc<dyn EventBus>) {
    let mut subscribers: Vec<_> = (0..5).map(|_| bus.subscribe()).collect();
    for head in 1..=10 {
        bus.publish(grew(head));
        for signals in &mut subscribers {
            assert_eq!(next(signals).await, Some(grew(head)));
        }
    }
}

/// MUST tell a signal at most once, whatever it says.
pub async fn tells_each_signal_once_as_it_was(bus: Arc<dyn EventBus>) {
    let typing = |user: Option<&str>, typing| Signal::Typing {
        tenant: tenant(),
        conversation_id: ConversationId::new(Uuid::from_u128(7)),
        agent_id: AgentId::new(Uuid::from_u128(8)),
        user_id: user.map(ToOwned::to_owned),
        actor: PrincipalId::new("key:Sample000001"),
        connection_id: "01a1fbb5-0710-72ac-81a3-f4a9b26dcf52".to_owned(),
        typing,
    };
    let mut signals = bus.subscribe();
    let published = [
        grew(i64::MAX),
        typing(Some("ada \u{1f469}"), true),
        typing(None, false),
        grew(1),
    ];
    for signal in &published {
        bus.publish(signal.clone());
    }
    let mut told = Vec::new();
    for _ in &published {
        told.extend(next(&mut signals).await);
    }
    drop(bus);
    told.extend(next(&mut signals).await);
    assert_eq!(told.len(), published.len());
    for signal in published {
        assert!(told.contains(&signal), "{signal:?} was not told");
    }
}

/// A subscription begins with the call.
pub async fn tells_nothing_of_before_the_subscription(bus: Arc<dyn EventBus>) {
    bus.publish(grew(1));
    let mut signals = bus.subscribe();
    bus.publish(grew(2));
    assert_eq!(next(&mut signals).await, Some(grew(2)));
}

/// MUST never fail.
pub async fn publishing_where_nobody_listens_is_no_failure(bus: Arc<dyn EventBus>) {
    bus.publish(grew(1));
    drop(bus.subscribe());
    bus.publish(grew(2));
    assert_eq!(
        {
            let mut signals = bus.subscribe();
            bus.publish(grew(3));
            next(&mut signals).await
        },
        Some(grew(3))
    );
}

/// MUST return at once, however many signals somebody has left unread, and tell the others all.
pub async fn a_subscriber_that_does_not_read_delays_nobody(bus: Arc<dyn EventBus>) {
    let _unread = bus.subscribe();
    let mut signals = bus.subscribe();
    for head in 1..=TOO_MANY {
        bus.publish(grew(head));
        assert_eq!(next_head(&mut signals).await, head);
    }
}

/// Who is too slow loses the oldest: it reads on, reaches the newest, and sees nothing twice.
pub async fn a_subscriber_that_was_too_slow_goes_on_with_the_newest(bus: Arc<dyn EventBus>) {
    let mut signals = bus.subscribe();
    for head in 1..=TOO_MANY {
        bus.publish(grew(head));
    }
    let mut seen = HashSet::new();
    while !seen.contains(&TOO_MANY) {
        let head = next_head(&mut signals).await;
        assert!(seen.insert(head), "{head} came twice");
    }
    bus.publish(grew(0));
    while next_head(&mut signals).await != 0 {}
}

/// Who leaves while others listen takes nothing from them.
pub async fn a_subscriber_that_left_is_not_missed(bus: Arc<dyn EventBus>) {
    let leaving = bus.subscribe();
    let mut staying = bus.subscribe();
    bus.publish(grew(1));
    drop(leaving);
    bus.publish(grew(2));
    let told = HashSet::from([next_head(&mut staying).await, next_head(&mut staying).await]);
    assert_eq!(told, HashSet::from([1, 2]));
}

/// MUST end when the bus is closed, after what was published before.
pub async fn ends_when_the_bus_is_closed(bus: Arc<dyn EventBus>) {
    let mut subscribers = [bus.subscribe(), bus.subscribe()];
    bus.publish(grew(1));
    drop(bus);
    for signals in &mut subscribers {
        assert_eq!(next(signals).await, Some(grew(1)));
        assert_eq!(next(signals).await, None);
    }
}
