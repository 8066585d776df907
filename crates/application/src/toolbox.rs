//! The tools of this server, and the selection of an agent's tools.

mod function_names;
mod metrics;

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use domain::{
    Agent, ClientTool, FaultCode, InputFault, Rule, RuleCall, ToolEntry,
    fault::push_index,
    handover,
    tool_entry::{server_of_all_tools, server_of_tool},
};
pub(crate) use function_names::function_names;
pub(crate) use metrics::ToolMetrics;
use ports::{AgentTool, CapabilityInfo, CapabilityKind, ToolDefinition, ToolHints, ToolProvider};
use serde_json::Value;

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

    /// Returns the tools that an agent has now: its entries and its capabilities select single tools,
    /// or all tools of a server. `of_chat` are those that the client has added.
    pub(crate) fn of(&self, agent: &Agent, of_chat: &[ClientTool]) -> ToolsOfAgent {
        let named = NamedTools::of(agent);
        let of_client = tools_of_client(agent, of_chat);
        if named.0.is_empty() && of_client.is_empty() {
            return ToolsOfAgent::default();
        }
        let (mut tools, mut unavailable) = (Vec::new(), BTreeSet::new());
        for provider in &self.providers {
            let provided = provider.provided();
            unavailable.extend(named.unavailable(&provided.capabilities));
            let selected = provided.tools.into_iter();
            let selected = selected.filter(|tool| named.selects(&tool.name));
            tools.extend(selected.map(|definition| (definition, provider)));
        }
        let mut tools = offered(tools);
        // A tool of a server wins over one of the client with the same function name.
        let mut taken: HashSet<_> = tools.iter().map(|tool| tool.function.clone()).collect();
        let of_client = of_client
            .into_iter()
            .filter(|it| taken.insert(it.name.clone()));
        tools.extend(of_client.map(|definition| AgentTool {
            function: definition.name.clone(),
            definition,
            provider: None,
        }));
        if tools.len() > MAX_TOOLS {
            tracing::debug!(
                tools = tools.len(),
                "agent has more tools than a request may contain; the rest are not offered"
            );
            let rest = tools.drain(MAX_TOOLS..);
            unavailable.extend(rest.map(|tool| tool.definition.name.clone()));
        }
        ToolsOfAgent {
            tools: tools.into(),
            unavailable: unavailable.into_iter().collect(),
        }
    }

    /// Returns the indices of the tools of a chat whose names the model would see twice, with the agent's tools
    /// of these names.
    pub(crate) fn clashes(&self, agent: &Agent, of_chat: &[ClientTool]) -> Vec<(usize, AgentTool)> {
        if of_chat.is_empty() {
            return Vec::new();
        }
        let own = self.of(agent, &[]);
        let named = |name: &str| own.tools.iter().find(|tool| tool.function == name);
        let tools = of_chat.iter().enumerate();
        tools
            .filter_map(|(index, tool)| Some((index, named(&tool.name)?.clone())))
            .collect()
    }

    /// Returns a fault for each name of an entry or of a rule's call that is neither a built-in tool nor
    /// one of a configured server, and for each capability of the form `<server>/<tool>` that a
    /// connected server does not offer. Names that the agent had `before` stay allowed: an operator may
    /// have removed a tool, and a change of another member must not fail because of it. A rule that
    /// calls a tool that the agent does not name is a fault in any case. Pointers are relative to the
    /// agent.
    pub(crate) fn unknown_names(&self, agent: &Agent, before: Option<&Agent>) -> Vec<InputFault> {
        let known = KnownTools(self.capabilities());
        let mut faults = Vec::new();
        for (index, capability) in agent.capabilities.iter().enumerate() {
            let is_new = before.is_none_or(|before| !before.capabilities.contains(capability));
            if is_new && let Some(fault) = known.fault_of_capability(capability) {
                let mut pointer = String::from("/capabilities");
                push_index(&mut pointer, index);
                faults.push(InputFault::new(pointer, FaultCode::UnknownValue, fault));
            }
        }
        let entries_before = before.map_or(&[][..], |before| before.config.tool_entries());
        for (index, entry) in agent.config.tool_entries().iter().enumerate() {
            let is_new = entries_before.iter().all(|known| known.name != entry.name);
            if is_new
                && !entry.is_of_client()
                && let Some(fault) = known.fault_of_entry(entry)
            {
                let mut pointer = String::from("/config/tools");
                push_index(&mut pointer, index);
                pointer.push_str("/name");
                faults.push(InputFault::new(pointer, FaultCode::UnknownValue, fault));
            }
        }
        let (named, calls_before) = (NamedTools::of(agent), before.map(calls_of_rules));
        let calls_before: Vec<_> = calls_before.into_iter().flatten().collect();
        for (index, call) in calls_of_rules(agent) {
            let entry = agent.config.tool_entry(&call.tool);
            if entry.is_some_and(ToolEntry::is_of_client) {
                continue;
            }
            let is_new = calls_before
                .iter()
                .all(|(_, known)| known.tool != call.tool);
            let fault = named.fault_of_call(&call.tool);
            let fault = fault.or_else(|| known.fault_of_name(&call.tool).filter(|_| is_new));
            if let Some(fault) = fault {
                let mut pointer = String::from("/config/rules");
                push_index(&mut pointer, index);
                pointer.push_str("/call/tool");
                faults.push(InputFault::new(pointer, FaultCode::UnknownValue, fault));
            }
        }
        faults
    }
}

