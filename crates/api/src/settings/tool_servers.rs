//! Servers of tools, by the Model Context Protocol.

use std::collections::BTreeMap;

use domain::web_address::is_web_address;
use secrecy::SecretString;

use super::values::{Named, Values};

const URL: &str = "MCP__SERVERS__<ID>__URL";
const COMMAND: &str = "MCP__SERVERS__<ID>__COMMAND";
const ARGS: &str = "MCP__SERVERS__<ID>__ARGS";
const ENV: &str = "MCP__SERVERS__<ID>__ENV";

/// A server of tools.
#[derive(Debug, Clone)]
pub struct ToolServer {
    /// The capability that gives an agent all its tools.
    pub name: String,
    /// How it is reached.
    pub transport: ToolServerTransport,
}

/// How a server of tools is reached. `Debug` shows no variable's value.
#[derive(Debug, Clone)]
pub enum ToolServerTransport {
    /// By streamable HTTP, at this address.
    Http {
        /// The address.
        url: String,
    },
    /// Over the standard streams of a process of its own.
    Process {
        /// The program.
        command: String,
        /// What it is given.
        arguments: Vec<String>,
        /// Its environment, beside what every program needs.
        environment: BTreeMap<String, SecretString>,
    },
}

/// Reads `MCP__SERVERS__…`. Capabilities of other origin have the names `taken`.
pub(super) fn read(values: &mut Values, taken: &[&str]) -> Vec<ToolServer> {
    let servers = values.read_named(&[URL, COMMAND, ARGS, ENV], |named| server(named, taken));
    servers.into_iter().flatten().collect()
}

fn server(named: &mut Named<'_>, taken: &[&str]) -> Option<ToolServer> {
    let address = "an address that begins with https:// or http://";
    let url = named.read_optional(URL, address, |text| {
        is_web_address(text).then(|| text.to_owned())
    });
    let command = named.read_optional(COMMAND, "a program", |text| {
        let is_good = !text.trim().is_empty() && !text.contains(char::is_control);
        is_good.then(|| text.to_owned())
    });
    let words = "text: words with spaces between them, in quotes where they hold spaces themselves";
    let arguments = named.read_optional(ARGS, words, shlex::split);
    let pairs = "variables, such as NAME=value,OTHER=value";
    let environment = named.read_optional(ENV, pairs, environment);
    let name = named.name().to_owned();
    if taken.contains(&name.as_str()) {
        let key = if named.is_given(URL) { URL } else { COMMAND };
        named.refuse(key, "under a name that no other capability has");
        return None;
    }
    let transport = match (named.is_given(URL), named.is_given(COMMAND)) {
        (true, true) => {
            named.refuse(COMMAND, "left out where there is a URL");
            return None;
        }
        (false, false) => {
            named.refuse(URL, "given, or else the COMMAND of a program");
            return None;
        }
        (true, false) => {
            for key in [ARGS, ENV] {
                if named.is_given(key) {
                    named.refuse(key, "left out where there is a URL");
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
    Some(ToolServer { name, transport })
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
