//! The query parameters of a SQLite URL: the names and values that `sqlx` knows.

use url::form_urlencoded;

const FORM: &str = "a URL with only these parameters: mode (ro, rw or rwc), cache (private or \
                    shared), immutable (true or false), vfs";

/// Checks the parameters of a URL without its scheme. The error is a description of valid URLs.
pub(super) fn check(rest: &str) -> Result<(), &'static str> {
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    if form_urlencoded::parse(query.as_bytes()).all(|(name, value)| is_valid(&name, &value)) {
        Ok(())
    } else {
        Err(FORM)
    }
}

/// The mode `memory` is missing here, because the store must be a file.
fn is_valid(name: &str, value: &str) -> bool {
    match name {
        "mode" => matches!(value, "ro" | "rw" | "rwc"),
        "cache" => matches!(value, "private" | "shared"),
        "immutable" => matches!(value, "true" | "1" | "false" | "0"),
        "vfs" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_checked() {
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
            assert_eq!(check(invalid), Err(FORM), "{invalid}");
        }
    }
}
