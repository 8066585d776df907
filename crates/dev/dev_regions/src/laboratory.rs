//! The servers of all regions, and the distances between them.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, Result, bail};
use dev_load::{Endpoint, runtime, service::Service, upstream::Upstream, wide_area::Link};
use dev_tools::postgres::DurableServer;
use tokio::{
    runtime::{Builder, Runtime},
    time::{Instant, sleep},
};

use super::{far_node::FarNode, node_settings::NodeSettings, region::Region};

const DATABASE: &str = "service";
/// The longest until all far nodes are connected.
const CONNECTED: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);

/// A home node with the primary, a far node with a replica in each of several regions, and links
/// over which they and far clients are connected.
pub(crate) struct Laboratory {
    /// Runs clients.
    pub(crate) clients: Runtime,
    home: Service,
    far: Vec<FarNode>,
    /// The links of clients in regions without a node.
    distant: Vec<(Region, Link)>,
    /// Dropped after its replicas.
    primary: DurableServer,
    _upstream: Upstream,
    /// Runs the links.
    network: Runtime,
}

impl Laboratory {
    /// Starts everything, with the published distances.
    pub(crate) fn start(program: &Path) -> Result<Self> {
        let network = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .context("cannot start a runtime")?;
        let upstream = Upstream::start()?;
        let settings = NodeSettings::new(program, &upstream)?;
        let primary = DurableServer::start()?;
        primary.create(DATABASE)?;
        let home = Service::start(settings.home(primary.url(DATABASE)))?;
        let address = home.endpoint()?.address;
        let far = Region::FAR.into_iter().map(|region| {
            let primary = (&primary, DATABASE);
            FarNode::start(network.handle(), region, address, primary, &settings)
        });
        let far = far.collect::<Result<_>>()?;
        let mut laboratory = Self {
            clients: runtime()?,
            home,
            far,
            distant: Vec::new(),
            primary,
            _upstream: upstream,
            network,
        };
        laboratory.connect_distant_clients()?;
        let connected = laboratory.wait_until_connected();
        laboratory.clients.block_on(connected)?;
        Ok(laboratory)
    }

    fn connect_distant_clients(&mut self) -> Result<()> {
        for region in Region::WITHOUT_NODE {
            let link = Link::open(self.network.handle(), region.to_node())?;
            link.lead_to(self.node(region.nearest_node())?.endpoint()?.address);
            self.distant.push((region, link));
        }
        Ok(())
    }

    async fn wait_until_connected(&self) -> Result<()> {
        let deadline = Instant::now() + CONNECTED;
        for node in &self.far {
            let endpoint = node.service.endpoint()?;
            // A node rejects requests until home has sent a report.
            let connected = async || endpoint.metric("region_home_connected").await.ok();
            while connected().await.flatten() != Some(1.0) {
                if Instant::now() > deadline {
                    bail!("{} is not connected to home", node.region.name());
                }
                sleep(POLL).await;
            }
        }
        while self.primary.streaming_replicas()? < self.far.len() {
            if Instant::now() > deadline {
                bail!("a replica is not connected to the primary");
            }
            sleep(POLL).await;
        }
        Ok(())
    }

    /// The node of a region that has one.
    fn node(&self, region: Region) -> Result<&Service> {
        if region == Region::HOME {
            return Ok(&self.home);
        }
        Ok(&self.far(region)?.service)
    }

    /// The far node of a region.
    pub(crate) fn far(&self, region: Region) -> Result<&FarNode> {
        let node = self.far.iter().find(|node| node.region == region);
        node.with_context(|| format!("{} has no far node", region.name()))
    }

    /// The endpoint of clients in a region: its own node, or a link to the nearest one.
    pub(crate) fn endpoint(&self, region: Region) -> Result<Endpoint> {
        let endpoint = self.node(region.nearest_node())?.endpoint()?;
        let link = self.distant.iter().find(|(of, _)| *of == region);
        Ok(match link {
            Some((_, link)) => Endpoint {
                address: link.address,
                ..endpoint
            },
            None => endpoint,
        })
    }

    /// Restores the published distances, without lag, loss and cut.
    pub(crate) fn reset(&self) {
        for node in &self.far {
            node.set_round_trip(Region::HOME.round_trip(node.region));
            node.replication.set_lag(Duration::ZERO);
            node.to_home.lose_one_of(0);
        }
        self.cut_home(false);
    }

    /// Delays replication in all regions, in addition to the distance.
    pub(crate) fn set_lag(&self, lag: Duration) {
        for node in &self.far {
            node.replication.set_lag(lag);
        }
    }

    /// Cuts the home region off from all others, or heals that.
    pub(crate) fn cut_home(&self, is_cut: bool) {
        let far = self.far.iter();
        let of_nodes = far.flat_map(|node| [&node.to_home, &node.replication]);
        let of_clients = self.distant.iter();
        let of_clients = of_clients.filter(|(region, _)| region.nearest_node() == Region::HOME);
        for link in of_nodes.chain(of_clients.map(|(_, link)| link)) {
            if is_cut {
                link.cut();
            } else {
                link.heal();
            }
        }
    }
}
