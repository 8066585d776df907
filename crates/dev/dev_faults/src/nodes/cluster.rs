//! Several nodes behind a load balancer.

use std::{net::SocketAddr, path::PathBuf};

use anyhow::{Context as _, Result};
use dev_load::{
    Endpoint,
    service::{Service, Settings},
};

use super::{bus::Bus, proxy::Proxy};
use crate::environment::Agents;

/// The number of nodes.
pub(super) const NODES: usize = 3;

/// Several nodes on one store, behind a load balancer.
pub(super) struct Cluster {
    settings: Settings,
    pub(super) nodes: Vec<Service>,
    pub(super) proxy: Proxy,
    pub(super) agents: Agents,
}

impl Cluster {
    /// Starts all nodes with these settings, and waits until they use the bus.
    pub(super) async fn start(bus: Bus, settings: Settings) -> Result<Self> {
        let first = Service::start(settings.clone())?;
        let endpoint = first.endpoint()?;
        let mut cluster = Self {
            proxy: Proxy::start(&endpoint).await?,
            agents: Agents::create(&endpoint).await?,
            nodes: vec![first],
            settings,
        };
        cluster.proxy.add(endpoint).await?;
        for _ in 1..NODES {
            cluster.add().await?;
        }
        for node in &cluster.nodes {
            bus.wait_until_used(&node.endpoint()?).await?;
        }
        Ok(cluster)
    }

    /// Makes further nodes run another program.
    pub(super) fn set_program(&mut self, program: PathBuf) {
        self.settings.program = program;
    }

    /// Starts a further node.
    pub(super) async fn add(&mut self) -> Result<()> {
        let node = Service::start(self.settings.clone())?;
        self.proxy.add(node.endpoint()?).await?;
        self.nodes.push(node);
        Ok(())
    }

    /// Kills a node, which the proxy has to notice, and returns its address.
    pub(super) fn kill(&mut self, index: usize) -> Result<SocketAddr> {
        let node = self.nodes.get_mut(index).context("no such node")?;
        let address = node.endpoint()?.address;
        node.kill();
        Ok(address)
    }

    /// Starts the node that was killed at this address again.
    pub(super) async fn restart(&mut self, index: usize, address: SocketAddr) -> Result<()> {
        self.proxy.remove(address);
        let node = self.nodes.get_mut(index).context("no such node")?;
        node.restart()?;
        self.proxy.add(node.endpoint()?).await
    }

    /// A node that is running.
    pub(super) fn any_node(&self) -> Result<Endpoint> {
        self.nodes.first().context("no nodes")?.endpoint()
    }
}
