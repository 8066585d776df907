//! Leaves an engine alone for a while that is known to be down.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// Attempts are judged over so many seconds.
const WINDOW_SECONDS: usize = 30;
/// With fewer attempts nothing is judged.
const LEAST_ATTEMPTS: u32 = 20;
/// How long an engine is left alone before it is probed.
const PAUSE: Duration = Duration::from_secs(10);

/// A circuit breaker: open while an engine is known to be down.
pub(crate) struct Breaker {
    engine: String,
    began: Instant,
    state: Mutex<State>,
}

enum State {
    /// Everybody may ask.
    Closed(Box<Window>),
    /// Nobody may ask before this.
    Open(Instant),
    /// One asks, and the others wait for what it finds, but no longer than until this: it may be
    /// one that has much patience.
    Probing(Instant),
}

/// The attempts of the last seconds.
#[derive(Default)]
struct Window([Second; WINDOW_SECONDS]);

/// The attempts of one second.
#[derive(Default, Clone, Copy)]
struct Second {
    number: u64,
    attempts: u32,
    failures: u32,
}

/// Leave to ask an engine. Dropped unsaid, it tells nothing of the engine.
pub(crate) struct Attempt {
    breaker: Arc<Breaker>,
    is_probe: bool,
    has_begun: bool,
}

impl Breaker {
    /// A closed one.
    pub(crate) fn new(engine: String) -> Arc<Self> {
        let breaker = Self {
            engine,
            began: Instant::now(),
            state: Mutex::new(State::Closed(Box::default())),
        };
        breaker.show(false);
        Arc::new(breaker)
    }

    /// Leave to ask, or after what time to come again.
    pub(crate) fn enter(self: &Arc<Self>) -> Result<Attempt, Duration> {
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
        Ok(Attempt {
            breaker: Arc::clone(self),
            is_probe,
            has_begun: false,
        })
    }

    /// Whether the engine is left alone, or has not shown yet that it works again.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(*self.state(), State::Closed(_))
    }

    fn close(&self) {
        let mut state = self.state();
        // Of two probes the later to be heard of says nothing new.
        if matches!(*state, State::Closed(_)) {
            return;
        }
        *state = State::Closed(Box::default());
        self.show(false);
        tracing::info!(engine = self.engine, "the engine works again");
    }

    fn open(&self, state: &mut State) {
        *state = State::Open(Instant::now() + PAUSE);
        self.show(true);
        tracing::warn!(engine = self.engine, "the engine is down, and left alone");
    }

    /// Counts an attempt.
    fn count(&self, has_failed: bool) {
        let second = self.began.elapsed().as_secs();
        let mut state = self.state();
        // What was begun before it opened says nothing new.
        if let State::Closed(window) = &mut *state
            && window.count(second, has_failed)
        {
            self.open(&mut state);
        }
    }

    fn show(&self, is_open: bool) {
        let gauge = metrics::gauge!("engine_breaker_open", "engine" => self.engine.clone());
        gauge.set(f64::from(u8::from(is_open)));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Window {
    /// Counts an attempt; answers whether too many have failed.
    fn count(&mut self, number: u64, has_failed: bool) -> bool {
        let seconds = self.0.len() as u64;
        let place = usize::try_from(number % seconds).unwrap_or_default();
        let second = &mut self.0[place];
        if second.number != number {
            *second = Second {
                number,
                ..Second::default()
            };
        }
        second.attempts += 1;
        second.failures += u32::from(has_failed);
        if !has_failed {
            return false;
        }
        let recent = self
            .0
            .iter()
            .filter(|it| number.saturating_sub(it.number) < seconds);
        let (attempts, failures) = recent.fold((0, 0), |(attempts, failures), it| {
            (attempts + it.attempts, failures + it.failures)
        });
        attempts >= LEAST_ATTEMPTS && 2 * failures >= attempts
    }
}

impl Attempt {
    /// The engine has begun to answer: nobody need wait for the end of a probe.
    pub(crate) fn begin(&mut self) {
        self.has_begun = true;
        if std::mem::take(&mut self.is_probe) {
            self.breaker.close();
        }
    }

    /// Whether the engine has begun to answer.
    pub(crate) const fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// The engine works.
    pub(crate) fn succeeded(mut self) {
        self.begin();
        self.breaker.count(false);
    }

    /// The engine does not work.
    pub(crate) fn failed(mut self) {
        if std::mem::take(&mut self.is_probe) {
            let mut state = self.breaker.state();
            if matches!(*state, State::Probing(_)) {
                return self.breaker.open(&mut state);
            }
        }
        // Of a probe that took long, another has found out since.
        self.breaker.count(true);
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let mut state = self.breaker.state();
        if self.is_probe && matches!(*state, State::Probing(_)) {
            // It was not found out: the next one probes.
            *state = State::Open(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests;
