//! The count of recent attempts, which decides when a circuit breaker opens.

use domain::TenantId;

/// The number of seconds over which attempts are counted.
const WINDOW_SECONDS: usize = 30;
/// The minimum number of attempts in the window before the breaker can open.
const MIN_ATTEMPTS: u32 = 20;

/// The number of seconds for which the breaker of another node counts as a reason for suspicion.
const SUSPICION_SECONDS: u64 = 10;

/// The attempts of the last [`WINDOW_SECONDS`].
#[derive(Default)]
pub(super) struct Window {
    /// The second until which a single failure can open the breaker.
    suspected_until: u64,
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
pub(super) enum Outcome<'a> {
    Success,
    Failure,
    /// A time-out of a tenant's attempt. It counts as a failure only if another tenant's attempt
    /// has timed out as well.
    TimeoutOf(&'a TenantId),
}

impl Window {
    /// Counts an attempt and returns whether too many attempts have failed.
    pub(super) fn count(&mut self, number: u64, outcome: Outcome<'_>) -> bool {
        let seconds = self.seconds.len() as u64;
        let index = usize::try_from(number % seconds).unwrap_or_default();
        let second = &mut self.seconds[index];
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
                self.record_timeout(tenant, number);
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
        let is_suspected = number < self.suspected_until;
        let min_attempts = if is_suspected { 1 } else { MIN_ATTEMPTS };
        attempts >= min_attempts && 2 * failures >= attempts
    }

    /// Lowers the number of failures that open the breaker, for some seconds.
    pub(super) fn suspect(&mut self, number: u64) {
        self.suspected_until = number + SUSPICION_SECONDS;
    }

    /// Records that a tenant had a time-out, in place of the same tenant or the older entry.
    fn record_timeout(&mut self, tenant: &TenantId, number: u64) {
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
