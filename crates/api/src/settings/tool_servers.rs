//! Settings of tool servers (Model Context Protocol).

use std::{collections::BTreeMap, ops::RangeInclusive, time::Duration};

use domain::web_address::is_web_address;
use secrecy::SecretString;

use super::{named::NamedSettings, values::Values};

const URL: &str = "MCP__SERVERS__<ID>__URL";
const COMMAND: &str = "MCP__SERVERS__<ID>__COMMAND";
const ARGS: &str = "MCP__SERVERS__<ID>__ARGS";
const ENV: &str = "MCP__SERVERS__<ID>__ENV";
const TIMEOUT_MS: &str = "MCP__SERVERS__<ID>__TIMEOUT_MS";

/// The time limits of a call that can be set, in milliseconds.
const CALL_TIMEOUT_MS: RangeInclusive<u64> = 100..=600_000;

/// A tool server.
#[derive(Debug, Clone)]
pub struct ToolServer {
    /// The capability with which an agent has all its tools.
    pub name: String,
    /// Its transport.
    pub transport: ToolServerTransport,
    /// The time limit of its calls, unless it is the usual one.
    pub call_timeout: Option<Duration>,
}

/// The transport of a tool server. `Debug` shows no variable's value.
#[derive(Debug, Clone)]
pub enum ToolServerTransport {
    /// Streamable HTTP.
    Http {
        /// The address.
        url: String,
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
    let servers = values.read_named(&[URL, COMMAND, ARGS, ENV, TIMEOUT_MS], |named| {
        server(named, used_names)
    });
    servers.into_iter().flatten().collect()
}

fn server(named: &mut NamedSettings<'_>, used_names: &[&str]) -> Option<ToolServer> {
    let address = "an address that begins with https:// or http://";
    let url = named.read_optional(URL, address, |text| {
        is_web_address(text).then(|| text.to_owned())
    });
    let command = named.read_optional(COMMAND, "a program", |text| {
        let is_good = !text.trim().is_empty() && !text.contains(char::is_control);
        is_good.then(|| text.to_owned())
    });
    let words = "words separated by spaces, in quotes if they contain spaces";
    let arguments = named.read_optional(ARGS, words, shlex::split);
    let pairs = "variables, such as NAME=value,OTHER=value";
    let environment = named.read_optional(ENV, pairs, environment);
    let milliseconds = "a whole number from 100 to 600000";
    let call_timeout = named.read_optional(TIMEOUT_MS, milliseconds, call_timeout);
    let name = named.name().to_owned();
    if used_names.contains(&name.as_str()) {
        let key = if named.is_set(URL) { URL } else { COMMAND };
        named.reject_name(key, "a capability");
        return None;
    }
    let transport = match (named.is_set(URL), named.is_set(COMMAND)) {
        (true, true) => {
            named.reject(COMMAND, "unset if URL is set");
            return None;
        }
        (false, false) => {
            named.reject(URL, "set, or else COMMAND");
            return None;
        }
        (true, false) => {
            for key in [ARGS, ENV] {
                if named.is_set(key) {
                    named.reject(key, "unset if URL is set");
                }
            }
            ToolServerTransport::Http { url: url? }
        }
        (false, true) => ToolServerTransport::Process {
            command: command?,
            arguments: arguments.unwrap_or_default(),
            environment: environment.unwrap_or_default(),
        },
    };
    Some(ToolServer {
        name,
        transport,
        call_timeout,
    })
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
