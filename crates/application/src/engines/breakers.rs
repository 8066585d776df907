//! The circuit breakers of an engine: for each model, one that all tenants share and one for each
//! tenant.

use std::{convert::Infallible, sync::Arc, time::Duration};

use domain::TenantId;
use quick_cache::sync::Cache;

use super::breaker::{Breaker, BreakerPermit, OpenGauge};

/// The maximum number of breakers of an engine, apart from the one of its own model. The least used
/// ones are evicted.
const MOST_BREAKERS: usize = 1024;

/// The circuit breakers of an engine.
pub(crate) struct Breakers {
    gauge: Arc<OpenGauge>,
    /// The shared breaker of the model that the operator configured.
    usual: Arc<Breaker>,
    others: Cache<Key, Arc<Breaker>>,
}

/// A model that agents name, or the operator's (`None`); and a tenant, or all tenants (`None`).
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    model: Option<String>,
    tenant: Option<TenantId>,
}

/// The breakers that an attempt has to pass.
#[derive(Clone)]
pub(crate) struct BreakerPair {
    tenant_id: TenantId,
    shared: Arc<Breaker>,
    /// The breaker of the tenant. It opens on the tenant's own time-outs, which the shared breaker
    /// does not count alone. Engines that reply from the request alone have none: their time-outs
    /// are caused by the agent.
    own: Option<Arc<Breaker>>,
}

/// A permit to call an engine. If it is dropped without a result, it is not counted.
pub(crate) struct AttemptPermit {
    tenant_id: TenantId,
    shared: BreakerPermit,
    own: Option<BreakerPermit>,
    has_begun: bool,
}

impl Breakers {
    /// Creates breakers that are all closed.
    pub(crate) fn new(engine: String) -> Self {
        let gauge = OpenGauge::new(engine);
        Self {
            usual: Breaker::new(Arc::clone(&gauge)),
            gauge,
            others: Cache::new(MOST_BREAKERS),
        }
    }

    /// Returns whether the engine, with the operator's model, has an open breaker for the tenant.
    pub(crate) fn is_open(&self, tenant: &TenantId) -> bool {
        let key = Key {
            model: None,
            tenant: Some(tenant.clone()),
        };
        self.usual.is_open() || self.others.get(&key).is_some_and(|it| it.is_open())
    }

    /// Returns the breakers for a tenant's attempt with `model`, or with the operator's model.
    pub(crate) fn of(
        &self,
        tenant: &TenantId,
        model: Option<&str>,
        is_immediate: bool,
    ) -> BreakerPair {
        let key = |tenant| Key {
            model: model.map(str::to_owned),
            tenant,
        };
        BreakerPair {
            tenant_id: tenant.clone(),
            shared: match model {
                Some(_) => self.other(&key(None)),
                None => Arc::clone(&self.usual),
            },
            own: (!is_immediate).then(|| self.other(&key(Some(tenant.clone())))),
        }
    }

    fn other(&self, key: &Key) -> Arc<Breaker> {
        let new = || Ok::<_, Infallible>(Breaker::new(Arc::clone(&self.gauge)));
        let Ok(breaker) = self.others.get_or_insert_with(key, new);
        breaker
    }
}

impl BreakerPair {
    /// Returns a permit to call the engine, or the time after which to try again.
    pub(crate) fn enter(&self) -> Result<AttemptPermit, Duration> {
        let own = self.own.as_ref().map(Breaker::enter).transpose()?;
        Ok(AttemptPermit {
            tenant_id: self.tenant_id.clone(),
            shared: self.shared.enter()?,
            own,
            has_begun: false,
        })
    }

    #[cfg(test)]
    pub(crate) fn is_open(&self) -> bool {
        self.shared.is_open() || self.own.as_ref().is_some_and(|own| own.is_open())
    }
}

impl AttemptPermit {
    /// Records that the engine has begun to reply.
    pub(crate) fn begin(&mut self) {
        self.has_begun = true;
        self.shared.begin();
        if let Some(own) = &mut self.own {
            own.begin();
        }
    }

    /// Returns whether the engine has begun to reply.
    pub(crate) const fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Records a success of the engine.
    pub(crate) fn succeeded(self) {
        self.shared.succeeded();
        if let Some(own) = self.own {
            own.succeeded();
        }
    }

    /// Records a failure of the engine.
    pub(crate) fn failed(self) {
        self.shared.failed();
        if let Some(own) = self.own {
            own.failed();
        }
    }

    /// Records that the engine did not reply within the agent's time limit.
    pub(crate) fn timed_out(self) {
        if let Some(own) = self.own {
            own.failed();
            self.shared.timed_out(&self.tenant_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> TenantId {
        name.parse().unwrap()
    }

    fn time_out(pair: &BreakerPair, times: u32) {
        for _ in 0..times {
            if let Ok(leave) = pair.enter() {
                leave.timed_out();
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn timeouts_of_one_tenant_open_the_breaker_for_that_tenant_alone() {
        let breakers = Breakers::new("llm".to_owned());
        let hostile = breakers.of(&tenant("hostile"), None, false);
        let other = breakers.of(&tenant("other"), None, false);
        time_out(&hostile, 100);
        assert!(hostile.enter().is_err() && breakers.is_open(&tenant("hostile")));
        assert!(other.enter().is_ok() && !breakers.is_open(&tenant("other")));
    }

    #[tokio::test(start_paused = true)]
    async fn timeouts_of_two_tenants_open_it_for_all() {
        let breakers = Breakers::new("llm".to_owned());
        for name in ["a", "b"] {
            time_out(&breakers.of(&tenant(name), None, false), 10);
        }
        assert!(breakers.of(&tenant("c"), None, false).enter().is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn failures_of_the_connection_open_it_for_all_but_for_the_model_alone() {
        let breakers = Breakers::new("llm".to_owned());
        let model = breakers.of(&tenant("a"), Some("large"), false);
        for _ in 0..20 {
            model.enter().ok().unwrap().failed();
        }
        let of = |model| breakers.of(&tenant("b"), model, false).enter();
        assert!(of(Some("large")).is_err());
        assert!(of(Some("small")).is_ok() && of(None).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn timeouts_of_an_engine_that_answers_at_once_count_for_nothing() {
        let breakers = Breakers::new("rules".to_owned());
        for name in ["a", "b"] {
            let pair = breakers.of(&tenant(name), None, true);
            time_out(&pair, 100);
            assert!(pair.enter().is_ok());
        }
    }

    #[test]
    fn keeps_a_bounded_number_of_breakers() {
        let breakers = Breakers::new("llm".to_owned());
        for number in 0..3_000 {
            breakers.of(&tenant("a"), Some(&number.to_string()), false);
        }
        assert!(breakers.others.len() <= MOST_BREAKERS);
    }
}
