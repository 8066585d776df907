//! The HTTP clients of one server, one for each runtime.
//!
//! A runtime reads the connections that it has opened. Read for another one, as with a client that
//! all workers share, each piece of a response would wake a thread twice.

use std::time::Duration;

use parking_lot::RwLock;
use reqwest::{Client, Proxy, header::HeaderMap};
use rustls::ClientConfig;
use rustls_platform_verifier::ConfigVerifierExt as _;
use tokio::runtime::{self, Handle};

/// The only version of HTTP that is used: over HTTP/2, all responses of a runtime would share one
/// connection, and servers allow about a hundred concurrent streams. Further requests would wait
/// until a stream ends.
const HTTP_1_1: &[u8] = b"http/1.1";

/// The settings of the clients of one server.
pub(crate) struct ClientSettings {
    pub(crate) headers: HeaderMap,
    pub(crate) connect_timeout: Duration,
    pub(crate) proxy: Option<Proxy>,
    /// The server or the proxy uses HTTPS. A machine without root certificates can still call a
    /// server over plain HTTP.
    pub(crate) needs_certificates: bool,
    /// The maximum number of idle connections of one runtime.
    pub(crate) max_idle_connections: usize,
}

/// The HTTP clients of one server.
pub(crate) struct RuntimeClients {
    settings: ClientSettings,
    /// Shared by all clients, which also resume each other's sessions.
    tls: Option<ClientConfig>,
    /// There are as many runtimes as HTTP workers, and one more.
    clients: RwLock<Vec<(runtime::Id, Client)>>,
}

impl RuntimeClients {
    /// Reads the system's root certificates if HTTPS is used, which takes some milliseconds. Fails if
    /// a client cannot be built.
    pub(crate) fn new(settings: ClientSettings) -> Result<Self, ports::BoxError> {
        let tls = settings.needs_certificates.then(tls_config).transpose()?;
        let clients = Self {
            settings,
            tls,
            clients: RwLock::default(),
        };
        // A client that cannot be built stops the start.
        clients.build().map_err(reqwest::Error::without_url)?;
        Ok(clients)
    }

    /// Returns the client of the current runtime.
    pub(crate) fn current(&self) -> Result<Client, reqwest::Error> {
        let runtime = Handle::current().id();
        let is_own = |(id, _): &&(runtime::Id, Client)| *id == runtime;
        if let Some((_, client)) = self.clients.read().iter().find(is_own) {
            return Ok(client.clone());
        }
        let client = self.build()?;
        let mut clients = self.clients.write();
        // Another thread of the runtime may have been faster.
        if let Some((_, client)) = clients.iter().find(is_own) {
            return Ok(client.clone());
        }
        clients.push((runtime, client.clone()));
        Ok(client)
    }

    fn build(&self) -> Result<Client, reqwest::Error> {
        let settings = &self.settings;
        let mut builder = http_clients::builder(settings.connect_timeout)
            // `RetryPolicy` decides about retries.
            .retry(reqwest::retry::never())
            .http1_only()
            .default_headers(settings.headers.clone())
            .pool_max_idle_per_host(settings.max_idle_connections);
        builder = match &self.tls {
            Some(tls) => builder.tls_backend_preconfigured(tls.clone()),
            None => builder.tls_certs_only([]),
        };
        if let Some(proxy) = &settings.proxy {
            builder = builder.proxy(proxy.clone());
        }
        builder.build()
    }
}

fn tls_config() -> Result<ClientConfig, rustls::Error> {
    let mut config = ClientConfig::with_platform_verifier()?;
    config.alpn_protocols = vec![HTTP_1_1.to_vec()];
    Ok(config)
}
