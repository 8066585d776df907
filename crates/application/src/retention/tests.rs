use async_trait::async_trait;
use domain::{Seq, TenantId};
use parking_lot::Mutex;
use ports::{FollowerPosition, FollowerStep, LoggedEvent, RetentionCutoffs};

use super::*;

/// A store with a number of expired events; it records the calls.
#[derive(Default)]
struct Log {
    expired: Mutex<u64>,
    calls: Mutex<Vec<(Timestamp, usize)>>,
    is_unavailable: Mutex<bool>,
}

#[async_trait]
impl Maintenance for Log {
    async fn ping(&self) -> Result<(), RepositoryError> {
        Ok(())
    }

    async fn now(&self) -> Result<Timestamp, RepositoryError> {
        Ok(Timestamp::from_milliseconds(1_000_000))
    }

    async fn purge(&self, _: usize, _: RetentionCutoffs) -> Result<u64, RepositoryError> {
        Ok(0)
    }

    async fn compact(&self) -> Result<(), RepositoryError> {
        Ok(())
    }

    async fn trim_log(&self, before: Timestamp, limit: usize) -> Result<u64, RepositoryError> {
        self.calls.lock().push((before, limit));
        if *self.is_unavailable.lock() {
            return Err(RepositoryError::Unavailable("unavailable".into()));
        }
        let mut expired = self.expired.lock();
        let removed = (*expired).min(limit as u64);
        *expired -= removed;
        Ok(removed)
    }
}

/// A follower at a position.
struct At(Seq);

#[async_trait]
impl FollowerWork for At {
    fn name(&self) -> &'static str {
        "test"
    }

    async fn positions(&self) -> Result<Vec<(TenantId, FollowerPosition)>, RepositoryError> {
        Ok(vec![(tenant(), FollowerPosition::at(self.0))])
    }

    async fn begin(
        &self,
        _: &TenantId,
        _: Option<FollowerPosition>,
        _: Seq,
    ) -> Result<Option<FollowerPosition>, RepositoryError> {
        Ok(None)
    }

    async fn apply(&self, _: &FollowerStep, _: &[LoggedEvent]) -> Result<bool, RepositoryError> {
        Ok(false)
    }
}

fn tenant() -> TenantId {
    "default".parse().unwrap()
}

fn head(seq: i64) -> Arc<[LogHead]> {
    let (tenant, head) = (tenant(), Seq(seq));
    Arc::new([LogHead { tenant, head }])
}

fn retention(log: &Arc<Log>) -> LogRetention {
    let log = Arc::clone(log);
    let heads = watch::Sender::new(head(7)).subscribe();
    LogRetention::new(log, Duration::from_mins(10), Arc::new(At(Seq(7))), heads)
}

#[tokio::test]
async fn keeps_events_for_a_day_that_a_follower_has_not_read_within_a_round() {
    let log = Arc::new(Log::default());
    let heads = watch::Sender::new(head(8));
    let follower = Arc::new(At(Seq(7)));
    let retention_time = Duration::from_mins(10);
    let retention = LogRetention::new(log.clone(), retention_time, follower, heads.subscribe());
    let stop = CancellationToken::new();
    for _ in 0..2 {
        retention.trim(&stop).await.unwrap();
    }
    let day_before = Timestamp::from_milliseconds(400_000 - 24 * 3_600_000);
    assert_eq!(*log.calls.lock(), [(day_before, CHUNK); 2]);
}

#[tokio::test]
async fn removes_all_expired_events_in_chunks() {
    let log = Arc::new(Log::default());
    *log.expired.lock() = 2 * CHUNK as u64 + 7;
    let stop = CancellationToken::new();
    let retention = retention(&log);
    assert_eq!(retention.trim(&stop).await.unwrap(), 1_007);
    // In the first round, a follower may be behind.
    log.calls.lock().clear();
    *log.expired.lock() = CHUNK as u64 + 7;
    assert_eq!(retention.trim(&stop).await.unwrap(), 507);
    let before = Timestamp::from_milliseconds(400_000);
    assert_eq!(*log.calls.lock(), [(before, CHUNK); 2]);
}

#[tokio::test(start_paused = true)]
async fn sweeps_every_minute_until_stopped_despite_errors() {
    let log = Arc::new(Log::default());
    let stop = CancellationToken::new();
    let times = async {
        let mut times = Vec::new();
        for is_unavailable in [true, false, false] {
            *log.is_unavailable.lock() = is_unavailable;
            sleep(Duration::from_secs(59)).await;
            times.push(log.calls.lock().len());
            sleep(Duration::from_secs(1)).await;
        }
        stop.cancel();
        times
    };
    let ((), times) = tokio::join!(retention(&log).run(stop.clone()), times);
    assert_eq!(times, [1, 2, 3]);
}
