//! The implementation of the port.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use ports::{
    BoxError, ProvidedTools, ToolArguments, ToolContext, ToolError, ToolProvider, ToolTokens,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    bearers::{Bearer, Bearers},
    connection::Connector,
    connection_manager::{ConnectionManager, McpIntervals},
    restart_on_panic::restart_on_panic,
    state::State,
    transport::McpTransport,
};

/// The configuration of an MCP server.
#[derive(Clone)]
pub struct McpConfig {
    /// The capability with which an agent has all its tools.
    pub name: String,
    /// Its transport.
    pub transport: McpTransport,
    /// Its intervals and time limits.
    pub intervals: McpIntervals,
    /// What is believed of the effects of its tools.
    pub hints: HintPolicy,
}

/// What is believed of the effects of the tools of a server.
#[derive(Debug, Clone, Copy)]
pub struct HintPolicy {
    /// False if what the server states is ignored.
    pub are_trusted: bool,
    /// True if its tools recognize the id of a call, and do nothing if it is repeated.
    pub are_repeatable: bool,
}

/// The tools of one MCP server.
pub struct McpServer {
    state: Arc<State>,
    call_timeout: Duration,
    user_tokens: Option<UserTokens>,
}

/// The tokens that prove to a server for which user a tool is called.
struct UserTokens {
    issuer: Arc<dyn ToolTokens>,
    /// The URL of the server.
    audience: String,
    bearers: Bearers,
}

impl McpServer {
    /// Connects in the background and stays connected until `stop` is cancelled. Before `tasks` are
    /// done, the connection is closed and the process that was started for it has exited. Needs a
    /// runtime.
    ///
    /// The capabilities are `name`, and `name/…` for each tool.
    pub fn start(config: McpConfig, tasks: &TaskTracker, stop: CancellationToken) -> Self {
        let McpConfig {
            name,
            transport,
            intervals,
            hints,
        } = config;
        let state = Arc::new(State::new(name.clone(), hints));
        let bearers = Bearers::default();
        let user_tokens = UserTokens::of(&transport, &bearers);
        let run = {
            let (state, tasks, stop) = (Arc::clone(&state), tasks.clone(), stop.clone());
            move || {
                let (state, transport, tasks) =
                    (Arc::clone(&state), transport.clone(), tasks.clone());
                let connector = Connector::new(name.clone(), transport, bearers.clone(), tasks);
                ConnectionManager::new(state, connector, intervals, stop.clone()).run()
            }
        };
        tasks.spawn(restart_on_panic(run, intervals.longest_pause, stop));
        Self {
            state,
            call_timeout: intervals.call_timeout,
            user_tokens,
        }
    }

    /// Prepares the token for a call, if the server receives one.
    async fn bearer(&self, context: &ToolContext) -> Result<Option<Bearer>, ToolError> {
        let Some(tokens) = &self.user_tokens else {
            return Ok(None);
        };
        tokens.bearer(context).await.map_err(|error| {
            let (server, call) = (self.state.name(), context.call_id.as_str());
            let reason = ports::error::one_line(&*error);
            tracing::warn!(
                server,
                call,
                reason,
                "there is no token for the user of a tool call; the tool is not called"
            );
            ToolError::Unavailable(error)
        })
    }
}

impl UserTokens {
    fn of(transport: &McpTransport, bearers: &Bearers) -> Option<Self> {
        let McpTransport::Http(endpoint) = transport else {
            return None;
        };
        Some(Self {
            issuer: endpoint.user_tokens.clone()?,
            audience: endpoint.url.clone(),
            bearers: bearers.clone(),
        })
    }

    async fn bearer(&self, context: &ToolContext) -> Result<Option<Bearer>, BoxError> {
        let token = self.issuer.issue(&self.audience, context).await?;
        let bearer = token.map(|token| self.bearers.add(&context.call_id, &token));
        Ok(bearer.transpose()?)
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

    async fn call(
        &self,
        name: &str,
        arguments: &ToolArguments,
        context: &ToolContext,
    ) -> Result<String, ToolError> {
        let route = self.state.route(name);
        let route = route.map_err(|error| ToolError::Unavailable(error.into()))?;
        let _bearer = self.bearer(context).await?;
        let result = route.call(arguments, context).await;
        if let Err(ToolError::Unavailable(_) | ToolError::Lost(_)) = &result {
            self.state.request_check();
        }
        result
    }
}
