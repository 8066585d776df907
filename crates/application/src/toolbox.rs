//! The tools that this server has, and which of them an agent has.

mod metrics;

use std::{collections::BTreeSet, sync::Arc};

use domain::Agent;
pub(crate) use metrics::ToolMetrics;
use ports::{AgentTool, CapabilityInfo, CapabilityKind, ToolProvider};

/// Between the name of a server and that of its tool.
const SEPARATOR: char = '/';

/// The tools that this server has.
#[derive(Default)]
pub struct Toolbox {
    providers: Vec<Arc<dyn ToolProvider>>,
}

impl Toolbox {
    /// The tools of these; names of different providers differ.
    pub fn new(providers: Vec<Arc<dyn ToolProvider>>) -> Self {
        Self { providers }
    }

    /// Every capability that does something, in order of name.
    pub fn capabilities(&self) -> Vec<CapabilityInfo> {
        let providers = self.providers.iter();
        let mut all: Vec<_> = providers.flat_map(|it| it.capabilities()).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    /// What an agent has of all this at the moment: the tools that its capabilities name, and all
    /// of a server that they name.
    pub(crate) fn of(&self, agent: &Agent) -> ToolsOfAgent {
        let named = Named::by(agent);
        if named.0.is_empty() {
            return ToolsOfAgent::default();
        }
        let (mut tools, mut unavailable) = (Vec::new(), BTreeSet::new());
        for provider in &self.providers {
            let provided = provider.provided();
            unavailable.extend(named.unavailable(provided.capabilities));
            let had = provided.tools.into_iter();
            let had = had.filter(|tool| named.gives(&tool.name));
            tools.extend(had.map(|definition| AgentTool {
                definition,
                provider: Arc::clone(provider),
            }));
        }
        ToolsOfAgent {
            tools,
            unavailable: unavailable.into_iter().collect(),
        }
    }
}

/// What an agent has of a toolbox, all at the same moment.
#[derive(Debug, Default)]
pub(crate) struct ToolsOfAgent {
    /// The tools that work.
    pub(crate) tools: Vec<AgentTool>,
    /// Its capabilities that do nothing, in order of name: tools that it has and that do not work,
    /// as far as they are known, and servers that are away.
    pub(crate) unavailable: Vec<String>,
}

/// What an agent names as its capabilities.
struct Named<'a>(BTreeSet<&'a str>);

impl<'a> Named<'a> {
    fn by(agent: &'a Agent) -> Self {
        Self(agent.capabilities.iter().map(String::as_str).collect())
    }

    /// Whether that gives it the capability of this name: it names it, or its server.
    fn gives(&self, name: &str) -> bool {
        let server = server_of(name);
        self.0.contains(name) || server.is_some_and(|server| self.0.contains(server))
    }

    /// What the agent has of these capabilities, or expects of these servers, and cannot have.
    fn unavailable(&self, capabilities: Vec<CapabilityInfo>) -> BTreeSet<String> {
        let mut unavailable = BTreeSet::new();
        for capability in capabilities.into_iter().filter(|it| !it.is_available) {
            // Nobody knows the tools of a server that was never there.
            let of_server = self.0.iter().filter(|name| {
                capability.kind == CapabilityKind::Server
                    && server_of(name) == Some(capability.name.as_str())
            });
            unavailable.extend(of_server.map(|name| (*name).to_owned()));
            if self.gives(&capability.name) {
                unavailable.insert(capability.name);
            }
        }
        unavailable
    }
}

/// The server of a tool, by the tool's name.
fn server_of(name: &str) -> Option<&str> {
    name.split_once(SEPARATOR).map(|(server, _)| server)
}

/// Who has the tool of this name: its server, or else the tool itself.
pub(crate) fn provider_of(name: &str) -> &str {
    server_of(name).unwrap_or(name)
}

#[cfg(test)]
mod tests;