/// Returns the calls of an agent's rules, with the indices of the rules.
fn calls_of_rules(agent: &Agent) -> impl Iterator<Item = (usize, &RuleCall)> {
    let rules = agent.config.rules.iter().flatten().enumerate();
    rules.filter_map(|(index, rule)| Some((index, rule.call.as_ref()?)))
}

/// Gives the tools function names.
fn offered(tools: Vec<(Arc<ToolDefinition>, &Arc<dyn ToolProvider>)>) -> Vec<AgentTool> {
    let names: Vec<_> = tools.iter().map(|(it, _)| it.name.as_str()).collect();
    let functions = function_names(&names);
    let offered = tools.into_iter().zip(functions);
    offered
        .map(|((definition, provider), function)| AgentTool {
            function,
            definition,
            provider: Some(Arc::clone(provider)),
        })
        .collect()
}

/// Returns the tools of the client in a turn: those of the agent, and those of the chat.
fn tools_of_client(agent: &Agent, of_chat: &[ClientTool]) -> Vec<Arc<ToolDefinition>> {
    let entries = agent.config.tool_entries().iter();
    let tools = entries.filter_map(ToolEntry::client_tool);
    let tools = tools.chain(of_chat.iter().cloned());
    tools
        .map(|tool| {
            Arc::new(ToolDefinition {
                name: tool.name,
                description: tool.description,
                input_schema: Value::Object(tool.parameters),
                hints: ToolHints::default(),
            })
        })
        .collect()
}

/// The tools of an agent, read at one moment.
#[derive(Debug, Default)]
pub(crate) struct ToolsOfAgent {
    /// The available tools.
    pub(crate) tools: Arc<[AgentTool]>,
    /// The servers and tools that the agent names and cannot use now, ordered by name.
    pub(crate) unavailable: Vec<String>,
}

/// The tools and servers that an agent names.
struct NamedTools<'a>(BTreeSet<&'a str>);

impl<'a> NamedTools<'a> {
    fn of(agent: &'a Agent) -> Self {
        let entries = agent.config.tool_entries().iter();
        let entries = entries.filter(|entry| !entry.is_of_client());
        let entries = entries.map(|entry| entry.server().unwrap_or(&entry.name));
        let capabilities = agent.capabilities.iter().map(String::as_str);
        let mut rules = agent.config.rules.iter().flatten();
        let of_rules = rules.any(Rule::hands_over).then_some(handover::TOOL);
        Self(capabilities.chain(entries).chain(of_rules).collect())
    }

