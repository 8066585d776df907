//! The settings of the server between processes.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

use super::{
    DatabaseKind, DatabaseUrl,
    database::{server_location, without_secrets},
    values::Values,
};

const URL_VARIABLE: &str = "BUS__URL";
const BASES: [&str; 4] = ["redis", "rediss", "valkey", "valkeys"];

/// The settings of the server between processes.
#[derive(Debug, Clone)]
pub struct BusSettings {
    /// `BUS__URL`: a Redis or Valkey server; `None` if the processes use the database alone.
    pub url: Option<BusUrl>,
    /// `BUS__LIMITS_WHEN_DOWN`: what happens to requests while limits cannot be counted together.
    pub limits_when_down: LimitsWhenDown,
}

/// The treatment of requests while limits cannot be counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitsWhenDown {
    /// Each process counts for itself.
    Local,
    /// They are rejected.
    Refuse,
}

/// The URL of a Redis or Valkey server. It may contain a password, so `Debug` and `Display` show only
/// the location.
#[derive(Clone)]
pub struct BusUrl(SecretString);

impl BusSettings {
    pub(super) fn read(values: &mut Values, database: &DatabaseUrl) -> Self {
        let expected = "a URL that begins with redis://, rediss://, redis-sentinel://, \
                        rediss-sentinel://, redis-cluster:// or rediss-cluster://";
        let url = values.read_optional(URL_VARIABLE, expected, BusUrl::parse);
        if url.is_some() && database.kind() == DatabaseKind::Sqlite {
            values.reject(
                URL_VARIABLE,
                "absent with a SQLite store, which one process serves",
            );
        }
        Self {
            url,
            limits_when_down: values.read(
                "BUS__LIMITS_WHEN_DOWN",
                LimitsWhenDown::Local,
                "local or refuse",
                LimitsWhenDown::parse,
            ),
        }
    }
}

impl LimitsWhenDown {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "local" => Some(Self::Local),
            "refuse" => Some(Self::Refuse),
            _ => None,
        }
    }
}

impl fmt::Display for LimitsWhenDown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Local => "local",
            Self::Refuse => "refuse",
        })
    }
}

impl BusUrl {
    /// Accepts the schemes; the adapter checks the rest.
    fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let base = scheme
            .strip_suffix("-sentinel")
            .or_else(|| scheme.strip_suffix("-cluster"))
            .unwrap_or(scheme);
        (BASES.contains(&base) && !rest.is_empty()).then(|| Self(text.into()))
    }

    /// Returns the whole URL with its password, for connecting.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Display for BusUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, rest) = self.reveal().split_once("://").unwrap_or_default();
        formatter.write_str(&without_secrets(scheme, server_location(rest)))
    }
}

impl fmt::Debug for BusUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "BusUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_urls_of_redis_are_accepted() {
        for accepted in [
            "redis://a",
            "valkeys://a",
            "rediss-sentinel://a/b",
            "valkey-cluster://a",
        ] {
            assert!(BusUrl::parse(accepted).is_some(), "{accepted}");
        }
        for rejected in [
            "",
            "redis://",
            "redis:a",
            "nats://a",
            "redis-ring://a",
            "Redis://a",
        ] {
            assert!(BusUrl::parse(rejected).is_none(), "{rejected}");
        }
    }

    #[test]
    fn only_the_location_is_shown() {
        for (url, shown) in [
            ("redis://:hidden@cache:6379/1", "redis://cache:6379/1"),
            (
                "redis-cluster://ada:hidden@a:1,b:2",
                "redis-cluster://a:1,b:2",
            ),
            (
                "redis-sentinel://:hidden@a/b?sentinel_password=hidden",
                "redis-sentinel://a/b",
            ),
            ("redis://:hid?den@cache", "redis://…"),
        ] {
            let url = BusUrl::parse(url).unwrap();
            assert_eq!(format!("{url} {url:?}"), format!("{shown} BusUrl({shown})"));
        }
    }
}
