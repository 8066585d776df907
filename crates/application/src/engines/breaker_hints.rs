//! The exchange of open circuit breakers between nodes.

use std::{collections::HashSet, sync::Arc, time::Duration};

use futures::StreamExt as _;
use ports::{BreakerName, EventBus, Signal};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::Engines;
use crate::background::round;

/// The interval at which open breakers are looked for.
const INTERVAL: Duration = Duration::from_secs(1);

/// Reports open circuit breakers to other nodes, and lowers the thresholds of this node's breakers
/// when those of other nodes have opened. It never opens one: the engine may be reachable from here.
pub struct BreakerHints {
    bus: Arc<dyn EventBus>,
    engines: Arc<Engines>,
    /// The open breakers that were reported.
    reported: HashSet<BreakerName>,
}

impl BreakerHints {
    /// Creates the exchange of the breakers of `engines`.
    pub fn new(bus: Arc<dyn EventBus>, engines: Arc<Engines>) -> Self {
        Self {
            bus,
            engines,
            reported: HashSet::new(),
        }
    }

    /// Exchanges hints until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        let exchanging = async { while round(self.exchange()).await.is_none() {} };
        stop.run_until_cancelled(exchanging).await;
    }

    async fn exchange(&mut self) {
        let is_hint = |signal: &Signal| matches!(signal, Signal::BreakerOpened(_));
        let mut hints = self.bus.subscribe(Box::new(is_hint));
        let mut ticks = interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                hint = hints.next() => match hint {
                    Some(Signal::BreakerOpened(name)) => self.engines.suspect(name),
                    Some(_) => {}
                    None => return,
                },
                _ = ticks.tick() => self.report_open(),
            }
        }
    }

    fn report_open(&mut self) {
        let open: HashSet<_> = self.engines.open_breakers().collect();
        for name in open.difference(&self.reported) {
            self.bus.publish(Signal::BreakerOpened(name.clone()));
        }
        self.reported = open;
    }
}
