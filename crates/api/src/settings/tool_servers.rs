//! Settings of tool servers (Model Context Protocol).

use std::{collections::BTreeMap, ops::RangeInclusive, time::Duration};

use actix_web::http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use domain::web_address::is_web_address;
use secrecy::SecretString;

use super::{
    models::{BOOLEAN_FORM, true_or_false},
    named::NamedSettings,
    values::Values,
};

const URL: &str = "MCP__SERVERS__<ID>__URL";
const HEADERS: &str = "MCP__SERVERS__<ID>__HEADERS__<HEADER>";
const USER_TOKEN: &str = "MCP__SERVERS__<ID>__USER_TOKEN";
const COMMAND: &str = "MCP__SERVERS__<ID>__COMMAND";
const ARGS: &str = "MCP__SERVERS__<ID>__ARGS";
const ENV: &str = "MCP__SERVERS__<ID>__ENV";
const TIMEOUT_MS: &str = "MCP__SERVERS__<ID>__TIMEOUT_MS";
const TRUST_HINTS: &str = "MCP__SERVERS__<ID>__TRUST_HINTS";

/// The time limits of a call that can be set, in milliseconds.
const CALL_TIMEOUT_MS: RangeInclusive<u64> = 100..=600_000;

/// The headers that belong to the service or to HTTP, besides those that begin with `mcp-`.
const OWN_HEADERS: [&str; 17] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "idempotency-key",
    "keep-alive",
    "last-event-id",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];

/// A tool server.
#[derive(Debug, Clone)]
pub struct ToolServer {
    /// The capability with which an agent has all its tools.
    pub name: String,
    /// Its transport.
    pub transport: ToolServerTransport,
    /// The time limit of its calls, unless it is the usual one.
    pub call_timeout: Option<Duration>,
    /// False if the hints of its tools are ignored.
    pub trusts_hints: bool,
}

/// The transport of a tool server. `Debug` shows no value of a header or a variable.
#[derive(Debug, Clone)]
pub enum ToolServerTransport {
    /// Streamable HTTP.
    Http {
        /// The address.
        url: String,
        /// The headers of every request, by name in lower case.
        headers: BTreeMap<String, SecretString>,
        /// True if the server receives a token of the user with each call.
        sends_user_token: bool,
    },
    /// The standard streams of a child process.
    Process {
        /// The program.
        command: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// Its environment, in addition to the variables that every program needs.
        environment: BTreeMap<String, SecretString>,
    },
}

/// Reads `MCP__SERVERS__…`. `used_names` are the names of other capabilities.
pub(super) fn read(values: &mut Values, used_names: &[&str]) -> Vec<ToolServer> {
    let keys = [
        URL,
        HEADERS,
        USER_TOKEN,
        COMMAND,
        ARGS,
        ENV,
        TIMEOUT_MS,
        TRUST_HINTS,
    ];
    let servers = values.read_named(&keys, |named| server(named, used_names));
    servers.into_iter().flatten().collect()
}

fn server(named: &mut NamedSettings<'_>, used_names: &[&str]) -> Option<ToolServer> {
    let (http, process) = (http(named), process(named));
    let milliseconds = "a whole number from 100 to 600000";
    let call_timeout = named.read_optional(TIMEOUT_MS, milliseconds, call_timeout);
    let trust_hints = named.read_optional(TRUST_HINTS, BOOLEAN_FORM, true_or_false);
    let name = named.name().to_owned();
    if used_names.contains(&name.as_str()) {
        let key = if named.is_set(URL) { URL } else { COMMAND };
        named.reject_name(key, "a capability");
        return None;
    }
    let transport = match (named.is_set(URL), named.is_set(COMMAND)) {
        (true, true) => {
            named.reject(COMMAND, "unset if URL is set");
            None
        }
        (false, false) => {
            named.reject(URL, "set, or else COMMAND");
            None
        }
        (true, false) => {
            for key in [ARGS, ENV] {
                if named.is_set(key) {
                    named.reject(key, "unset if URL is set");
                }
            }
            http
        }
        (false, true) => {
            named.reject_members(HEADERS, "unset if COMMAND is set");
            if named.is_set(USER_TOKEN) {
                named.reject(USER_TOKEN, "unset if COMMAND is set");
            }
            process
        }
    };
    Some(ToolServer {
        name,
        transport: transport?,
        call_timeout,
        trusts_hints: trust_hints.unwrap_or(true),
    })
}

fn http(named: &mut NamedSettings<'_>) -> Option<ToolServerTransport> {
    let address = "an address that begins with https:// or http://";
    let url = named.read_optional(URL, address, |text| {
        is_web_address(text).then(|| text.to_owned())
    });
    let headers = headers(named);
    let user_token = named.read_optional(USER_TOKEN, BOOLEAN_FORM, true_or_false);
    let sends_user_token = user_token == Some(true);
    if url.is_some() && sends_user_token && headers.contains_key(AUTHORIZATION.as_str()) {
        let expected = "unset if HEADERS__AUTHORIZATION is set, which it would replace";
        named.reject(USER_TOKEN, expected);
    }
    Some(ToolServerTransport::Http {
        url: url?,
        headers,
        sends_user_token,
    })
}

fn process(named: &mut NamedSettings<'_>) -> Option<ToolServerTransport> {
    let command = named.read_optional(COMMAND, "a program", |text| {
        let is_good = !text.trim().is_empty() && !text.contains(char::is_control);
        is_good.then(|| text.to_owned())
    });
    let words = "words separated by spaces, in quotes if they contain spaces";
    let arguments = named.read_optional(ARGS, words, shlex::split);
    let pairs = "variables, such as NAME=value,OTHER=value";
    let environment = named.read_optional(ENV, pairs, environment);
    Some(ToolServerTransport::Process {
        command: command?,
        arguments: arguments.unwrap_or_default(),
        environment: environment.unwrap_or_default(),
    })
}

/// Reads the headers. `_` in their names stands for `-`, which shells do not allow in a variable.
fn headers(named: &mut NamedSettings<'_>) -> BTreeMap<String, SecretString> {
    let mut headers = BTreeMap::new();
    let expected = "a value of printable characters, for a header that the service does not set \
        itself, in one spelling only";
    named.read_members(HEADERS, expected, |name, value| {
        let name = name.replace('_', "-").to_ascii_lowercase();
        let is_valid = HeaderName::from_bytes(name.as_bytes()).is_ok()
            && HeaderValue::from_str(value).is_ok()
            && !OWN_HEADERS.contains(&name.as_str())
            && !name.starts_with("mcp-");
        let is_new = is_valid && headers.insert(name, value.into()).is_none();
        is_new.then_some(())
    });
    headers
}

fn call_timeout(text: &str) -> Option<Duration> {
    let milliseconds = text.parse().ok();
    let allowed = milliseconds.filter(|number| CALL_TIMEOUT_MS.contains(number));
    allowed.map(Duration::from_millis)
}

fn environment(text: &str) -> Option<BTreeMap<String, SecretString>> {
    let pairs = text.split(',').map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let name = name.trim();
        (!name.is_empty()).then(|| (name.to_owned(), value.into()))
    });
    pairs.collect()
}

#[cfg(test)]
mod tests;
