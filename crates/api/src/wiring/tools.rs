//! What agents can use: the tools that every server has, and those of servers that the
//! configuration names.

use std::sync::Arc;

use anyhow::{Result, bail};
use application::Toolbox;
use built_in_tools::BuiltInTools;
use mcp_tools::{McpServer, McpTransport, Program};
use ports::{Clock, ToolProvider};

use super::Parts;
use crate::settings::{Settings, ToolServer, ToolServerTransport};

/// Puts them together; servers are connected to in the background.
pub(super) fn toolbox(parts: &Parts<'_>, clock: &Arc<dyn Clock>) -> Result<Toolbox> {
    let built_in = BuiltInTools::new(Arc::clone(clock));
    let taken = built_in.capabilities();
    let mut providers: Vec<Arc<dyn ToolProvider>> = vec![Arc::new(built_in)];
    for it in &parts.settings.tool_servers {
        if taken.iter().any(|capability| capability.name == it.name) {
            bail!("the server of tools '{}' has the name of a tool", it.name);
        }
        providers.push(Arc::new(server(it, parts)));
    }
    Ok(Toolbox::new(providers))
}

/// Says which servers of tools have a program that cannot be started. The service starts all the
/// same: it may come later.
pub fn check_programs(settings: &Settings) -> Result<()> {
    let servers = settings.tool_servers.iter();
    let missing = servers.filter(|server| !transport(&server.transport).has_its_program());
    let told: Vec<_> = missing
        .map(|server| {
            let name = server.name.to_ascii_uppercase();
            format!("\n  MCP__SERVERS__{name}__COMMAND must be a program that is there and may be executed")
        })
        .collect();
    if told.is_empty() {
        return Ok(());
    }
    bail!("the configuration is not valid:{}", told.concat())
}

fn server(server: &ToolServer, parts: &Parts<'_>) -> McpServer {
    let stop = parts.stop.clone();
    let transport = transport(&server.transport);
    McpServer::start(server.name.clone(), transport, &parts.tool_tasks, stop)
}

fn transport(transport: &ToolServerTransport) -> McpTransport {
    match transport.clone() {
        ToolServerTransport::Http { url } => McpTransport::Http { url },
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
