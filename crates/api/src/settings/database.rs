//! Which store.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

use super::values::Values;

const DEFAULT: &str = "sqlite://data/agent-service.db";

/// The database management system that a URL names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseKind {
    /// `sqlite://`: one file, one process.
    Sqlite,
    /// `postgres://` or `postgresql://`: a server, any number of processes.
    Postgres,
}

/// Where the store is. It may hold a password, so `Debug` and `Display` tell only the place.
#[derive(Clone)]
pub struct DatabaseUrl {
    kind: DatabaseKind,
    url: SecretString,
}

impl DatabaseUrl {
    /// Takes a URL of a database that there is an adapter for. The rest of the URL is judged by
    /// that adapter.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let kind = match scheme {
            "sqlite" => DatabaseKind::Sqlite,
            "postgres" | "postgresql" => DatabaseKind::Postgres,
            _ => return None,
        };
        (!rest.is_empty()).then(|| Self {
            kind,
            url: text.into(),
        })
    }

    pub(super) fn read(values: &mut Values) -> Self {
        let default = Self {
            kind: DatabaseKind::Sqlite,
            url: DEFAULT.into(),
        };
        let expected = "a URL that begins with sqlite://, postgres:// or postgresql://";
        values.read("DATABASE_URL", default, expected, Self::parse)
    }

    /// Which adapter it is for.
    pub fn kind(&self) -> DatabaseKind {
        self.kind
    }

    /// The whole URL with its password, for the one who connects.
    pub fn reveal(&self) -> &str {
        self.url.expose_secret()
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, rest) = self.reveal().split_once("://").unwrap_or_default();
        let place = match self.kind {
            DatabaseKind::Sqlite => rest.split('?').next(),
            DatabaseKind::Postgres => place_of_server(rest),
        };
        write!(formatter, "{scheme}://{}", place.unwrap_or("…"))
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "DatabaseUrl({self})")
    }
}

/// Host, port and database, without user, password and parameters (which may be a password too).
/// `None` when a character that should have been escaped makes it doubtful what is what.
fn place_of_server(rest: &str) -> Option<&str> {
    let (before, parameters) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    if parameters.contains('@') {
        return None;
    }
    let place = before.rsplit('@').next()?;
    let address = place.split('/').next()?;
    let port = match address.rsplit_once(':') {
        // The colons of an IPv6 address.
        Some((_, port)) if !port.ends_with(']') => port,
        _ => "",
    };
    port.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_urls_of_the_two_databases_only() {
        let kind = |text| DatabaseUrl::parse(text).map(|url| url.kind());
        assert_eq!(kind("sqlite://data/a.db"), Some(DatabaseKind::Sqlite));
        assert_eq!(kind("postgres://db/a"), Some(DatabaseKind::Postgres));
        assert_eq!(
            kind("postgresql:///a?host=/run"),
            Some(DatabaseKind::Postgres)
        );
        for refused in [
            "",
            "sqlite::memory:",
            "sqlite://",
            "mysql://db/a",
            "data/a.db",
            "Postgres",
        ] {
            assert_eq!(kind(refused), None, "{refused}");
        }
    }

    #[test]
    fn tells_the_place_and_nothing_else() {
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
    fn shows_nothing_when_in_doubt_where_the_password_ends() {
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
