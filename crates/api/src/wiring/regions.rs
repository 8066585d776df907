//! Builds the region of this process, and its connection to the home region.

use std::sync::Arc;

use ::regions::{FarNode, HomeRegion, RegionRole, Regions};
use anyhow::{Context as _, Result};
use application::{LogPositions, cache::Caches, node::Node};
use domain::RegionEntry;
use home_client::{FarProcess, FarStreams, HomeAddress, HomeBus, HomeClient, Signer};
use kit::{
    auth::TrustedProxies,
    region::{FarRegions, OwnRegion},
};
use parking_lot::RwLock;
use ports::{Clock, IdSource, Storage};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use super::{Parts, Store, nodes::NodeLinks};
use crate::settings::{RegionSettings, Settings};

/// Checks the settings of regions that no section can check, without connecting.
pub fn check_regions(settings: &RegionSettings) -> Result<()> {
    let home = settings.home.as_ref();
    home.map_or(Ok(()), |home| address(&home.url).map(drop))
}

fn address(url: &str) -> Result<HomeAddress> {
    let address = HomeAddress::parse(url);
    address.context("REGION__HOME_URL must begin with https, or with http and a loopback address")
}

/// The other processes and regions, as this process reaches them.
pub struct Peers {
    /// The parts that all processes on the store share.
    pub(super) links: NodeLinks,
    /// The home region, at a node of a far region.
    pub(super) home: Option<Arc<HomeClient>>,
    /// The regions, as far as this process knows them.
    pub(super) listing: Arc<RwLock<Vec<RegionEntry>>>,
    /// The id of the store, in a service of several regions.
    store_id: Option<Uuid>,
}

impl Peers {
    /// Starts the event bus, and the connection to the home region at a node of a far region.
    pub async fn start(
        settings: &Settings,
        public_url: &str,
        store: &Store,
        storage: &Storage,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Result<Self> {
        let (clock, ids) = super::system();
        let home = connect_home(&settings.region, &clock, &ids, tasks, stop)?;
        let listing = Arc::new(RwLock::new(listing(settings, public_url)));
        let store_id = match store {
            Store::Postgres(store) if settings.region.are_configured() => {
                Some(store.id().await.context("the store's id cannot be read")?)
            }
            _ => None,
        };
        let links = if let Some(home) = &home {
            let store_id = store_id.context("a far region needs a replica on Postgres")?;
            let process = FarProcess {
                id: ids.next_id(),
                version: env!("CARGO_PKG_VERSION"),
                store: store_id,
            };
            tracing::info!(node = %process.id, "node of a far region started");
            let (events, regions) = (Arc::clone(&storage.events), Arc::clone(&listing));
            let bus = HomeBus::start(home, events, &process, regions, tasks, stop);
            NodeLinks::in_far_region(Arc::new(bus), &settings.bus, store_id)?
        } else {
            NodeLinks::start(&settings.bus, store, &*ids, tasks, stop).await?
        };
        Ok(Self {
            links,
            home,
            listing,
            store_id,
        })
    }
}

/// Starts the connection to the home region; `None` without one.
fn connect_home(
    settings: &RegionSettings,
    clock: &Arc<dyn Clock>,
    ids: &Arc<dyn IdSource>,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) -> Result<Option<Arc<HomeClient>>> {
    let Some(home) = &settings.home else {
        return Ok(None);
    };
    let signer = Signer {
        region: home.region.clone(),
        key: home.key.clone(),
        clock: Arc::clone(clock),
        ids: Arc::clone(ids),
    };
    let client = HomeClient::start(address(&home.url)?, signer, tasks, stop);
    let client = client.context("the certificates of this system cannot be read")?;
    Ok(Some(Arc::new(client)))
}

/// Returns the ports of the store for a node of this region.
pub fn storage_for(settings: &RegionSettings, storage: Storage) -> Storage {
    match settings.home {
        Some(_) => home_client::replica_storage(storage),
        None => storage,
    }
}

/// Describes the region of this process.
pub(super) fn own_region(parts: &Parts<'_>, caches: &Caches, clock: &Arc<dyn Clock>) -> OwnRegion {
    let regions = &parts.settings.region;
    let keys = regions.far.iter();
    let keys = keys.map(|region| (region.name.clone(), region.keys.clone()));
    let accepts_others = regions.home.is_none() && !regions.far.is_empty();
    OwnRegion {
        name: regions.name.clone(),
        far_regions: accepts_others.then(|| FarRegions::new(keys.collect(), Arc::clone(clock))),
        positions: LogPositions::new(
            Arc::clone(&caches.applied),
            Arc::clone(&parts.storage.events),
            Arc::clone(&parts.peers.links.bus),
        ),
    }
}

/// Describes the regions.
pub(super) fn regions(parts: &Parts<'_>, node: &Arc<Node>) -> Regions {
    let settings = parts.settings;
    let regions = &settings.region;
    let role = if let Some(home) = &parts.peers.home {
        let proxies = TrustedProxies::new(settings.server.trusted_proxies.clone());
        RegionRole::Far(Arc::new(FarNode::new(Arc::clone(home) as _, proxies)))
    } else if regions.far.is_empty() {
        RegionRole::Single
    } else {
        RegionRole::Home(HomeRegion {
            nodes: Arc::new(far_streams(parts)),
            own_node: Arc::clone(node),
        })
    };
    Regions {
        role,
        listing: Arc::clone(&parts.peers.listing),
    }
}

/// Builds the streams to the nodes of far regions.
fn far_streams(parts: &Parts<'_>) -> FarStreams {
    FarStreams::new(
        Arc::clone(&parts.peers.links.bus),
        Arc::clone(&parts.storage.credentials),
        parts.peers.listing.read().clone(),
        parts.peers.store_id,
    )
}

/// Returns the regions that the settings name.
fn listing(settings: &Settings, public_url: &str) -> Vec<RegionEntry> {
    let regions = &settings.region;
    let own = RegionEntry {
        name: regions.name.clone(),
        url: public_url.to_owned(),
        is_home: regions.home.is_none(),
    };
    let home = regions.home.iter().map(|home| RegionEntry {
        name: None,
        url: home.url.clone(),
        is_home: true,
    });
    let far = regions.far.iter().map(|far| RegionEntry {
        name: Some(far.name.clone()),
        url: far.url.clone(),
        is_home: false,
    });
    home.chain([own]).chain(far).collect()
}
