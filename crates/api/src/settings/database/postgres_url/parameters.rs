//! The parameters of URLs of Postgres.

use std::net::IpAddr;

/// The effect of a parameter.
pub(super) enum Treatment {
    /// `sqlx` uses it, under this name. Only the last one of a name counts.
    Used(&'static str),
    /// `sqlx` uses it, and it may occur several times.
    Repeated,
    /// It stands for another one with this value.
    Replaced(&'static str, &'static str),
    /// It has no effect on this service.
    Ignored(&'static str),
    /// It requires that the server proves to know the password on this very connection.
    ChannelBinding,
    /// Its effect is missing here. With a sentence on what to do instead.
    Unsupported(&'static str, &'static str),
}

use Treatment::{ChannelBinding, Ignored, Repeated, Replaced, Unsupported, Used};

/// Returns the treatment of a parameter. `None` if the name is unknown or the value is invalid.
pub(super) fn treatment(name: &str, value: &str) -> Option<Treatment> {
    used(name, value)
        .or_else(|| conditional(name, value))
        .or_else(|| ignored(name))
        .or_else(|| unsupported(name))
}

fn used(name: &str, value: &str) -> Option<Treatment> {
    let (name, is_valid) = match name {
        "sslmode" | "ssl-mode" => ("sslmode", is_sslmode(value)),
        "sslrootcert" | "ssl-root-cert" | "ssl-ca" => ("sslrootcert", true),
        "sslcert" | "ssl-cert" => ("sslcert", true),
        "sslkey" | "ssl-key" => ("sslkey", true),
        "host" => ("host", true),
        // Lists of hosts are rejected with their own message.
        "hostaddr" => ("hostaddr", value.split(',').all(is_address)),
        "port" => ("port", true),
        "dbname" => ("dbname", true),
        "user" => ("user", true),
        "password" => ("password", true),
        "application_name" => ("application_name", true),
        "statement-cache-capacity" => ("statement-cache-capacity", value.parse::<usize>().is_ok()),
        "options" => return Some(Repeated),
        _ if name.starts_with("options[") && name.ends_with(']') => return Some(Repeated),
        _ => return None,
    };
    is_valid.then_some(Used(name))
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

/// The parameters whose value decides.
fn conditional(name: &str, value: &str) -> Option<Treatment> {
    Some(match (name, value) {
        ("ssl", "true") => Replaced("sslmode", "require"),
        ("channel_binding", "require") => ChannelBinding,
        ("channel_binding", "prefer" | "disable") => Ignored("channel_binding"),
        ("gssencmode", "prefer" | "disable") => Ignored("gssencmode"),
        ("gssencmode", "require") => Unsupported("gssencmode", ""),
        ("sslnegotiation", "postgres") => Ignored("sslnegotiation"),
        ("sslnegotiation", "direct") => Unsupported("sslnegotiation", ""),
        ("sslsni", "1") => Ignored("sslsni"),
        ("sslsni", "0") => Unsupported("sslsni", ""),
        ("ssl_min_protocol_version", "TLSv1" | "TLSv1.1" | "TLSv1.2") => {
            Ignored("ssl_min_protocol_version")
        }
        ("ssl_min_protocol_version", _) => Unsupported("ssl_min_protocol_version", ""),
        _ => return None,
    })
}

/// The parameters that concern what this service does in its own way: time limits, text in UTF-8,
/// Kerberos, and the choice between several hosts.
const IGNORED: &[&str] = &[
    "client_encoding",
    "connect_timeout",
    "fallback_application_name",
    "gssdelegation",
    "gsslib",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "krbsrvname",
    "load_balance_hosts",
    "sslcompression",
    "target_session_attrs",
    "tcp_user_timeout",
];

/// The others of `psql`. Most of them restrict to which server it connects, or how.
const UNSUPPORTED: &[(&str, &str)] = &[
    (
        "passfile",
        "; set the variable PGPASSFILE to the path instead",
    ),
    ("replication", ""),
    ("require_auth", ""),
    ("requirepeer", ""),
    (
        "service",
        "; write the parameters of the service into the URL instead",
    ),
    ("ssl_max_protocol_version", ""),
    ("sslcertmode", ""),
    ("sslcrl", ""),
    ("sslcrldir", ""),
    (
        "sslpassword",
        "; decrypt the key, for example with openssl pkey",
    ),
];

fn ignored(name: &str) -> Option<Treatment> {
    let known = IGNORED.iter().find(|known| **known == name)?;
    Some(Ignored(known))
}

fn unsupported(name: &str) -> Option<Treatment> {
    let (name, instead) = UNSUPPORTED.iter().find(|(known, _)| *known == name)?;
    Some(Unsupported(name, instead))
}
