use async_trait::async_trait;
use parking_lot::Mutex;
use ports::RetentionCutoffs;

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

fn retention(log: &Arc<Log>) -> LogRetention {
    let log = Arc::clone(log);
    LogRetention::new(log, Duration::from_mins(10))
}

#[tokio::test]
async fn removes_all_expired_events_in_chunks() {
    let log = Arc::new(Log::default());
    *log.expired.lock() = 2 * CHUNK as u64 + 7;
    let stop = CancellationToken::new();
    assert_eq!(retention(&log).trim(&stop).await.unwrap(), 1_007);
    let before = Timestamp::from_milliseconds(400_000);
    assert_eq!(*log.calls.lock(), [(before, CHUNK); 3]);
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
