//! The server, and connections to it.

use std::{fmt, sync::Arc, time::Duration};

use redis::{
    AsyncConnectionConfig, Client, ConnectionInfo, ProtocolVersion, PushInfo, RedisResult,
    TlsCertificates, cluster::ClusterClientBuilder, sentinel::SentinelClient,
};
use tokio::{sync::Mutex, time::timeout};

use crate::{
    connection::{Connection, timed_out},
    url::{self, InvalidUrl},
};

/// The time limit of an attempt to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// The number of times that the client of a Cluster repeats a command, such as at another node.
const CLUSTER_RETRIES: u32 = 3;

/// One server, a server found by Sentinel, or a Cluster. `Debug` shows no secrets.
#[derive(Clone)]
pub struct RedisServer(Arc<Kind>);

pub(crate) enum Kind {
    Single(Client),
    Sentinel(Mutex<SentinelClient>),
    Cluster {
        nodes: Vec<ConnectionInfo>,
        certificates: Option<TlsCertificates>,
    },
}

/// Receives what the server sends by itself. It MUST return at once.
pub(crate) type OnPush = Box<dyn Fn(PushInfo) + Send + Sync>;

impl RedisServer {
    /// Reads the URL of a server. No connection is made. The forms are:
    ///
    /// - `redis://[[user]:password@]host[:port][/database]`
    /// - `redis-sentinel://[[user]:password@]sentinel[:port][,…]/name[/database]`
    /// - `redis-cluster://[[user]:password@]node[:port][,…]`
    ///
    /// `rediss`, `rediss-sentinel` and `rediss-cluster` use TLS, and `valkey` can be written for
    /// `redis`. Parameters: `sslrootcert`, a file of trusted root certificates;
    /// `sentinel_username`, `sentinel_password`.
    pub fn parse(url: &str) -> Result<Self, InvalidUrl> {
        url::parse(url).map(|kind| Self(Arc::new(kind)))
    }

    /// Connects. The connection ends with the first error, except to a Cluster, whose client
    /// reconnects to its nodes. A call fails after `response_timeout`.
    pub(crate) async fn connect(
        &self,
        response_timeout: Duration,
        on_push: Option<OnPush>,
    ) -> RedisResult<Connection> {
        let connect = self.0.connect(response_timeout, on_push);
        timeout(CONNECT_TIMEOUT, connect)
            .await
            .map_err(|_elapsed| timed_out())?
    }
}

impl Kind {
    async fn connect(
        &self,
        response_timeout: Duration,
        on_push: Option<OnPush>,
    ) -> RedisResult<Connection> {
        let send = |on_push: OnPush| {
            move |push: PushInfo| -> Result<(), std::convert::Infallible> {
                on_push(push);
                Ok(())
            }
        };
        let mut config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_TIMEOUT))
            .set_response_timeout(Some(response_timeout));
        let client = match self {
            Self::Single(client) => client.clone(),
            Self::Sentinel(client) => client.lock().await.async_get_client().await?,
            Self::Cluster {
                nodes,
                certificates,
            } => {
                let builder = cluster_builder(nodes, certificates.as_ref());
                let mut builder = builder.response_timeout(response_timeout);
                if let Some(on_push) = on_push {
                    builder = builder.push_sender(send(on_push));
                }
                let connection = builder.build()?.get_async_connection().await?;
                return Ok(Connection::Cluster(connection));
            }
        };
        if let Some(on_push) = on_push {
            config = config.set_push_sender(send(on_push));
        }
        let connection = client.get_multiplexed_async_connection_with_config(&config);
        connection.await.map(Connection::Single)
    }
}

/// The builder of a client for a Cluster with these nodes, among others.
pub(crate) fn cluster_builder(
    nodes: &[ConnectionInfo],
    certificates: Option<&TlsCertificates>,
) -> ClusterClientBuilder {
    let builder = ClusterClientBuilder::new(nodes.to_vec())
        .use_protocol(ProtocolVersion::RESP3)
        .connection_timeout(CONNECT_TIMEOUT)
        .retries(CLUSTER_RETRIES);
    match certificates {
        Some(certificates) => builder.certs(certificates.clone()),
        None => builder,
    }
}

impl fmt::Debug for RedisServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match *self.0 {
            Kind::Single(_) => "one server",
            Kind::Sentinel(_) => "found by Sentinel",
            Kind::Cluster { .. } => "a Cluster",
        };
        formatter.debug_tuple("RedisServer").field(&kind).finish()
    }
}
