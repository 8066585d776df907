//! A circuit breaker that stops calls to a failing engine for a while.

mod window;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use domain::TenantId;
use parking_lot::Mutex;
use tokio::time::Instant;
use window::{Outcome, Window};

/// The time for which the breaker stays open before the engine is probed.
const PAUSE: Duration = Duration::from_secs(10);

/// A circuit breaker. It opens when at least half of the recent attempts have failed.
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
        let mut state = self.state.lock();
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
        !matches!(*self.state.lock(), State::Closed(_))
    }

    /// Lowers the threshold for ten seconds, because the same breaker has opened on another node. A
    /// success on this node keeps the breaker closed.
    pub(crate) fn suspect(&self) {
        let second = self.began.elapsed().as_secs();
        if let State::Closed(window) = &mut *self.state.lock() {
            window.suspect(second);
        }
    }

    fn close(&self) {
        let mut state = self.state.lock();
        // Another probe has closed the breaker already.
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
        let mut state = self.state.lock();
        // Ignores the result of an attempt that started before the breaker opened.
        if let State::Closed(window) = &mut *state
            && window.count(second, outcome)
        {
            self.open(&mut state);
        }
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
        gauge.set(0);
        Arc::new(gauge)
    }

    fn opened(&self) {
        self.set(self.open.fetch_add(1, Ordering::SeqCst) + 1);
    }

    fn closed(&self) {
        self.set(self.open.fetch_sub(1, Ordering::SeqCst) - 1);
    }

    fn set(&self, open: usize) {
        let gauge = metrics::gauge!("engine_breaker_open", "engine" => self.engine.clone());
        gauge.set(f64::from(u8::from(open > 0)));
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
            let mut state = self.breaker.state.lock();
            if matches!(*state, State::Probing(_)) {
                return self.breaker.open(&mut state);
            }
        }
        // Not a probe, or another probe has already closed the breaker.
        self.breaker.count(Outcome::Failure);
    }

    /// Records a time-out of the engine. Time-outs of a single tenant do not open the breaker.
    pub(crate) fn timed_out(self, tenant: &TenantId) {
        // A single tenant can cause time-outs at will, so a probe that times out is dropped without
        // a result: the next attempt probes.
        if !self.is_probe {
            self.breaker.count(Outcome::TimeoutOf(tenant));
        }
    }
}

impl Drop for BreakerPermit {
    fn drop(&mut self) {
        let mut state = self.breaker.state.lock();
        if self.is_probe && matches!(*state, State::Probing(_)) {
            // A probe without a result: the next attempt probes at once.
            *state = State::Open(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests;
