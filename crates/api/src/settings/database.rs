//! The settings of the store.

mod postgres_url;
mod sqlite_url;

use std::{borrow::Cow, fmt, time::Duration};

use secrecy::{ExposeSecret, SecretString};

use self::postgres_url::PostgresUrl;
use super::values::Values;

const VARIABLE: &str = "DATABASE_URL";
const DEFAULT: &str = "sqlite://data/agent-service.db";
const SCHEMES: &str = "a URL that begins with sqlite://, postgres:// or postgresql://";

/// `DATABASE_…`: the store.
#[derive(Debug, Clone)]
pub struct DatabaseSettings {
    /// `DATABASE_URL`: its URL.
    pub url: DatabaseUrl,
    /// `DATABASE__START_SECONDS`: the time for which a start waits for it.
    pub start_limit: Duration,
    /// `DATABASE__MAX_CONNECTIONS`: the connections of this process to a server.
    pub max_connections: u32,
}

impl DatabaseSettings {
    pub(super) fn read(values: &mut Values) -> Self {
        Self {
            url: DatabaseUrl::read(values),
            start_limit: Duration::from_secs(values.read_number(
                "DATABASE__START_SECONDS",
                60,
                0..=3_600,
            )),
            max_connections: values.read_number("DATABASE__MAX_CONNECTIONS", 20, 6..=1_000),
        }
    }
}

/// The database management system that a URL names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseKind {
    /// `sqlite://`: one file, one process.
    Sqlite,
    /// `postgres://` or `postgresql://`: a server, any number of processes.
    Postgres,
}

/// The URL of the store. It may contain a password, so `Debug` and `Display` show only the
/// location.
#[derive(Clone)]
pub struct DatabaseUrl {
    kind: DatabaseKind,
    sqlx_url: SecretString,
    /// The URL without its secrets.
    location: String,
    ignored: Vec<String>,
}

impl DatabaseUrl {
    /// Parses a URL. The error is a description of valid URLs.
    pub fn parse(text: &str) -> Result<Self, Cow<'static, str>> {
        // A file has a path with such characters, too, and would be another database.
        if text.contains(char::is_control) {
            return Err("a URL without control characters, such as a line feed at its end".into());
        }
        let (scheme, rest) = text.split_once("://").ok_or(SCHEMES)?;
        let kind = kind_of(scheme)
            .filter(|_| !rest.is_empty())
            .ok_or(SCHEMES)?;
        let (sqlx_url, ignored, location) = match kind {
            DatabaseKind::Sqlite => {
                sqlite_url::check(rest)?;
                let location = rest.split('?').next().map(str::to_owned);
                (text.to_owned(), Vec::new(), location)
            }
            DatabaseKind::Postgres => {
                let PostgresUrl { url, ignored } = postgres_url::parse(rest)?;
                let location = server_location(rest);
                let location = location.map(|it| format!("{it}{}", address_parameters(rest)));
                (url, ignored, location)
            }
        };
        Ok(Self {
            kind,
            sqlx_url: sqlx_url.into(),
            location: without_secrets(scheme, location.as_deref()),
            ignored,
        })
    }

    fn read(values: &mut Values) -> Self {
        let text = values.read(VARIABLE, DEFAULT.to_owned(), SCHEMES, |text| {
            Some(text.to_owned())
        });
        Self::parse(&text).unwrap_or_else(|expected| {
            values.reject(VARIABLE, &expected);
            // Other settings are checked as far as they depend on the scheme alone.
            let (scheme, _) = text.split_once("://").unwrap_or_default();
            Self {
                kind: kind_of(scheme).unwrap_or(DatabaseKind::Sqlite),
                sqlx_url: SecretString::default(),
                location: String::new(),
                ignored: Vec::new(),
            }
        })
    }

    /// Returns the kind of database.
    pub fn kind(&self) -> DatabaseKind {
        self.kind
    }

    /// Returns the URL with its password as `sqlx` reads it, for connecting.
    pub fn reveal(&self) -> &str {
        self.sqlx_url.expose_secret()
    }

    /// Returns the names of its parameters that have no effect.
    pub fn ignored_parameters(&self) -> &[String] {
        &self.ignored
    }
}

