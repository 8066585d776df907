//! The URLs of servers.

use std::{fs, io};

use ::url::form_urlencoded;
use redis::{
    Client, ConnectionInfo, IntoConnectionInfo as _, ProtocolVersion, TlsCertificates, TlsMode,
    sentinel::{SentinelClientBuilder, SentinelServerType},
};

use crate::server::{Kind, cluster_builder};

/// The default port of a Sentinel.
const SENTINEL_PORT: &str = "26379";

/// The reasons why a URL is rejected. No message contains a part of the URL, which may be a password.
#[derive(Debug, thiserror::Error)]
pub enum InvalidUrl {
    /// It does not have the form of a URL for Redis.
    #[error(
        "it must be redis://, rediss:// (TLS), redis-sentinel:// or redis-cluster://, followed by \
         user:password@ if needed and host:port, with commas between several hosts; for Sentinel, \
         then /name-of-the-primary; escape special characters of the password as %xx"
    )]
    Form,
    /// It has an unknown parameter.
    #[error(
        "it has an unknown parameter; known are sslrootcert (with TLS), sentinel_username and \
         sentinel_password (with Sentinel); escape a ? in the password as %3F"
    )]
    Parameter,
    /// The file of root certificates cannot be read.
    #[error("it names certificates in sslrootcert that cannot be read")]
    Certificates(#[source] io::Error),
    /// The client rejects it.
    #[error("the client rejects it")]
    Client(#[source] redis::RedisError),
}

/// The parts of a URL.
struct Parts<'a> {
    is_tls: bool,
    user: &'a str,
    hosts: Vec<&'a str>,
    path: Vec<&'a str>,
    parameters: Parameters,
}

#[derive(Default)]
struct Parameters {
    certificates: Option<TlsCertificates>,
    sentinel_username: Option<String>,
    sentinel_password: Option<String>,
}

/// Reads a URL: the schemes `redis` and `valkey`, with `s` for TLS, and with `-sentinel` or
/// `-cluster`.
pub(crate) fn parse(url: &str) -> Result<Kind, InvalidUrl> {
    let (scheme, rest) = url.split_once("://").ok_or(InvalidUrl::Form)?;
    let (base, topology) = scheme.split_once('-').unwrap_or((scheme, ""));
    let is_tls = match base {
        "redis" | "valkey" => false,
        "rediss" | "valkeys" => true,
        _ => return Err(InvalidUrl::Form),
    };
    let parts = Parts::read(is_tls, rest)?;
    if parts.parameters.certificates.is_some() && !is_tls {
        return Err(InvalidUrl::Parameter);
    }
    match topology {
        "" => parts.single(),
        "sentinel" => parts.sentinel(),
        "cluster" => parts.cluster(),
        _ => Err(InvalidUrl::Form),
    }
}

impl<'a> Parts<'a> {
    fn read(is_tls: bool, rest: &'a str) -> Result<Self, InvalidUrl> {
        let (location, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = location.split_once('/').unwrap_or((location, ""));
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (user, hosts),
            None => ("", authority),
        };
        let hosts: Vec<_> = hosts.split(',').collect();
        if hosts.iter().any(|host| host.is_empty()) || rest.contains('#') {
            return Err(InvalidUrl::Form);
        }
        let path = path.split('/').filter(|part| !part.is_empty()).collect();
        Ok(Self {
            is_tls,
            user,
            hosts,
            path,
            parameters: Parameters::read(query)?,
        })
    }

    fn single(self) -> Result<Kind, InvalidUrl> {
        let [host] = self.hosts[..] else {
            return Err(InvalidUrl::Form);
        };
        let database = match self.path[..] {
            [] => "",
            [database] => database,
            _ => return Err(InvalidUrl::Form),
        };
        self.has_no_sentinel_parameters()?;
        let info = self.connection_info(self.user, host, database)?;
        let client = match self.parameters.certificates {
            Some(certificates) => Client::build_with_tls(info, certificates),
            None => Client::open(info),
        };
        Ok(Kind::Single(client.map_err(InvalidUrl::Client)?))
    }

