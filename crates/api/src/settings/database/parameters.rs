//! The query parameters of `DATABASE_URL`: the names and values that `sqlx` knows.
//!
//! For Postgres, `sqlx` ignores unknown parameters. A misspelt `sslmode` would then connect without
//! verifying the server.

use std::net::IpAddr;

use url::form_urlencoded;

use super::DatabaseKind;

const SQLITE_FORM: &str = "a URL with only these parameters: mode (ro, rw or rwc), cache (private or \
                       shared), immutable (true or false), vfs";
const POSTGRES_FORM: &str = "a URL with only these parameters: sslmode (disable, allow, prefer, \
                       require, verify-ca or verify-full), sslrootcert, sslcert, sslkey, host, \
                       hostaddr, port, dbname, user, password, application_name, options, \
                       statement-cache-capacity; escape a ? in the password as %3F";

/// Checks the parameters of a URL without its scheme. The error is a description of valid URLs.
pub(super) fn check(kind: DatabaseKind, rest: &str) -> Result<(), &'static str> {
    let (rest, is_valid, expected): (_, fn(&str, &str) -> bool, _) = match kind {
        DatabaseKind::Sqlite => (rest, is_valid_for_sqlite, SQLITE_FORM),
        DatabaseKind::Postgres => {
            let before_fragment = rest.split('#').next().unwrap_or_default();
            (before_fragment, is_valid_for_postgres, POSTGRES_FORM)
        }
    };
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    if form_urlencoded::parse(query.as_bytes()).all(|(name, value)| is_valid(&name, &value)) {
        Ok(())
    } else {
        Err(expected)
    }
}

/// The mode `memory` is missing here, because the store must be a file.
fn is_valid_for_sqlite(name: &str, value: &str) -> bool {
    match name {
        "mode" => matches!(value, "ro" | "rw" | "rwc"),
        "cache" => matches!(value, "private" | "shared"),
        "immutable" => matches!(value, "true" | "1" | "false" | "0"),
        "vfs" => true,
        _ => false,
    }
}

fn is_valid_for_postgres(name: &str, value: &str) -> bool {
    match name {
        "sslmode" | "ssl-mode" => matches!(
            &*value.to_ascii_lowercase(),
            "disable" | "allow" | "prefer" | "require" | "verify-ca" | "verify-full"
        ),
        "sslrootcert" | "ssl-root-cert" | "ssl-ca" | "sslcert" | "ssl-cert" | "sslkey"
        | "ssl-key" | "host" | "dbname" | "user" | "password" | "application_name" | "options" => {
            true
        }
        "hostaddr" => value.parse::<IpAddr>().is_ok(),
        "port" => value.parse::<u16>().is_ok(),
        "statement-cache-capacity" => value.parse::<usize>().is_ok(),
        _ => name.starts_with("options[") && name.ends_with(']'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_sqlite_are_checked() {
        let check = |rest| check(DatabaseKind::Sqlite, rest);
        for valid in [
            "data/a.db",
            "data/a.db?",
            "data/a.db?mode=rwc",
            "data/a.db?mode=ro&cache=private&immutable=1&vfs=unix",
        ] {
            assert_eq!(check(valid), Ok(()), "{valid}");
        }
        for invalid in [
            "data/a.db?mode=rwx",
            "data/a.db?mode=memory",
            "data/a.db?cache=none",
            "data/a.db?immutable=yes",
            "data/a.db?mdoe=ro",
            "data/a.db?sslmode=require",
        ] {
            assert_eq!(check(invalid), Err(SQLITE_FORM), "{invalid}");
        }
    }

    #[test]
    fn parameters_of_postgres_are_checked() {
        let check = |rest| check(DatabaseKind::Postgres, rest);
        for valid in [
            "db/agents",
            "db/agents?sslmode=verify-full&sslrootcert=/etc/ca.pem",
            "db/agents?ssl-mode=Require",
            "db/agents?sslmode=verify%2Dca",
            "/agents?host=/run/postgresql&port=5433&user=ada&password=a%26b",
            "db/agents?hostaddr=10.0.0.7&statement-cache-capacity=10",
            "db/agents?options=-c%20jit%3Doff&options[geqo]=off#note?",
        ] {
            assert_eq!(check(valid), Ok(()), "{valid}");
        }
        for invalid in [
            "db/agents?sslmode=foo",
            "db/agents?sslmode=",
            "db/agents?sslmod=verify-full",
            "db/agents?SSLMODE=verify-full",
            "db/agents?channel_binding=require",
            "db/agents?port=x",
            "db/agents?hostaddr=db",
            "db/agents?options[geqo=off",
            "ada:hid?den@db/agents",
        ] {
            assert_eq!(check(invalid), Err(POSTGRES_FORM), "{invalid}");
        }
    }
}
