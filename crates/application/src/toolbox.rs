//! The tools of this server, and the selection of an agent's tools.

mod function_names;
mod metrics;

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use domain::Agent;
pub(crate) use function_names::function_names;
pub(crate) use metrics::ToolMetrics;
use ports::{AgentTool, CapabilityInfo, CapabilityKind, ToolDefinition, ToolProvider};

/// The separator between the name of a server and that of its tool.
const SEPARATOR: char = '/';

/// The maximum number of tools in a request: `OpenAI` and others reject requests with more.
const MAX_TOOLS: usize = 128;

/// The tools of this server.
#[derive(Default)]
pub struct Toolbox {
    providers: Vec<Arc<dyn ToolProvider>>,
}

impl Toolbox {
    /// Creates a toolbox of these providers, whose names must differ.
    pub fn new(providers: Vec<Arc<dyn ToolProvider>>) -> Self {
        Self { providers }
    }

    /// Returns every capability that selects tools, ordered by name.
    pub fn capabilities(&self) -> Vec<CapabilityInfo> {
        let providers = self.providers.iter();
        let mut all: Vec<_> = providers.flat_map(|it| it.capabilities()).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    /// Returns the tools that an agent has now: its capabilities select single tools, or all tools
    /// of a server.
    pub(crate) fn of(&self, agent: &Agent) -> ToolsOfAgent {
        let named = NamedCapabilities::of(agent);
        if named.0.is_empty() {
            return ToolsOfAgent::default();
        }
        let (mut tools, mut unavailable) = (Vec::new(), BTreeSet::new());
        for provider in &self.providers {
            let provided = provider.provided();
            unavailable.extend(named.unavailable(provided.capabilities));
            let selected = provided.tools.into_iter();
            let selected = selected.filter(|tool| named.selects(&tool.name));
            tools.extend(selected.map(|definition| (definition, provider)));
        }
        ToolsOfAgent {
            tools: offered(tools),
            unavailable: unavailable.into_iter().collect(),
        }
    }
}

/// Gives the tools function names, without duplicates and up to the maximum of a request.
fn offered(mut tools: Vec<(Arc<ToolDefinition>, &Arc<dyn ToolProvider>)>) -> Arc<[AgentTool]> {
    let mut seen = HashSet::new();
    tools.retain(|(definition, _)| seen.insert(definition.name.clone()));
    if tools.len() > MAX_TOOLS {
        tracing::debug!(
            tools = tools.len(),
            "agent has more tools than a request may contain; the rest are not offered"
        );
        tools.truncate(MAX_TOOLS);
    }
    let names: Vec<_> = tools.iter().map(|(it, _)| it.name.as_str()).collect();
    let functions = function_names(&names);
    let offered = tools.into_iter().zip(functions);
    offered
        .map(|((definition, provider), function)| AgentTool {
            function,
            definition,
            provider: Arc::clone(provider),
        })
        .collect()
}

/// The tools of an agent, read at one moment.
#[derive(Debug, Default)]
pub(crate) struct ToolsOfAgent {
    /// The available tools.
    pub(crate) tools: Arc<[AgentTool]>,
    /// The agent's capabilities that are unavailable now, ordered by name: servers and known tools.
    pub(crate) unavailable: Vec<String>,
}

/// The capabilities that an agent names.
struct NamedCapabilities<'a>(BTreeSet<&'a str>);

impl<'a> NamedCapabilities<'a> {
    fn of(agent: &'a Agent) -> Self {
        Self(agent.capabilities.iter().map(String::as_str).collect())
    }

    /// Returns whether the agent names this capability or its server.
    fn selects(&self, name: &str) -> bool {
        let server = server_of(name);
        self.0.contains(name) || server.is_some_and(|server| self.0.contains(server))
    }

    /// Returns the unavailable ones of these capabilities that the agent names, and the named tools
    /// of unavailable servers.
    fn unavailable(&self, capabilities: Vec<CapabilityInfo>) -> BTreeSet<String> {
        let mut unavailable = BTreeSet::new();
        for capability in capabilities.into_iter().filter(|it| !it.is_available) {
            // The tools of a server that was never available are unknown.
            let of_server = self.0.iter().filter(|name| {
                capability.kind == CapabilityKind::Server
                    && server_of(name) == Some(capability.name.as_str())
            });
            unavailable.extend(of_server.map(|name| (*name).to_owned()));
            if self.selects(&capability.name) {
                unavailable.insert(capability.name);
            }
        }
        unavailable
    }
}

/// Returns the server of a tool, by the tool's name.
fn server_of(name: &str) -> Option<&str> {
    name.split_once(SEPARATOR).map(|(server, _)| server)
}

/// Returns the provider of a tool: its server, or the tool itself if it is built in.
pub(crate) fn provider_of(name: &str) -> &str {
    server_of(name).unwrap_or(name)
}

#[cfg(test)]
mod tests;
