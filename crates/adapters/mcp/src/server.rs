//! The implementation of the port.

use std::sync::Arc;

use async_trait::async_trait;
use ports::{ProvidedTools, ToolArguments, ToolError, ToolProvider};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    connection_manager::{ConnectionManager, McpIntervals},
    state::State,
    supervision::restart_on_panic,
    transport::McpTransport,
};

/// The tools of one MCP server.
pub struct McpServer {
    state: Arc<State>,
}

impl McpServer {
    /// Connects in the background and stays connected until `stop` is cancelled. Before `tasks` are
    /// done, the connection is closed and the process that was started for it has exited. Needs a
    /// runtime.
    ///
    /// The capabilities are `name`, and `name/…` for each tool.
    pub fn start(
        name: String,
        transport: McpTransport,
        tasks: &TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        Self::start_with(name, transport, McpIntervals::default(), tasks, stop)
    }

    /// Like [`Self::start`], with other intervals.
    pub fn start_with(
        name: String,
        transport: McpTransport,
        intervals: McpIntervals,
        tasks: &TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let state = Arc::new(State::new(name));
        let run = {
            let (state, tasks, stop) = (Arc::clone(&state), tasks.clone(), stop.clone());
            move || {
                let (state, tasks, stop) = (Arc::clone(&state), tasks.clone(), stop.clone());
                ConnectionManager::new(state, transport.clone(), intervals, tasks, stop).run()
            }
        };
        tasks.spawn(restart_on_panic(run, intervals.longest_pause, stop));
        Self { state }
    }
}

#[async_trait]
impl ToolProvider for McpServer {
    fn provided(&self) -> ProvidedTools {
        self.state.provided()
    }

    async fn call(&self, name: &str, arguments: &ToolArguments) -> Result<String, ToolError> {
        let route = self.state.route(name);
        let route = route.map_err(|error| ToolError::Unavailable(error.into()))?;
        let result = route.call(arguments).await;
        if let Err(ToolError::Unavailable(_)) = &result {
            self.state.request_check();
        }
        result
    }
}
