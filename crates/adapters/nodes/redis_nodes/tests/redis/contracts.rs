//! The contract tests of both ports, each on a server of its own.

use std::{ops::Deref, sync::Arc, time::Duration};

use async_trait::async_trait;
use contract::{
    shared_event_bus::Buses,
    shared_rate_limiter::{NODES, SharedLimiters},
};
use dev_tools::redis_server::RedisProcess;
use domain::Quota;
use futures::stream::BoxStream;
use ports::{EventBus, RateLimiter, Signal, SignalFilter};
use redis_nodes::{RedisBus, RedisLimiter};
use tokio_util::sync::CancellationToken;

use crate::nodes::{Node, new_id};

/// A bus with its server.
struct OwnBus {
    bus: RedisBus,
    _server: Arc<RedisProcess>,
}

impl EventBus for OwnBus {
    fn publish(&self, signal: Signal) {
        self.bus.publish(signal);
    }

    fn subscribe(&self, filter: SignalFilter) -> BoxStream<'static, Signal> {
        self.bus.subscribe(filter)
    }
}

pub(crate) async fn bus() -> Arc<dyn EventBus> {
    let server = Arc::new(RedisProcess::start(&[]).expect("a server"));
    Arc::new(OwnBus {
        bus: Node::on(&server.url(), new_id()).connected_bus().await,
        _server: server,
    })
}

/// Two buses that are about to connect: they report then that signals may have been lost.
#[expect(clippy::unused_async, reason = "the contract awaits its fixture")]
pub(crate) async fn buses() -> Buses {
    let server = Arc::new(RedisProcess::start(&[]).expect("a server"));
    let store = new_id();
    let bus = || {
        Arc::new(OwnBus {
            bus: Node::on(&server.url(), store).bus(),
            _server: Arc::clone(&server),
        })
    };
    (bus(), bus())
}

/// A limiter with its server.
pub(crate) struct OwnLimiter {
    limiter: Arc<dyn RateLimiter>,
    _server: RedisProcess,
}

impl Deref for OwnLimiter {
    type Target = Arc<dyn RateLimiter>;

    fn deref(&self) -> &Self::Target {
        &self.limiter
    }
}

pub(crate) async fn limiter() -> OwnLimiter {
    let server = RedisProcess::start(&[]).expect("a server");
    let node = Node::on(&server.url(), new_id());
    OwnLimiter {
        limiter: node.connected_limiter().await,
        _server: server,
    }
}

pub(crate) struct Limiters {
    server: RedisProcess,
    nodes: Vec<Arc<dyn RateLimiter>>,
    stops: Vec<CancellationToken>,
}

pub(crate) async fn limiters() -> Limiters {
    let server = RedisProcess::start(&[]).expect("a server");
    let (store, mut nodes, mut stops) = (new_id(), Vec::new(), Vec::new());
    for _ in 0..NODES {
        let node = Node::on(&server.url(), store);
        nodes.push(node.connected_limiter().await);
        stops.push(node.stop);
    }
    Limiters {
        server,
        nodes,
        stops,
    }
}

#[async_trait]
impl SharedLimiters for Limiters {
    fn node(&self, number: usize) -> &Arc<dyn RateLimiter> {
        &self.nodes[number]
    }

    async fn kill(&self, number: usize) {
        self.stops[number].cancel();
    }

    fn slice(&self, _quota: Quota) -> u32 {
        0
    }

    fn lease(&self) -> Duration {
        RedisLimiter::STREAM_LIFETIME
    }

    async fn suspend(&self, _number: usize) {}

    async fn resume(&self, _number: usize) {}

    async fn disconnect(&self) {
        self.server.pause().expect("a running server");
    }

    async fn reconnect(&self) {
        self.server.resume().expect("a running server");
    }
}

contract::event_bus_contract!(crate::contracts::bus);
contract::shared_event_bus_contract!(crate::contracts::buses);
contract::rate_limiter_contract!(crate::contracts::limiter);
contract::shared_rate_limiter_contract!(crate::contracts::limiters);
