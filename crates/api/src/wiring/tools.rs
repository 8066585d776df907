//! What agents can use: the tools that every server has, and those of servers that the
//! configuration names.

use std::sync::Arc;

use anyhow::{Result, bail};
use application::Toolbox;
use built_in_tools::BuiltInTools;
use mcp_tools::{McpServer, McpTransport};
use ports::{Clock, ToolProvider};

use super::Parts;
use crate::settings::{ToolServer, ToolServerTransport};

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

fn server(server: &ToolServer, parts: &Parts<'_>) -> McpServer {
    let transport = match server.transport.clone() {
        ToolServerTransport::Http { url } => McpTransport::Http { url },
        ToolServerTransport::Process {
            command,
            arguments,
            environment,
        } => McpTransport::Process {
            command,
            arguments,
            environment,
        },
    };
    let stop = parts.stop.clone();
    McpServer::start(server.name.clone(), transport, &parts.tasks, stop)
}
