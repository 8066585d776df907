//! A circuit breaker that stops calls to a failing engine for a while.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use domain::TenantId;
use tokio::time::Instant;

/// The number of seconds over which attempts are counted.
const WINDOW_SECONDS: usize = 30;
/// The minimum number of attempts in the window before the breaker can open.
const LEAST_ATTEMPTS: u32 = 20;
/// The time for which the breaker stays open before the engine is probed.
const PAUSE: Duration = Duration::from_secs(10);

/// A circuit breaker: open while its engine is known to be down.
pub(crate) struct Breaker {
    gauge: Arc<OpenGauge>,
    began: Instant,
    state: Mutex<State>,
}

enum State {
    /// Every attempt is permitted.
    Closed(Box<Window>),
    /// No attempt is permitted before this time.
    Open(Instant),
    /// One attempt probes the engine. The others wait for its result, but at most until this time,
    /// because the probe may have a long timeout.
    Probing(Instant),
}

/// The metric that shows whether any breaker of an engine is open.
pub(crate) struct OpenGauge {
    engine: String,
    open: AtomicUsize,
}

/// The attempts of the last [`WINDOW_SECONDS`].
#[derive(Default)]
struct Window {
    seconds: [Second; WINDOW_SECONDS],
    /// The last two tenants whose attempts timed out, with the second of the time-out.
    timed_out: [Option<(TenantId, u64)>; 2],
}

/// The attempts of one second.
#[derive(Default, Clone, Copy)]
struct Second {
    number: u64,
    /// The attempts without those that timed out.
    attempts: u32,
    failures: u32,
    timeouts: u32,
}

/// The outcome of an attempt, as a breaker counts it.
#[derive(Clone, Copy)]
enum Outcome<'a> {
    Success,
    Failure,
    /// A time-out of a tenant's attempt. It counts as a failure only if another tenant's attempt
    /// has timed out as well.
    TimeoutOf(&'a TenantId),
}

/// A permit to call an engine. If it is dropped without a result, it is not counted.
pub(crate) struct BreakerPermit {
    breaker: Arc<Breaker>,
    is_probe: bool,
}

impl Breaker {
    /// Creates a closed breaker.
    pub(crate) fn new(gauge: Arc<OpenGauge>) -> Arc<Self> {
        Arc::new(Self {
            gauge,
            began: Instant::now(),
            state: Mutex::new(State::Closed(Box::default())),
        })
    }

    /// Returns a permit to call the engine, or the time after which to try again.
    pub(crate) fn enter(self: &Arc<Self>) -> Result<BreakerPermit, Duration> {
        let mut state = self.state();
        let is_probe = match &*state {
            State::Closed(_) => false,
            State::Open(until) | State::Probing(until) => {
                let wait = until.saturating_duration_since(Instant::now());
                if !wait.is_zero() {
                    return Err(wait);
                }
                *state = State::Probing(Instant::now() + PAUSE);
                true
            }
        };
        Ok(BreakerPermit {
            breaker: Arc::clone(self),
            is_probe,
        })
    }

