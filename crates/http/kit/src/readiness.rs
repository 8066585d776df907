//! The readiness of this process.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use domain::ProblemCode;
use ports::Maintenance;
use tokio::sync::Mutex;
use writes::Writes;

/// The time in which the store must respond.
const PING_TIMEOUT: Duration = Duration::from_secs(1);
/// The time for which a result is cached.
const CACHE_TIME: Duration = Duration::from_secs(1);

/// A connection that the process uses beside the store.
#[derive(Clone)]
pub struct Check {
    name: &'static str,
    is_connected: Arc<dyn Fn() -> bool + Send + Sync>,
    /// The problem without the connection; `None` if the process works without it.
    problem: Option<ProblemCode>,
    /// True if the process works without its store while the check holds.
    replaces_store: bool,
}

impl Check {
    /// Creates a check, not required, that holds while `is_connected` returns true.
    pub fn new(
        name: &'static str,
        is_connected: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            is_connected: Arc::new(is_connected),
            problem: None,
            replaces_store: false,
        }
    }

    /// Makes the process ready without its store while the check holds.
    #[must_use]
    pub fn replacing_store(self) -> Self {
        Self {
            replaces_store: true,
            ..self
        }
    }

    /// Makes the process not ready, with `problem`, while the check does not hold.
    #[must_use]
    pub fn required(self, problem: ProblemCode) -> Self {
        let problem = Some(problem);
        Self { problem, ..self }
    }
}

/// The reason why a process is not ready.
#[derive(Debug)]
pub struct NotReady {
    /// The problem.
    pub code: ProblemCode,
    /// The names of the connections that are unavailable.
    pub unavailable: Vec<&'static str>,
}

/// The readiness of this process.
pub struct Readiness {
    store: Arc<dyn Maintenance>,
    writes: Writes,
    checks: Vec<Check>,
    draining: AtomicBool,
    last: Mutex<Option<(Instant, bool)>>,
}

impl Readiness {
    /// Creates the readiness of a process with this store, and with checks of other connections.
    pub fn new(store: Arc<dyn Maintenance>, writes: Writes, checks: Vec<Check>) -> Self {
        Self {
            store,
            writes,
            checks,
            draining: AtomicBool::new(false),
            last: Mutex::new(None),
        }
    }

    /// Makes the process reject new work.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Release);
    }

    /// Returns true if the process rejects new work.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// Returns the names of the connections beside the store, each with true if it exists.
    pub fn connections(&self) -> impl Iterator<Item = (&'static str, bool)> {
        let checks = self.checks.iter();
        checks.map(|check| (check.name, (check.is_connected)()))
    }

    /// Checks the store, or uses a recent result. Returns true if the store responds.
    pub async fn check(&self) -> Result<bool, NotReady> {
        let not_ready = |code, unavailable| Err(NotReady { code, unavailable });
        if self.is_draining() {
            return not_ready(ProblemCode::Draining, Vec::new());
        }
        let failed = self.checks.iter().filter(|it| !(it.is_connected)());
        let failed: Vec<_> = failed.collect();
        if let Some(problem) = failed.iter().find_map(|check| check.problem) {
            return not_ready(problem, failed.iter().map(|check| check.name).collect());
        }
        let mut last = self.last.lock().await;
        let alive = match *last {
            Some((at, alive)) if at.elapsed() < CACHE_TIME => alive,
            _ => {
                let response = tokio::time::timeout(PING_TIMEOUT, self.store.ping()).await;
                let alive = self.writes.check().is_ok() && matches!(response, Ok(Ok(())));
                *last = Some((Instant::now(), alive));
                alive
            }
        };
        let mut substitutes = self.checks.iter().filter(|it| it.replaces_store);
        if alive || substitutes.any(|it| (it.is_connected)()) {
            Ok(alive)
        } else {
            not_ready(ProblemCode::StoreUnavailable, vec!["store"])
        }
    }
}
