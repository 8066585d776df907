//! A node outside the home region.

use std::{net::SocketAddr, time::Duration};

use anyhow::Result;
use dev_load::{service::Service, wide_area::Link};
use dev_tools::postgres::DurableServer;
use tokio::runtime::Handle;

use super::{node_settings::NodeSettings, region::Region};

/// A node with a replica near it. Both reach the home region over links.
pub(crate) struct FarNode {
    pub(crate) region: Region,
    // The service is dropped before its replica.
    pub(crate) service: Service,
    _replica: DurableServer,
    /// The link from the node to the home node.
    pub(crate) to_home: Link,
    /// The link from the replica to the primary.
    pub(crate) replication: Link,
}

impl FarNode {
    /// Copies the primary, and starts a node on the replica.
    pub(crate) fn start(
        network: &Handle,
        region: Region,
        home: SocketAddr,
        (primary, database): (&DurableServer, &str),
        settings: &NodeSettings,
    ) -> Result<Self> {
        let distance = Region::HOME.round_trip(region);
        let to_home = Link::open(network, distance)?;
        to_home.lead_to(home);
        let replication = Link::open(network, distance)?;
        replication.lead_to(([127, 0, 0, 1], primary.port()).into());
        let replica = primary.start_replica(replication.address)?;
        let home_url = format!("http://{}", to_home.address);
        let settings = settings.far(region, replica.url(database), home_url);
        Ok(Self {
            region,
            service: Service::start(settings)?,
            _replica: replica,
            to_home,
            replication,
        })
    }

    /// Changes the distance to the home region.
    pub(crate) fn set_round_trip(&self, round_trip: Duration) {
        self.to_home.set_round_trip(round_trip);
        self.replication.set_round_trip(round_trip);
    }
}
