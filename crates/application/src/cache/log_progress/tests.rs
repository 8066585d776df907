use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use parking_lot::Mutex;
use ports::SignalFilter;

use super::*;

/// An event bus that records the published signals.
#[derive(Default)]
struct Published(Mutex<Vec<Signal>>);

impl EventBus for Published {
    fn publish(&self, signal: Signal) {
        self.0.lock().push(signal);
    }

    fn subscribe(&self, _: SignalFilter) -> BoxStream<'static, Signal> {
        stream::empty().boxed()
    }
}

fn log() -> (LogProgress, Arc<Published>) {
    let published = Arc::new(Published::default());
    let bus = Arc::clone(&published);
    (LogProgress::new(bus), published)
}

fn committed(first: i64, last: i64) -> Committed {
    Committed {
        first: Seq(first),
        last: Seq(last),
    }
}

#[test]
fn own_writes_advance_the_position_up_to_the_first_gap() {
    let (log, _) = log();
    let tenant: TenantId = "default".parse().unwrap();
    assert!(log.follow(&tenant, Seq(3)));
    assert!(!log.follow(&tenant, Seq(2)));
    log.record_write(&tenant, committed(4, 6));
    log.record_write(&tenant, committed(9, 9));
    assert_eq!(log.position(&tenant), Some(Seq(6)));
    assert_eq!(log.newest(&tenant), Some(Seq(9)));
    log.advance(&tenant, Seq(8));
    assert_eq!(log.position(&tenant), Some(Seq(9)));
}

#[test]
fn a_tenant_is_followed_from_the_first_write_on() {
    let (log, _) = log();
    let tenant: TenantId = "default".parse().unwrap();
    assert_eq!(log.position(&tenant), None);
    log.record_write(&tenant, committed(2, 3));
    assert_eq!(log.position(&tenant), Some(Seq(3)));
    assert!(log.follow(&tenant, Seq(1)));
    // A write that is recorded late must not hide changes of others in between.
    log.record_write(&tenant, committed(6, 6));
    assert_eq!(log.position(&tenant), Some(Seq(3)));
    log.record_write(&tenant, committed(1, 1));
    assert_eq!(log.position(&tenant), Some(Seq(1)));
    let other: TenantId = "other".parse().unwrap();
    log.announce(&other, committed(5, 6));
    assert_eq!(
        log.position(&other),
        Some(Seq(4)),
        "the write is not applied"
    );
}

#[test]
fn own_writes_are_published_even_before_a_gap() {
    let (log, published) = log();
    let tenant: TenantId = "default".parse().unwrap();
    log.record_write(&tenant, committed(1, 3));
    log.follow(&tenant, Seq(3));
    log.record_write(&tenant, committed(9, 10));
    log.advance(&tenant, Seq(8));
    let heads = [3, 10].map(|head| Signal::LogAppended {
        tenant: tenant.clone(),
        head: Seq(head),
    });
    assert_eq!(*published.0.lock(), heads);
}

#[test]
fn is_trusted_only_shortly_after_the_log_was_read() {
    let (log, _) = log();
    assert!(!log.is_trusted(Duration::ZERO));
    log.confirm(Duration::from_secs(1));
    assert!(log.is_trusted(Duration::from_millis(5_999)));
    assert!(!log.is_trusted(Duration::from_secs(6)));
}

#[test]
fn a_position_that_was_learned_is_known_but_not_applied() {
    let (log, _) = log();
    let tenant: TenantId = "default".parse().unwrap();
    log.record_write(&tenant, committed(2, 3));
    log.learn(&tenant, Seq(7));
    assert_eq!(log.newest(&tenant), Some(Seq(7)));
    assert_eq!(log.position(&tenant), Some(Seq(3)));
    // A restart before the followed range keeps it.
    log.record_write(&tenant, committed(1, 1));
    assert_eq!(log.newest(&tenant), Some(Seq(7)));
    log.learn(&tenant, Seq(5));
    assert_eq!(log.newest(&tenant), Some(Seq(7)));
}

#[tokio::test]
async fn a_reader_waits_until_a_position_is_applied() {
    let (log, _) = log();
    let tenant: TenantId = "default".parse().unwrap();
    log.follow(&tenant, Seq(3));
    let mut reached = Box::pin(log.reaches(&tenant, Seq(5)));
    assert!(futures::poll!(&mut reached).is_pending());
    log.record_write(&tenant, committed(4, 4));
    assert!(futures::poll!(&mut reached).is_pending());
    log.advance(&tenant, Seq(6));
    assert!(futures::poll!(&mut reached).is_ready());
    assert!(futures::poll!(Box::pin(log.reaches(&tenant, Seq(6)))).is_ready());
}
