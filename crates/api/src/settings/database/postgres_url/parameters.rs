//! The parameters of URLs of Postgres.

use std::net::IpAddr;

/// The effect of a parameter.
pub(super) enum Effect<'a> {
    /// It sets this parameter of `sqlx` to this value.
    Set(&'a str, &'a str),
    /// It requires that the server proves to know the password on this very connection.
    ChannelBinding,
    /// None on this service, whose own way replaces it.
    Ignored,
    /// One that is missing here. With a sentence on what to do instead, if there is anything.
    Unsupported(Option<&'static str>),
}

use Effect::{ChannelBinding, Ignored, Set, Unsupported};

/// Returns the effect of a parameter. `None` if the name is unknown or the value is invalid.
pub(super) fn effect<'a>(name: &'a str, value: &'a str) -> Option<Effect<'a>> {
    Some(match (name, value) {
        ("sslmode" | "ssl-mode", _) if is_sslmode(value) => Set("sslmode", value),
        ("ssl", "true") => Set("sslmode", "require"),
        ("sslrootcert" | "ssl-root-cert" | "ssl-ca", _) => Set("sslrootcert", value),
        ("sslcert" | "ssl-cert", _) => Set("sslcert", value),
        ("sslkey" | "ssl-key", _) => Set("sslkey", value),
        ("host" | "port" | "dbname" | "user" | "password" | "application_name" | "options", _) => {
            Set(name, value)
        }
        _ if name.starts_with("options[") && name.ends_with(']') => Set(name, value),
        // Lists of hosts are rejected with their own message.
        ("hostaddr", _) if value.split(',').all(is_address) => Set(name, value),
        ("statement-cache-capacity", _) if value.parse::<usize>().is_ok() => Set(name, value),

        ("channel_binding", "require") => ChannelBinding,

        // The defaults, and what concerns time limits, text in UTF-8, Kerberos, and the choice between
        // several hosts.
        ("channel_binding" | "gssencmode", "prefer" | "disable")
        | ("sslnegotiation", "postgres")
        | ("sslsni", "1")
        | ("ssl_min_protocol_version", "TLSv1" | "TLSv1.1" | "TLSv1.2")
        | (
            "client_encoding"
            | "connect_timeout"
            | "fallback_application_name"
            | "gssdelegation"
            | "gsslib"
            | "keepalives"
            | "keepalives_count"
            | "keepalives_idle"
            | "keepalives_interval"
            | "krbsrvname"
            | "load_balance_hosts"
            | "sslcompression"
            | "target_session_attrs"
            | "tcp_user_timeout",
            _,
        ) => Ignored,

        // Most of them restrict to which server `psql` connects, or how.
        ("passfile", _) => Unsupported(Some("set the variable PGPASSFILE to the path instead")),
        ("service", _) => Unsupported(Some(
            "write the parameters of the service into the URL instead",
        )),
        ("sslpassword", _) => Unsupported(Some("decrypt the key, for example with openssl pkey")),
        ("gssencmode", "require")
        | ("sslnegotiation", "direct")
        | ("sslsni", "0")
        | (
            "replication"
            | "require_auth"
            | "requirepeer"
            | "ssl_max_protocol_version"
            | "ssl_min_protocol_version"
            | "sslcertmode"
            | "sslcrl"
            | "sslcrldir",
            _,
        ) => Unsupported(None),
        _ => return None,
    })
}

fn is_sslmode(value: &str) -> bool {
    matches!(
        &*value.to_ascii_lowercase(),
        "disable" | "allow" | "prefer" | "require" | "verify-ca" | "verify-full"
    )
}

fn is_address(value: &str) -> bool {
    value.parse::<IpAddr>().is_ok()
}
