//! The circuit breakers of an engine: for each model, one that all tenants share and, if time-outs
//! are counted, one for each tenant.

use std::{convert::Infallible, sync::Arc, time::Duration};

use domain::TenantId;
use quick_cache::sync::Cache;

use super::breaker::{Breaker, BreakerPermit, OpenGauge};

/// The maximum number of breakers of an engine, apart from the shared one of the operator's model.
/// The least used ones are evicted.
const MAX_BREAKERS: usize = 1024;

/// The circuit breakers of an engine.
pub(crate) struct EngineBreakers {
    gauge: Arc<OpenGauge>,
    /// The shared breaker of the model that the operator configured.
    default_model: Arc<Breaker>,
    by_key: Cache<Key, Arc<Breaker>>,
}

/// A model that agents name, or the operator's (`None`); and a tenant, or all tenants (`None`).
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    model: Option<String>,
    tenant: Option<TenantId>,
}

/// The treatment of an engine's time-outs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timeouts {
    /// A time-out counts as a failure for its tenant, and for the others once a second tenant has
    /// one.
    Counted,
    /// A time-out is ignored: an immediate engine exceeds its time only because of the agent's
    /// configuration.
    Ignored,
}

impl Timeouts {
    /// Returns the treatment for an engine that replies from the request alone, or not.
    pub(crate) const fn of(is_immediate: bool) -> Self {
        if is_immediate {
            Self::Ignored
        } else {
            Self::Counted
        }
    }
}

/// The breakers that an attempt has to pass.
#[derive(Clone)]
pub(crate) struct AttemptBreakers {
    tenant_id: TenantId,
    shared: Arc<Breaker>,
    timeouts: Timeouts,
    /// The breaker of the tenant, which opens on time-outs of this tenant alone. `None` if time-outs
    /// are ignored: it would only repeat the shared breaker.
    own: Option<Arc<Breaker>>,
}

/// A permit to call an engine. If it is dropped without a result, it is not counted.
pub(crate) struct AttemptPermit {
    tenant_id: TenantId,
    shared: BreakerPermit,
    timeouts: Timeouts,
    own: Option<BreakerPermit>,
    has_begun: bool,
}

impl EngineBreakers {
    /// Creates breakers that are all closed.
    pub(crate) fn new(engine: String) -> Self {
        let gauge = OpenGauge::new(engine);
        Self {
            default_model: Breaker::new(Arc::clone(&gauge)),
            gauge,
            by_key: Cache::new(MAX_BREAKERS),
        }
    }

    /// Returns whether the engine, with the operator's model, has an open breaker for the tenant.
    pub(crate) fn is_open(&self, tenant: &TenantId) -> bool {
        let key = Key {
            model: None,
            tenant: Some(tenant.clone()),
        };
        self.default_model.is_open() || self.by_key.get(&key).is_some_and(|it| it.is_open())
    }

    /// Returns the model and the tenant of every open breaker.
    pub(crate) fn open(&self) -> Vec<(Option<String>, Option<TenantId>)> {
        let default = self.default_model.is_open().then_some((None, None));
        let open = self.by_key.iter().filter(|(_, breaker)| breaker.is_open());
        let others = open.map(|(key, _)| (key.model, key.tenant));
        default.into_iter().chain(others).collect()
    }

    /// Lowers the threshold of a breaker for ten seconds, because it has opened on another node.
    pub(crate) fn suspect(&self, model: Option<String>, tenant: Option<TenantId>) {
        let key = Key { model, tenant };
        if key.model.is_none() && key.tenant.is_none() {
            self.default_model.suspect();
        } else {
            self.find_or_create(&key).suspect();
        }
    }

    /// Returns the breakers for a tenant's attempt with `model`, or with the operator's model.
    pub(crate) fn of(
        &self,
        tenant: &TenantId,
        model: Option<&str>,
        timeouts: Timeouts,
    ) -> AttemptBreakers {
        let key = |tenant| Key {
            model: model.map(str::to_owned),
            tenant,
        };
        AttemptBreakers {
            tenant_id: tenant.clone(),
            shared: match model {
                Some(_) => self.find_or_create(&key(None)),
                None => Arc::clone(&self.default_model),
            },
            timeouts,
            own: match timeouts {
                Timeouts::Counted => Some(self.find_or_create(&key(Some(tenant.clone())))),
                Timeouts::Ignored => None,
            },
        }
    }

    fn find_or_create(&self, key: &Key) -> Arc<Breaker> {
        let new = || Ok::<_, Infallible>(Breaker::new(Arc::clone(&self.gauge)));
        let Ok(breaker) = self.by_key.get_or_insert_with(key, new);
        breaker
    }
}

impl AttemptBreakers {
    /// Returns a permit to call the engine, or the time after which to try again.
    pub(crate) fn enter(&self) -> Result<AttemptPermit, Duration> {
        let own = self.own.as_ref().map(Breaker::enter).transpose()?;
        Ok(AttemptPermit {
            tenant_id: self.tenant_id.clone(),
            shared: self.shared.enter()?,
            timeouts: self.timeouts,
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

    /// Records that the engine did not reply within the agent's time limit, if time-outs are
    /// counted.
    pub(crate) fn timed_out(self) {
        if self.timeouts == Timeouts::Ignored {
            return;
        }
        if let Some(own) = self.own {
            own.failed();
        }
        self.shared.timed_out(&self.tenant_id);
    }
}

#[cfg(test)]
mod tests;
