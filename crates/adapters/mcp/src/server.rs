//! The port.

use std::sync::Arc;

use async_trait::async_trait;
use ports::{Provided, ToolArguments, ToolError, ToolProvider};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    keeper::{Keeper, McpTimes},
    state::State,
    supervision::outlive_panics,
    way::McpTransport,
};

/// The tools of one server.
pub struct McpServer {
    state: Arc<State>,
}

impl McpServer {
    /// Connects in the background, and keeps connected until `stop`: then the connection is closed
    /// and a process that was started for it has ended before `tasks` are done. Needs a runtime.
    ///
    /// Its capabilities are `name`, and `name/…` for each tool.
    pub fn start(
        name: String,
        transport: McpTransport,
        tasks: &TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        Self::start_with(name, transport, McpTimes::default(), tasks, stop)
    }

    /// As [`Self::start`], with other times.
    pub fn start_with(
        name: String,
        transport: McpTransport,
        times: McpTimes,
        tasks: &TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let state = Arc::new(State::new(name));
        let keep = {
            let (state, tasks, stop) = (Arc::clone(&state), tasks.clone(), stop.clone());
            move || {
                let (state, tasks, stop) = (Arc::clone(&state), tasks.clone(), stop.clone());
                Keeper::new(state, transport.clone(), times, tasks, stop).keep()
            }
        };
        tasks.spawn(outlive_panics(keep, times.longest_pause, stop));
        Self { state }
    }
}

#[async_trait]
impl ToolProvider for McpServer {
    fn provided(&self) -> Provided {
        self.state.provided()
    }

    async fn call(&self, name: &str, arguments: &ToolArguments) -> Result<String, ToolError> {
        let route = self.state.route(name);
        let route = route.map_err(|error| ToolError::Unavailable(error.into()))?;
        let answer = route.call(arguments).await;
        if let Err(ToolError::Unavailable(_)) = &answer {
            self.state.suspect();
        }
        answer
    }
}
