//! The settings of the store.

mod postgres_url;
mod sqlite_url;

use std::{borrow::Cow, fmt, time::Duration};

use secrecy::{ExposeSecret, SecretString};

use self::postgres_url::PostgresUrl;
use super::values::Values;

const VARIABLE: &str = "DATABASE_URL";
const DEFAULT: &str = "sqlite://data/agent-service.db";

/// Reads `DATABASE__START_SECONDS`: the time for which a start waits for the database.
pub(super) fn read_start_limit(values: &mut Values) -> Duration {
    Duration::from_secs(values.read_number("DATABASE__START_SECONDS", 60, 0..=3_600))
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
    url: SecretString,
    /// The URL of a Postgres server as `sqlx` reads it.
    postgres: Option<SecretString>,
    ignored: Vec<&'static str>,
}

impl DatabaseUrl {
    /// Parses the scheme of a URL of a supported database. `read` does the rest.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let kind = match scheme {
            "sqlite" => DatabaseKind::Sqlite,
            "postgres" | "postgresql" => DatabaseKind::Postgres,
            _ => return None,
        };
        (!rest.is_empty()).then(|| Self::new(kind, text))
    }

    fn new(kind: DatabaseKind, url: &str) -> Self {
        Self {
            kind,
            url: url.into(),
            postgres: None,
            ignored: Vec::new(),
        }
    }

    pub(super) fn read(values: &mut Values) -> Self {
        let default = Self::new(DatabaseKind::Sqlite, DEFAULT);
        let expected = "a URL that begins with sqlite://, postgres:// or postgresql://";
        let mut url = values.read(VARIABLE, default, expected, Self::parse);
        if let Err(expected) = url.complete() {
            values.reject(VARIABLE, &expected);
        }
        url
    }

    /// Reads what follows the scheme. The error is a description of valid URLs.
    fn complete(&mut self) -> Result<(), Cow<'static, str>> {
        let (_, rest) = self.parts();
        match self.kind {
            DatabaseKind::Sqlite => sqlite_url::check(rest)?,
            DatabaseKind::Postgres => {
                let PostgresUrl { url, ignored } = postgres_url::parse(rest)?;
                (self.postgres, self.ignored) = (Some(url.into()), ignored);
            }
        }
        Ok(())
    }

    /// Returns the kind of database.
    pub fn kind(&self) -> DatabaseKind {
        self.kind
    }

    /// Returns the URL with its password as `sqlx` reads it, for connecting.
    pub fn reveal(&self) -> &str {
        self.postgres.as_ref().unwrap_or(&self.url).expose_secret()
    }

    /// Returns the names of its parameters that have no effect.
    pub fn ignored_parameters(&self) -> &[&'static str] {
        &self.ignored
    }

    /// Returns the scheme and everything after it.
    fn parts(&self) -> (&str, &str) {
        let url = self.url.expose_secret();
        url.split_once("://").unwrap_or_default()
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, rest) = self.parts();
        let location = match self.kind {
            DatabaseKind::Sqlite => rest.split('?').next(),
            DatabaseKind::Postgres => server_location(rest),
        };
        write_location(formatter, scheme, location)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "DatabaseUrl({self})")
    }
}

/// Writes a URL without its secrets.
pub(super) fn write_location(
    formatter: &mut fmt::Formatter<'_>,
    scheme: &str,
    location: Option<&str>,
) -> fmt::Result {
    write!(formatter, "{scheme}://{}", location.unwrap_or("…"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_urls_of_the_two_databases_are_accepted() {
        let kind = |text| DatabaseUrl::parse(text).map(|url| url.kind());
        assert_eq!(kind("sqlite://data/a.db"), Some(DatabaseKind::Sqlite));
        assert_eq!(kind("postgres://db/a"), Some(DatabaseKind::Postgres));
        assert_eq!(
            kind("postgresql:///a?host=/run"),
            Some(DatabaseKind::Postgres)
        );
        for rejected in [
            "",
            "sqlite::memory:",
            "sqlite://",
            "mysql://db/a",
            "data/a.db",
            "Postgres",
        ] {
            assert_eq!(kind(rejected), None, "{rejected}");
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
            ("postgres://ada:hid/den@db/agents", "postgres://db/agents"),
            ("postgres://[::1]/agents", "postgres://[::1]/agents"),
            (
                "postgresql://db/agents?password=hidden",
                "postgresql://db/agents",
            ),
            (
                "postgresql:///agents?host=/run&password=hidden",
                "postgresql:///agents",
            ),
        ] {
            let parsed = DatabaseUrl::parse(url).unwrap();
            assert_eq!(parsed.to_string(), shown);
            assert_eq!(format!("{parsed:?}"), format!("DatabaseUrl({shown})"));
            assert_eq!(parsed.reveal(), url);
        }
    }

    #[test]
    fn nothing_is_shown_if_the_end_of_the_password_is_unclear() {
        for url in [
            "postgres://ada:hid?den@db/agents",
            "postgres://ada:hid#den@db/agents",
            "postgres://db/agents?password=hid@den",
            "postgres://ada:hidden",
        ] {
            assert_eq!(DatabaseUrl::parse(url).unwrap().to_string(), "postgres://…");
        }
    }
}
