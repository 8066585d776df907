//! URLs of Postgres, by the rules of its own client library, so that a URL that works in `psql`
//! works here.
//!
//! They are not URLs by the general rules: the password ends at an `@`, and may contain `#` and `?`. The
//! result is a URL for `sqlx`, with all parts as parameters.

mod parameters;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use url::form_urlencoded::Serializer;

use self::parameters::Effect;

const FORM: &str = "a URL with only these parameters: sslmode (disable, allow, prefer, require, \
                    verify-ca or verify-full), sslrootcert, sslcert, sslkey, host, hostaddr, port, \
                    dbname, user, password, application_name, options, statement-cache-capacity, and \
                    those of psql that are ignored";
const ONE_HOST: &str = "a URL with one host: name the address that leads to the primary server, \
                        such as that of a load balancer";
const PORT: &str = "a URL whose port is a number from 1 to 65535";
const SLASH: &str = "a URL with an @ only before the host; escape a / in the password as %2F, and \
                     an @ in the name of the database as %40";
const TEXT: &str = "a URL of UTF-8 text without NUL characters; escape a % in the password as %25";
const NAME_AND_ADDRESS: &str = "a URL without hostaddr: the sslmode verify-full compares the \
                                certificate with the name in host, which is therefore looked up";
const SOCKET_AND_ADDRESS: &str =
    "a URL with either a Unix socket in host or an address in hostaddr";

/// The beginning of a URL for `sqlx`.
const PREFIX: &str = "postgres:///?";

/// A URL for `sqlx`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PostgresUrl {
    pub(super) url: String,
    /// The parameters that have no effect here.
    pub(super) ignored: Vec<String>,
}

/// Parses a URL without its scheme. The error is a description of valid URLs.
pub(super) fn parse(rest: &str) -> Result<PostgresUrl, Cow<'static, str>> {
    let (authority, database, query) = split(rest)?;
    let mut parts = Parts::default();
    parts.read_authority(authority)?;
    parts.set("dbname", decode(database)?)?;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        parts.add(&decode(name)?, &decode(value)?)?;
    }
    parts.set_ssl_mode()?;
    // `sqlx` reads them in this order, and an address replaces a name.
    parts.given.sort_by_key(|(name, _)| name == "hostaddr");
    let mut url = Serializer::for_suffix(PREFIX.to_owned(), PREFIX.len());
    url.extend_pairs(&parts.given);
    Ok(PostgresUrl {
        url: url.finish(),
        ignored: parts.ignored,
    })
}

/// Returns user, password, host and port in one text, the name of the database, and the query.
fn split(rest: &str) -> Result<(&str, &str, &str), &'static str> {
    let before_path = rest.find('/').unwrap_or(rest.len());
    // A password may contain question marks.
    let after_user = rest[..before_path].find('@').map_or(0, |at| at + 1);
    let end = rest[after_user..].find(['/', '?']);
    let end = end.map_or(rest.len(), |end| after_user + end);
    let (authority, path_and_query) = rest.split_at(end);
    let (path, query) = path_and_query
        .split_once('?')
        .unwrap_or((path_and_query, ""));
    if path.contains('@') {
        return Err(SLASH);
    }
    Ok((authority, path.strip_prefix('/').unwrap_or(path), query))
}

/// The parts of a URL as parameters.
#[derive(Default)]
struct Parts {
    given: Vec<(String, String)>,
    ignored: Vec<String>,
    requires_channel_binding: bool,
}

impl Parts {
    /// Reads `user:password@host:port`. Other than in `psql`, the password may contain an `@`.
    fn read_authority(&mut self, authority: &str) -> Result<(), Cow<'static, str>> {
        let (user, address) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = user.split_once(':').unwrap_or((user, ""));
        self.set("user", decode(user)?)?;
        self.set("password", decode(password)?)?;
        let (host, port) = match address.strip_prefix('[').and_then(|it| it.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':').unwrap_or(port)),
            None => address.split_once(':').unwrap_or((address, "")),
        };
        self.set("host", decode(host)?)?;
        self.set("port", decode(port)?)
    }

    /// Adds a parameter of the query.
    fn add(&mut self, name: &str, value: &str) -> Result<(), Cow<'static, str>> {
        match parameters::effect(name, value) {
            Some(Effect::Set(name, value)) => return self.set(name, value.to_owned()),
            Some(Effect::ChannelBinding) => self.requires_channel_binding = true,
            Some(Effect::Ignored) => self.ignored.push(name.to_owned()),
            Some(Effect::Unsupported(instead)) => {
                let expected =
                    format!("a URL without the parameter {name}, which has no effect here");
                let instead = instead.map(|instead| format!("; {instead}"));
                return Err((expected + &instead.unwrap_or_default()).into());
            }
            None => return Err(FORM.into()),
        }
        Ok(())
    }

    /// Sets a parameter; one without a value counts as absent. Only the last one of a name counts,
    /// except of options.
    fn set(&mut self, name: &str, value: String) -> Result<(), Cow<'static, str>> {
        match name {
            _ if value.is_empty() => return Ok(()),
            "host" | "hostaddr" | "port" if value.contains(',') => return Err(ONE_HOST.into()),
            "port" if !value.parse::<u16>().is_ok_and(|port| port > 0) => return Err(PORT.into()),
            _ => {}
        }
        if !name.starts_with("options") {
            self.given.retain(|(known, _)| known != name);
        }
        self.given.push((name.to_owned(), value));
        Ok(())
    }

    fn value(&self, name: &str) -> Option<&str> {
        let found = self.given.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Chooses the `sslmode` whose effect in `sqlx` is the one that the URL has in `psql`.
    fn set_ssl_mode(&mut self) -> Result<(), Cow<'static, str>> {
        let mode = self.value("sslmode").map(str::to_ascii_lowercase);
        let is_socket = self.value("host").is_some_and(|host| host.starts_with('/'));
        if is_socket && self.value("hostaddr").is_some() {
            // `psql` connects to the address, and `sqlx` to the socket.
            return Err(SOCKET_AND_ADDRESS.into());
        }
        let mode = match (mode.as_deref(), self.value("sslrootcert")) {
            _ if is_socket => Some("disable"),
            // `sqlx` has no channel binding; verify-full also excludes an intermediary.
            _ if self.requires_channel_binding => Some("verify-full"),
            (_, Some("system")) => Some("verify-full"),
            (Some("require"), Some(_)) => Some("verify-ca"),
            // `sqlx` would connect without TLS, also to servers that require it.
            (Some("allow"), _) => Some("prefer"),
            (mode, _) => mode,
        };
        let mode = mode.map(str::to_owned);
        // The public authorities, which `sqlx` trusts in any case.
        self.given
            .retain(|(name, value)| name != "sslrootcert" || value != "system");
        if mode.as_deref() == Some("verify-full")
            && self.value("host").is_some()
            && self.value("hostaddr").is_some()
        {
            return Err(NAME_AND_ADDRESS.into());
        }
        self.set("sslmode", mode.unwrap_or_default())
    }
}

/// Decodes `%xx`. Other than in `psql`, a `%` that begins none stands for itself.
fn decode(text: &str) -> Result<String, Cow<'static, str>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = match after {
            [high, low, ..] if *first == b'%' => hexadecimal(*high).zip(hexadecimal(*low)),
            _ => None,
        };
        if let Some((high, low)) = escaped {
            bytes.push(high << 4 | low);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    let decoded = String::from_utf8(bytes).ok();
    let decoded = decoded.filter(|text| !text.contains('\0'));
    decoded.ok_or(Cow::Borrowed(TEXT))
}

fn hexadecimal(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}
