//! Two nodes on one store.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use dev_load::{Endpoint, runtime, service::Service};
use tokio::time::sleep;

use super::Bus;
use crate::environment::Environment;

/// The longest until a node receives signals after its start.
const CONNECTED: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(50);

/// Two nodes on a Postgres database of their own.
pub(crate) struct NodePair {
    /// The node that works.
    pub(crate) worker: Service,
    /// The other node, which mostly only listens.
    pub(crate) listener: Service,
}

impl NodePair {
    /// Starts both with these settings, and waits until they receive signals.
    pub(crate) fn start(
        environment: &Environment,
        bus: &Bus,
        name: &str,
        variables: &[(String, String)],
    ) -> Result<Self> {
        let database = format!("nodes_{name}_{}", bus.name());
        environment.server.create(&database)?;
        let mut settings = environment.on_database(&database);
        settings.variables.extend_from_slice(variables);
        settings.variables.extend(bus.variables());
        let pair = Self {
            worker: Service::start(settings.clone())?,
            listener: Service::start(settings)?,
        };
        for node in [&pair.worker, &pair.listener] {
            wait_for_signals(&node.endpoint()?)?;
        }
        Ok(pair)
    }

    /// Ends the listening node.
    pub(super) fn stop_listener(&mut self) {
        self.listener.kill();
    }

    /// Starts the listening node again, and waits until it receives signals.
    pub(super) fn restart_listener(&mut self) -> Result<()> {
        self.listener.restart()?;
        wait_for_signals(&self.listener.endpoint()?)
    }
}

fn wait_for_signals(endpoint: &Endpoint) -> Result<()> {
    let started = Instant::now();
    runtime()?.block_on(async {
        while endpoint.metric("bus_connected").await? != Some(1.0) {
            if started.elapsed() > CONNECTED {
                bail!("a node receives no signals after {CONNECTED:?}");
            }
            sleep(POLL).await;
        }
        Ok(())
    })
}
