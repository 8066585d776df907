//! Builds the tools of agents: those of every server, and those of configured tool servers.

use std::sync::Arc;

use access::{Authenticator, ToolTokenIssuer};
use anyhow::{Result, bail};
use application::Toolbox;
use built_in_tools::BuiltInTools;
pub use mcp_tools::reap_orphans;
use mcp_tools::{
    HintPolicy, HttpEndpoint, McpConfig, McpIntervals, McpServer, McpTransport, Program,
};
use ports::{BlobStore, Clock, ToolProvider, ToolTokens};

use super::Parts;
use crate::settings::{Settings, ToolServer, ToolServerTransport};

/// Builds the toolbox. Tool servers are connected in the background.
pub(super) fn toolbox(
    parts: &Parts<'_>,
    clock: &Arc<dyn Clock>,
    blobs: Option<&Arc<dyn BlobStore>>,
    authenticator: &Arc<Authenticator>,
) -> Result<Toolbox> {
    let tokens: Arc<dyn ToolTokens> = Arc::new(ToolTokenIssuer::new(Arc::clone(authenticator)));
    let mut built_in = BuiltInTools::new(Arc::clone(clock));
    if let Some(blobs) = blobs {
        built_in = built_in.with_files(Arc::clone(&parts.storage.files), Arc::clone(blobs));
    }
    let built_in_capabilities = built_in.capabilities();
    let mut providers = parts.tools.clone();
    providers.push(Arc::new(built_in));
    for it in &parts.settings.tool_servers {
        if built_in_capabilities
            .iter()
            .any(|capability| capability.name == it.name)
        {
            bail!(
                "the tool server '{}' has the name of a built-in tool; rename it",
                it.name
            );
        }
        providers.push(Arc::new(server(it, parts, &tokens)));
    }
    Ok(Toolbox::new(providers))
}

/// Fails if the program of a tool server cannot be started. The service itself starts anyway,
/// because the program may be installed later.
pub fn check_programs(settings: &Settings) -> Result<()> {
    let servers = settings.tool_servers.iter();
    let missing = servers.filter(|server| !transport(&server.transport, None).has_its_program());
    let invalid: Vec<_> = missing
        .map(|server| {
            let name = server.name.to_ascii_uppercase();
            format!(
                "\n  MCP__SERVERS__{name}__COMMAND must be an existing program that may be executed"
            )
        })
        .collect();
    if invalid.is_empty() {
        return Ok(());
    }
    bail!("the configuration is not valid:{}", invalid.concat())
}

fn server(server: &ToolServer, parts: &Parts<'_>, tokens: &Arc<dyn ToolTokens>) -> McpServer {
    let mut intervals = McpIntervals::default();
    if let Some(call_timeout) = server.call_timeout {
        intervals.call_timeout = call_timeout;
    }
    let config = McpConfig {
        name: server.name.clone(),
        transport: transport(&server.transport, Some(tokens)),
        intervals,
        hints: HintPolicy {
            are_trusted: server.trusts_hints,
            are_repeatable: server.is_repeatable,
        },
    };
    McpServer::start(config, &parts.tool_tasks, parts.stop.clone())
}

fn transport(
    transport: &ToolServerTransport,
    tokens: Option<&Arc<dyn ToolTokens>>,
) -> McpTransport {
    match transport.clone() {
        ToolServerTransport::Http {
            url,
            headers,
            sends_user_token,
        } => McpTransport::Http(HttpEndpoint {
            url,
            headers,
            user_tokens: tokens.filter(|_| sends_user_token).cloned(),
        }),
        ToolServerTransport::Process {
            command,
            arguments,
            environment,
        } => McpTransport::Process(Program {
            command,
            arguments,
            environment,
        }),
    }
}
