//! What agents can use: the tools that every server has, and those of servers that the
//! configuration names.

use std::sync::Arc;

use application::Toolbox;
use built_in_tools::BuiltInTools;
use mcp_tools::{McpServer, McpTransport};
use ports::{Clock, ToolProvider};

use super::Parts;
use crate::settings::{ToolServer, ToolServerTransport};

/// Puts them together; servers are connected to in the background.
pub(super) fn toolbox(parts: &Parts<'_>, clock: &Arc<dyn Clock>) -> Toolbox {
    let built_in: Arc<dyn ToolProvider> = Arc::new(BuiltInTools::new(Arc::clone(clock)));
    let servers = parts.settings.tool_servers.iter();
    let servers = servers.map(|it| -> Arc<dyn ToolProvider> { Arc::new(server(it, parts)) });
    Toolbox::new(std::iter::once(built_in).chain(servers).collect())
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