    /// Returns whether the breaker is open, or is probing and has not succeeded yet.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(*self.state(), State::Closed(_))
    }

    fn close(&self) {
        let mut state = self.state();
        // The second result of two probes changes nothing.
        if matches!(*state, State::Closed(_)) {
            return;
        }
        *state = State::Closed(Box::default());
        self.gauge.closed();
        tracing::info!(engine = self.gauge.engine, "circuit breaker closed");
    }

    fn open(&self, state: &mut State) {
        if matches!(*state, State::Closed(_)) {
            self.gauge.opened();
        }
        *state = State::Open(Instant::now() + PAUSE);
        tracing::warn!(engine = self.gauge.engine, "circuit breaker opened");
    }

    /// Counts an attempt.
    fn count(&self, outcome: Outcome<'_>) {
        let second = self.began.elapsed().as_secs();
        let mut state = self.state();
        // An attempt that began before the breaker opened changes nothing.
        if let State::Closed(window) = &mut *state
            && window.count(second, outcome)
        {
            self.open(&mut state);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Breaker {
    fn drop(&mut self) {
        if self.is_open() {
            self.gauge.closed();
        }
    }
}

impl OpenGauge {
    /// Creates the gauge of an engine that has no open breaker.
    pub(crate) fn new(engine: String) -> Arc<Self> {
        let gauge = Self {
            engine,
            open: AtomicUsize::new(0),
        };
        gauge.show(0);
        Arc::new(gauge)
    }

    fn opened(&self) {
        self.show(self.open.fetch_add(1, Ordering::SeqCst) + 1);
    }

    fn closed(&self) {
        self.show(self.open.fetch_sub(1, Ordering::SeqCst) - 1);
    }

    fn show(&self, open: usize) {
        let gauge = metrics::gauge!("engine_breaker_open", "engine" => self.engine.clone());
        gauge.set(f64::from(u8::from(open > 0)));
    }
}

impl Window {
    /// Counts an attempt and returns whether too many attempts have failed.
    fn count(&mut self, number: u64, outcome: Outcome<'_>) -> bool {
        let seconds = self.seconds.len() as u64;
        let place = usize::try_from(number % seconds).unwrap_or_default();
        let second = &mut self.seconds[place];
        if second.number != number {
            *second = Second {
                number,
                ..Second::default()
            };
        }
        match outcome {
            Outcome::Success => second.attempts += 1,
            Outcome::Failure => {
                second.attempts += 1;
                second.failures += 1;
            }
            Outcome::TimeoutOf(tenant) => {
                second.timeouts += 1;
                self.remember(tenant, number);
            }
        }
        if matches!(outcome, Outcome::Success) {
            return false;
        }
        let is_recent = |then: u64| number.saturating_sub(then) < seconds;
        let tenants = self.timed_out.iter().flatten();
        let timeouts_count = tenants.filter(|(_, then)| is_recent(*then)).count() > 1;
        let (mut attempts, mut failures) = (0, 0);
        for second in self.seconds.iter().filter(|it| is_recent(it.number)) {
            let timeouts = if timeouts_count { second.timeouts } else { 0 };
            attempts += second.attempts + timeouts;
            failures += second.failures + timeouts;
        }
        attempts >= LEAST_ATTEMPTS && 2 * failures >= attempts
    }

    fn remember(&mut self, tenant: &TenantId, number: u64) {
        let [first, second] = &mut self.timed_out;
        let is_of_tenant =
            |it: &Option<(TenantId, u64)>| it.as_ref().is_some_and(|(of, _)| of == tenant);
        let replaces_first = match (&*first, &*second) {
            (it, _) if is_of_tenant(it) => true,
            (_, it) if is_of_tenant(it) => false,
            (first, second) => {
                let when = |it: &Option<(TenantId, u64)>| it.as_ref().map(|(_, then)| *then);
                when(first) <= when(second)
            }
        };
        let replaced = if replaces_first { first } else { second };
        *replaced = Some((tenant.clone(), number));
    }
}

impl BreakerPermit {
    /// Records that the engine has begun to reply. This closes the breaker of a probe before the
    /// reply is complete.
    pub(crate) fn begin(&mut self) {
        if std::mem::take(&mut self.is_probe) {
            self.breaker.close();
        }
    }

    /// Records a success of the engine.
    pub(crate) fn succeeded(mut self) {
        self.begin();
        self.breaker.count(Outcome::Success);
    }

    /// Records a failure of the engine.
    pub(crate) fn failed(mut self) {
        if std::mem::take(&mut self.is_probe) {
            let mut state = self.breaker.state();
            if matches!(*state, State::Probing(_)) {
                return self.breaker.open(&mut state);
            }
        }
        // Another probe has decided before this slow one did.
        self.breaker.count(Outcome::Failure);
    }

    /// Records a time-out of the engine. Time-outs of a single tenant do not open the breaker.
    pub(crate) fn timed_out(self, tenant: &TenantId) {
        // A time-out that a single tenant can cause at will decides nothing: the next attempt
        // probes.
        if !self.is_probe {
            self.breaker.count(Outcome::TimeoutOf(tenant));
        }
    }
}

impl Drop for BreakerPermit {
    fn drop(&mut self) {
        let mut state = self.breaker.state();
        if self.is_probe && matches!(*state, State::Probing(_)) {
            // The probe has no result: the next attempt probes.
            *state = State::Open(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests;
