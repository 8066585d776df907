//! The limiters of several nodes on one database.

use std::{ops::Deref, sync::Arc, time::Duration};

use async_trait::async_trait;
use contract::shared_rate_limiter::{NODES, SharedLimiters};
use domain::{NodeId, Quota};
use parking_lot::Mutex;
use ports::{LiveNodes, Membership, RateLimiter};
use postgres_nodes::PostgresRateLimiter;
use sqlx::PgConnection;
use tokio::{sync::watch, time::interval};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use crate::{
    database::{Database, new_id},
    proxy::{Link, Proxy},
};

const LEASE: Duration = Duration::from_secs(2);
const RENEW: &str = "\
    insert into nodes (id, lease_until) values ($1, clock_timestamp() + interval '2 seconds') \
    on conflict (id) do update set lease_until = excluded.lease_until";

/// A node, without anything but its limiter and its lease.
pub(crate) struct LimiterNode {
    limiter: Arc<dyn RateLimiter>,
    node: Uuid,
    lease: Mutex<CancellationToken>,
    membership: watch::Sender<Membership>,
    stop: CancellationToken,
}

/// The limiters of several nodes on one database.
pub(crate) struct Nodes {
    started: Vec<LimiterNode>,
    pub(crate) proxy: Proxy,
    pub(crate) database: Database,
}

async fn renew(connection: &mut PgConnection, node: Uuid) {
    let renewed = sqlx::query(RENEW).bind(node).execute(connection).await;
    renewed.expect("the server responds");
}

/// Renews a lease once, and then until it is stopped.
async fn keep_lease(database: &Database, node: Uuid, stop: CancellationToken) {
    let mut connection = database.connect().await;
    renew(&mut connection, node).await;
    let renewals = async move {
        let mut ticks = interval(LEASE / 4);
        loop {
            ticks.tick().await;
            renew(&mut connection, node).await;
        }
    };
    TaskTracker::new().spawn(stop.run_until_cancelled_owned(renewals));
}

impl Nodes {
    /// Starts nodes that count `live_nodes` of them.
    pub(crate) async fn start(number: usize, live_nodes: u32) -> Self {
        let database = Database::new().await;
        let proxy = Proxy::start(&database.options()).await;
        let mut started = Vec::new();
        for _ in 0..number {
            started.push(start_node(&database, &proxy, live_nodes).await);
        }
        Self {
            started,
            proxy,
            database,
        }
    }

    /// Changes the number of live nodes that a node knows.
    pub(crate) fn set_live_nodes(&self, number: usize, live_nodes: u32) {
        let membership = &self.started[number].membership;
        membership.send_modify(|known| known.live.count = live_nodes);
    }
}

async fn start_node(database: &Database, proxy: &Proxy, live_nodes: u32) -> LimiterNode {
    let (node, stop, tasks) = (new_id(), CancellationToken::new(), TaskTracker::new());
    let lease = stop.child_token();
    keep_lease(database, node, lease.clone()).await;
    let membership = watch::Sender::new(Membership {
        node: NodeId::new(node),
        live: LiveNodes {
            count: live_nodes,
            lowest_level: 0,
        },
    });
    let connect = proxy.options(database.options());
    let limiter = PostgresRateLimiter::start(&connect, membership.subscribe(), &tasks, &stop);
    LimiterNode {
        limiter: Arc::new(limiter),
        node,
        lease: Mutex::new(lease),
        membership,
        stop,
    }
}

#[async_trait]
impl SharedLimiters for Nodes {
    fn node(&self, number: usize) -> &Arc<dyn RateLimiter> {
        &self.started[number].limiter
    }

    async fn kill(&self, number: usize) {
        self.started[number].stop.cancel();
    }

    fn slice(&self, quota: Quota) -> u32 {
        PostgresRateLimiter::slice(quota)
    }

    fn lease(&self) -> Duration {
        LEASE
    }

    async fn suspend(&self, number: usize) {
        self.started[number].lease.lock().cancel();
    }

    async fn resume(&self, number: usize) {
        let started = &self.started[number];
        let lease = started.stop.child_token();
        *started.lease.lock() = lease.clone();
        keep_lease(&self.database, started.node, lease).await;
    }

    async fn disconnect(&self) {
        self.proxy.set(Link::Cut);
    }

    async fn reconnect(&self) {
        self.proxy.set(Link::Up);
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for node in &self.started {
            node.stop.cancel();
        }
    }
}

/// The first of several nodes.
pub(crate) struct FirstNode(Nodes);

impl Deref for FirstNode {
    type Target = Arc<dyn RateLimiter>;

    fn deref(&self) -> &Self::Target {
        self.0.node(0)
    }
}

pub(crate) async fn nodes() -> Nodes {
    Nodes::start(NODES, 3).await
}

/// A node that shares its units with others.
pub(crate) async fn one_of_several() -> FirstNode {
    FirstNode(Nodes::start(1, 2).await)
}

/// A node without others.
pub(crate) async fn alone() -> FirstNode {
    FirstNode(Nodes::start(1, 1).await)
}
