//! `EventBus`: the contract of a bus between processes.

use std::{collections::HashSet, sync::Arc, time::Duration};

use domain::{ConversationId, PrincipalId, Seq, TenantId};
use futures::{StreamExt as _, stream::BoxStream};
use ports::{EventBus, Signal};
use tokio::time::timeout;
use uuid::Uuid;

use crate::fixture;

/// Expands to one test per promise of a bus between processes. `$fixture` is the path (from the
/// crate's root) of an async function that returns the buses of two processes, each as the only
/// `Arc<dyn ports::EventBus>`.
#[macro_export]
macro_rules! shared_event_bus_contract {
    ($fixture:path) => {
        $crate::event_bus_contract! {
            $fixture;
            shared_event_bus {
                signals_reach_the_other_process,
                a_process_receives_its_own_signals_once,
                the_newest_of_many_heads_arrives,
                a_new_process_is_told_that_it_missed_signals,
            }
        }
    };
}

/// The timeout of a wait, so that a test fails instead of hanging.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The time within which a second copy of a signal would arrive.
const SETTLE_TIME: Duration = Duration::from_millis(500);

/// The buses of two processes.
pub type Buses = (Arc<dyn EventBus>, Arc<dyn EventBus>);

fn log_appended(tenant: &str, head: i64) -> Signal {
    Signal::LogAppended {
        tenant: tenant.parse().expect("the id of a tenant"),
        head: Seq(head),
    }
}

fn typing(user: Option<&str>) -> Signal {
    Signal::Typing {
        tenant: TenantId::DEFAULT.parse().expect("the id of a tenant"),
        conversation_id: ConversationId::new(Uuid::from_u128(7)),
        agent_id: fixture::agent(8).id,
        user_id: user.map(ToOwned::to_owned),
        actor: PrincipalId::new("key:Sample000001"),
        connection_id: "01a1fbb5-0710-72ac-81a3-f4a9b26dcf52".to_owned(),
        typing: true,
    }
}

/// Subscribes to the signals that processes send.
fn sent(bus: &Arc<dyn EventBus>) -> BoxStream<'static, Signal> {
    bus.subscribe(Box::new(|signal| *signal != Signal::SignalsLost))
}

async fn next(signals: &mut BoxStream<'static, Signal>) -> Signal {
    let next = timeout(TIMEOUT, signals.next()).await;
    next.expect("nothing arrives").expect("the bus is open")
}

/// Publishes until the other process receives something: buses connect in the background.
async fn connect((one, other): &Buses) {
    for (from, to) in [(one, other), (other, one)] {
        let probe = log_appended("probe", 1);
        let mut received = to.subscribe(Box::new(|signal| {
            matches!(signal, Signal::LogAppended { tenant, .. } if tenant.as_str() == "probe")
        }));
        loop {
            from.publish(probe.clone());
            let next = timeout(Duration::from_millis(50), received.next());
            if next.await.is_ok() {
                break;
            }
        }
        // The copies of the probe that are still on their way.
        while timeout(SETTLE_TIME, received.next()).await.is_ok() {}
    }
}

/// Signals reach the subscribers of the other process unchanged, whatever their content.
pub async fn signals_reach_the_other_process(buses: Buses) {
    connect(&buses).await;
    let mut received = sent(&buses.1);
    let published = [
        log_appended("default", i64::MAX),
        log_appended("other-tenant", 1),
        typing(Some("ada \u{1f469} \u{0} ' \" \\")),
        typing(None),
    ];
    for signal in &published {
        buses.0.publish(signal.clone());
    }
    let mut arrived = Vec::new();
    for _ in &published {
        arrived.push(next(&mut received).await);
    }
    for signal in published {
        assert!(arrived.contains(&signal), "{signal:?} has not arrived");
    }
}

/// A process receives its own signals once, without the way through the other processes.
pub async fn a_process_receives_its_own_signals_once(buses: Buses) {
    connect(&buses).await;
    let (mut own, mut others) = (sent(&buses.0), sent(&buses.1));
    buses.0.publish(typing(None));
    assert_eq!(next(&mut own).await, typing(None));
    assert_eq!(next(&mut others).await, typing(None));
    assert!(timeout(SETTLE_TIME, own.next()).await.is_err());
    assert!(timeout(SETTLE_TIME, others.next()).await.is_err());
}

/// Heads may be left out if a higher one of the same tenant follows, which MUST arrive.
pub async fn the_newest_of_many_heads_arrives(buses: Buses) {
    const HEADS: i64 = 10_000;
    connect(&buses).await;
    let mut received = sent(&buses.1);
    for head in 1..=HEADS {
        buses.0.publish(log_appended("default", head));
    }
    let mut seen = HashSet::new();
    while !seen.contains(&HEADS) {
        if let Signal::LogAppended { head, .. } = next(&mut received).await {
            assert!(seen.insert(head.0), "{head:?} arrived twice");
        }
    }
}

/// After it has connected, a process MUST be told that it may have missed signals.
pub async fn a_new_process_is_told_that_it_missed_signals(buses: Buses) {
    let mut lost = buses
        .1
        .subscribe(Box::new(|signal| *signal == Signal::SignalsLost));
    assert_eq!(next(&mut lost).await, Signal::SignalsLost);
}
