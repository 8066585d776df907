//! The implementation of the port.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use ports::{ProvidedTools, ToolArguments, ToolError, ToolProvider};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    connection_manager::{ConnectionManager, McpIntervals},
    restart_on_panic::restart_on_panic,
    state::State,
    transport::McpTransport,
};

/// The tools of one MCP server.
pub struct McpServer {
    state: Arc<State>,
    call_timeout: Duration,
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
        Self {
            state,
            call_timeout: intervals.call_timeout,
        }
    }
}

#[async_trait]
impl ToolProvider for McpServer {
    fn provided(&self) -> ProvidedTools {
        self.state.provided()
    }

    fn call_timeout(&self) -> Option<Duration> {
        Some(self.call_timeout)
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