    fn cluster(self) -> Result<Kind, InvalidUrl> {
        if !self.path.is_empty() {
            return Err(InvalidUrl::Form);
        }
        self.has_no_sentinel_parameters()?;
        let nodes = self.hosts.iter();
        let nodes = nodes.map(|host| self.connection_info(self.user, host, ""));
        let nodes: Vec<_> = nodes.collect::<Result<_, _>>()?;
        let certificates = self.parameters.certificates;
        // Building the client checks the settings.
        let client = cluster_builder(&nodes, certificates.as_ref()).build();
        client.map_err(InvalidUrl::Client)?;
        Ok(Kind::Cluster {
            nodes,
            certificates,
        })
    }

    fn sentinel(self) -> Result<Kind, InvalidUrl> {
        let (name, database) = match self.path[..] {
            [name] => (name, ""),
            [name, database] => (name, database),
            _ => return Err(InvalidUrl::Form),
        };
        let server = self.connection_info(self.user, "server", database)?;
        let sentinels = self.hosts.iter().map(|host| {
            let host = if has_port(host) {
                (*host).to_owned()
            } else {
                format!("{host}:{SENTINEL_PORT}")
            };
            let info = self.connection_info("", &host, "")?;
            Ok(info.addr().clone())
        });
        let sentinels: Vec<_> = sentinels.collect::<Result<_, InvalidUrl>>()?;
        let server = server.redis_settings();
        let mut builder = SentinelClientBuilder::new(sentinels, name, SentinelServerType::Master)
            .map_err(InvalidUrl::Client)?
            .set_client_to_redis_protocol(ProtocolVersion::RESP3)
            .set_client_to_redis_db(server.db());
        if let Some(username) = server.username() {
            builder = builder.set_client_to_redis_username(username);
        }
        if let Some(password) = server.password() {
            builder = builder.set_client_to_redis_password(password);
        }
        if let Some(username) = &self.parameters.sentinel_username {
            builder = builder.set_client_to_sentinel_username(username);
        }
        if let Some(password) = &self.parameters.sentinel_password {
            builder = builder.set_client_to_sentinel_password(password);
        }
        if self.is_tls {
            builder = builder.set_client_to_redis_tls_mode(TlsMode::Secure);
        }
        if let Some(certificates) = self.parameters.certificates {
            builder = builder
                .set_client_to_redis_certificates(certificates.clone())
                .set_client_to_sentinel_certificates(certificates);
        }
        let client = builder.build().map_err(InvalidUrl::Client)?;
        Ok(Kind::Sentinel(tokio::sync::Mutex::new(client)))
    }

    fn connection_info(
        &self,
        user: &str,
        host: &str,
        database: &str,
    ) -> Result<ConnectionInfo, InvalidUrl> {
        let scheme = if self.is_tls { "rediss" } else { "redis" };
        let at = if user.is_empty() { "" } else { "@" };
        let url = format!("{scheme}://{user}{at}{host}/{database}");
        let info = url.into_connection_info().map_err(InvalidUrl::Client)?;
        let settings = info.redis_settings().clone();
        Ok(info.set_redis_settings(settings.set_protocol(ProtocolVersion::RESP3)))
    }

    fn has_no_sentinel_parameters(&self) -> Result<(), InvalidUrl> {
        let Parameters {
            sentinel_username,
            sentinel_password,
            ..
        } = &self.parameters;
        if sentinel_username.is_some() || sentinel_password.is_some() {
            return Err(InvalidUrl::Parameter);
        }
        Ok(())
    }
}

impl Parameters {
    fn read(query: &str) -> Result<Self, InvalidUrl> {
        let mut parameters = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "sslrootcert" => {
                    let root_cert = fs::read(&*value).map_err(InvalidUrl::Certificates)?;
                    parameters.certificates = Some(TlsCertificates {
                        client_tls: None,
                        root_cert: Some(root_cert),
                    });
                }
                "sentinel_username" => parameters.sentinel_username = Some(value.into_owned()),
                "sentinel_password" => parameters.sentinel_password = Some(value.into_owned()),
                _ => return Err(InvalidUrl::Parameter),
            }
        }
        Ok(parameters)
    }
}

fn has_port(host: &str) -> bool {
    // The other colons of an IPv6 address are in brackets.
    host.rsplit(']')
        .next()
        .is_some_and(|rest| rest.contains(':'))
}

#[cfg(test)]
mod tests;