fn kind_of(scheme: &str) -> Option<DatabaseKind> {
    match scheme {
        "sqlite" => Some(DatabaseKind::Sqlite),
        "postgres" | "postgresql" => Some(DatabaseKind::Postgres),
        _ => None,
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.location)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "DatabaseUrl({self})")
    }
}

/// Returns a URL without its secrets.
pub(super) fn without_secrets(scheme: &str, location: Option<&str>) -> String {
    format!("{scheme}://{}", location.unwrap_or("…"))
}

/// Returns host, port and database, without user, password and parameters (which may include a
/// password). `None` if an unescaped character makes it unclear which part is which.
pub(super) fn server_location(rest: &str) -> Option<&str> {
    let (before, parameters) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    if parameters.contains('@') {
        return None;
    }
    let location = before.rsplit('@').next()?;
    let address = location.split('/').next()?;
    let port = match address.rsplit_once(':') {
        // These are the colons of an IPv6 address.
        Some((_, port)) if !port.ends_with(']') => port,
        _ => "",
    };
    port.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then_some(location)
}

/// Returns the parameters that name the address of the server, such as a folder of Unix sockets.
fn address_parameters(rest: &str) -> String {
    let parameters = rest
        .split_once('?')
        .map_or("", |(_, query)| query)
        .split('&');
    let is_address = |pair: &&str| {
        let name = pair.split('=').next();
        matches!(name, Some("host" | "hostaddr" | "port"))
    };
    let addresses: Vec<_> = parameters.filter(is_address).collect();
    if addresses.is_empty() {
        return String::new();
    }
    format!("?{}", addresses.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_urls_of_the_two_databases_are_accepted() {
        let kind = |text| DatabaseUrl::parse(text).map(|url| url.kind());
        assert_eq!(kind("sqlite://data/a.db"), Ok(DatabaseKind::Sqlite));
        assert_eq!(kind("postgres://db/a"), Ok(DatabaseKind::Postgres));
        assert_eq!(
            kind("postgresql:///a?host=/run"),
            Ok(DatabaseKind::Postgres)
        );
        for rejected in [
            "",
            "sqlite::memory:",
            "sqlite://",
            "mysql://db/a",
            "data/a.db",
            "Postgres",
        ] {
            assert_eq!(kind(rejected), Err(SCHEMES.into()), "{rejected}");
        }
    }

    #[test]
    fn only_the_location_is_shown() {
        for (url, shown) in [
            ("sqlite:///var/lib/a.db?mode=rwc", "sqlite:///var/lib/a.db"),
            (
                "postgres://ada:hidden@db:5432/agents",
                "postgres://db:5432/agents",
            ),
            ("postgres://ada:hid@den@db/agents", "postgres://db/agents"),
            ("postgres://[::1]/agents", "postgres://[::1]/agents"),
            (
                "postgresql://db/agents?password=hidden",
                "postgresql://db/agents",
            ),
            (
                "postgresql:///agents?host=/run&password=hidden&port=5433",
                "postgresql:///agents?host=/run&port=5433",
            ),
        ] {
            let parsed = DatabaseUrl::parse(url).unwrap();
            assert_eq!(parsed.to_string(), shown);
            assert_eq!(format!("{parsed:?}"), format!("DatabaseUrl({shown})"));
        }
    }

    #[test]
    fn nothing_is_shown_if_the_end_of_the_password_is_unclear() {
        for url in [
            "postgres://ada:hid?den@db/agents",
            "postgres://ada:hid#den@db/agents",
            "postgres://db/agents?password=hid@den",
        ] {
            assert_eq!(DatabaseUrl::parse(url).unwrap().to_string(), "postgres://…");
        }
    }
}