    /// Returns whether the agent names this tool or its server.
    fn selects(&self, name: &str) -> bool {
        let server = server_of_tool(name);
        self.0.contains(name) || server.is_some_and(|server| self.0.contains(server))
    }

    /// Returns why a rule of the agent may not call a tool.
    fn fault_of_call(&self, name: &str) -> Option<String> {
        if server_of_all_tools(name).is_some() {
            return Some("a rule calls a single tool".to_owned());
        }
        let detail = "must be a tool of the agent: name it in 'tools' or in 'capabilities'";
        (!self.selects(name)).then(|| detail.to_owned())
    }

    /// Returns what the agent names of these capabilities and cannot use: what is unavailable, and
    /// tools that a server does not offer. A server that was never connected offers none.
    fn unavailable(&self, capabilities: &[CapabilityInfo]) -> BTreeSet<String> {
        let available = capabilities.iter().filter(|it| it.is_available);
        let available: HashSet<&str> = available.map(|it| it.name.as_str()).collect();
        let servers = capabilities.iter();
        let servers = servers.filter(|it| it.kind == CapabilityKind::Server);
        let servers: HashSet<&str> = servers.map(|it| it.name.as_str()).collect();
        let has_tools = |server: &str| {
            available
                .iter()
                .any(|tool| server_of_tool(tool) == Some(server))
        };
        let is_missing = |name: &str| match server_of_tool(name) {
            Some(server) => servers.contains(server) && !available.contains(name),
            None => servers.contains(name) && !has_tools(name),
        };
        let missing = self.0.iter().filter(|name| is_missing(name));
        let mut unavailable: BTreeSet<String> = missing.map(|&name| name.to_owned()).collect();
        let selected = capabilities.iter();
        let selected = selected.filter(|it| !it.is_available && self.selects(&it.name));
        unavailable.extend(selected.map(|it| it.name.clone()));
        unavailable
    }
}

/// The capabilities of this server, by which names are judged.
struct KnownTools(Vec<CapabilityInfo>);

impl KnownTools {
    fn server(&self, name: &str) -> Option<&CapabilityInfo> {
        let mut servers = self.0.iter().filter(|it| it.kind == CapabilityKind::Server);
        servers.find(|it| it.name == name)
    }

    fn has_tool(&self, name: &str) -> bool {
        let mut tools = self.0.iter().filter(|it| it.kind == CapabilityKind::Tool);
        tools.any(|it| it.name == name)
    }

    /// Returns why a capability names no tool, although it names a connected server.
    fn fault_of_capability(&self, name: &str) -> Option<String> {
        let server = self.server(server_of_tool(name)?)?;
        (server.is_available && !self.has_tool(name)).then(|| not_offered(&server.name))
    }

    /// Returns why an entry names no tool. The tools of a server that is down are not known.
    fn fault_of_entry(&self, entry: &ToolEntry) -> Option<String> {
        match entry.server() {
            Some(server) => self.server(server).is_none().then(of_no_server),
            None => self.fault_of_name(&entry.name),
        }
    }

    /// Returns why there is no tool with a name.
    fn fault_of_name(&self, name: &str) -> Option<String> {
        if self.has_tool(name) {
            return None;
        }
        match server_of_tool(name).and_then(|server| self.server(server)) {
            Some(server) if !server.is_available => None,
            Some(server) => Some(not_offered(&server.name)),
            None => Some(of_no_server()),
        }
    }
}

fn of_no_server() -> String {
    "is neither a built-in tool nor one of a configured server".to_owned()
}

fn not_offered(server: &str) -> String {
    format!("the server '{server}' does not offer this tool")
}

/// Returns the provider of a tool: its server, or the tool itself if it is built in.
pub(crate) fn provider_of(name: &str) -> &str {
    server_of_tool(name).unwrap_or(name)
}

#[cfg(test)]
mod tests;
