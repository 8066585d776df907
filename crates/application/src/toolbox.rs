//! The tools that this server has, and which of them an agent has.

use std::{collections::BTreeSet, sync::Arc};

use domain::Agent;
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

    /// The tools of an agent that work at the moment: those that its capabilities name, and all of
    /// a server that they name.
    pub fn tools_of(&self, agent: &Agent) -> Vec<AgentTool> {
        let named = Named::by(agent);
        if named.0.is_empty() {
            return Vec::new();
        }
        let of_provider = |provider: &Arc<dyn ToolProvider>| {
            let tools = provider.tools().into_iter();
            let had = tools.filter(|tool| named.gives(&tool.name));
            let bound = had.map(|definition| AgentTool {
                definition,
                provider: Arc::clone(provider),
            });
            bound.collect::<Vec<_>>()
        };
        self.providers.iter().flat_map(of_provider).collect()
    }

    /// The capabilities of an agent that do nothing at the moment, in order of name: tools that it
    /// has and that do not work, as far as they are known, and servers that are away.
    pub fn unavailable_to(&self, agent: &Agent) -> Vec<String> {
        let named = Named::by(agent);
        if named.0.is_empty() {
            return Vec::new();
        }
        let mut unavailable = BTreeSet::new();
        for capability in self.providers.iter().flat_map(|it| it.capabilities()) {
            if capability.is_available {
                continue;
            }
            // Nobody knows the tools of a server that was never there.
            let of_server = named.0.iter().filter(|name| {
                capability.kind == CapabilityKind::Server
                    && server_of(name) == Some(capability.name.as_str())
            });
            unavailable.extend(of_server.map(|name| (*name).to_owned()));
            if named.gives(&capability.name) {
                unavailable.insert(capability.name);
            }
        }
        unavailable.into_iter().collect()
    }
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
mod tests {
    use async_trait::async_trait;
    use contract::samples;
    use ports::{ToolArguments, ToolDefinition, ToolError};
    use serde_json::json;

    use super::*;

    struct Provider(&'static [&'static str]);

    #[async_trait]
    impl ToolProvider for Provider {
        fn capabilities(&self) -> Vec<CapabilityInfo> {
            let info = |name: &&str| CapabilityInfo {
                name: (*name).to_owned(),
                kind: CapabilityKind::Tool,
                description: String::new(),
                is_available: true,
            };
            self.0.iter().map(info).collect()
        }

        fn tools(&self) -> Vec<Arc<ToolDefinition>> {
            let definition = |name: &&str| {
                Arc::new(ToolDefinition {
                    name: (*name).to_owned(),
                    description: String::new(),
                    input_schema: json!({ "type": "object" }),
                })
            };
            self.0.iter().map(definition).collect()
        }

        async fn call(&self, name: &str, _: &ToolArguments) -> Result<String, ToolError> {
            Ok(format!("{name} of {}", self.0.len()))
        }
    }

    fn toolbox() -> Toolbox {
        let built_in = Arc::new(Provider(&["calculator", "time"]));
        let files = Arc::new(Provider(&["files/read", "files/write", "files/x/y"]));
        Toolbox::new(vec![files, built_in])
    }

    #[track_caller]
    fn assert_has(capabilities: &[&str], tools: &[&str]) {
        let mut agent = samples::agent(1);
        agent.capabilities = capabilities.iter().map(|&it| it.to_owned()).collect();
        let had = toolbox().tools_of(&agent);
        let names: Vec<_> = had
            .iter()
            .map(|tool| tool.definition.name.as_str())
            .collect();
        assert_eq!(names, tools);
    }

    #[test]
    fn an_agent_has_the_tools_that_it_names() {
        assert_has(&["time", "orders"], &["time"]);
        assert_has(&["files/write"], &["files/write"]);
        assert_has(&["orders", "Time", "file", "files/"], &[]);
        assert_has(&[], &[]);
    }

    #[test]
    fn the_name_of_a_server_gives_all_its_tools_once() {
        let all = ["files/read", "files/write", "files/x/y", "calculator"];
        assert_has(&["files", "files/read", "calculator"], &all);
    }

    /// A server that is away, and knew these tools.
    struct Away(&'static str, &'static [&'static str]);

    #[async_trait]
    impl ToolProvider for Away {
        fn capabilities(&self) -> Vec<CapabilityInfo> {
            let info = |name: &str, kind| CapabilityInfo {
                name: name.to_owned(),
                kind,
                description: String::new(),
                is_available: false,
            };
            let server = info(self.0, CapabilityKind::Server);
            let tools = self.1.iter().map(|name| info(name, CapabilityKind::Tool));
            std::iter::once(server).chain(tools).collect()
        }

        fn tools(&self) -> Vec<Arc<ToolDefinition>> {
            Vec::new()
        }

        async fn call(&self, _: &str, _: &ToolArguments) -> Result<String, ToolError> {
            Err(ToolError::Unavailable("it is away".into()))
        }
    }

    #[test]
    fn what_an_agent_has_and_is_away_is_unavailable_to_it() {
        let known = Arc::new(Away("mail", &["mail/read", "mail/send"]));
        let never_there = Arc::new(Away("maps", &[]));
        let built_in = Arc::new(Provider(&["calculator", "time"]));
        let toolbox = Toolbox::new(vec![built_in, known, never_there]);
        let unavailable_to = |capabilities: &[&str]| {
            let mut agent = samples::agent(1);
            agent.capabilities = capabilities.iter().map(|&it| it.to_owned()).collect();
            assert_eq!(toolbox.tools_of(&agent).len(), 1, "the time alone");
            toolbox.unavailable_to(&agent)
        };
        assert_eq!(unavailable_to(&["time", "orders"]), [""; 0]);
        let all = ["mail", "mail/read", "mail/send"];
        assert_eq!(unavailable_to(&["time", "mail"]), all);
        assert_eq!(unavailable_to(&["time", "mail/send"]), ["mail/send"]);
        assert_eq!(unavailable_to(&["maps/route", "time"]), ["maps/route"]);
    }

    #[tokio::test]
    async fn a_tool_is_called_where_it_is() {
        let mut agent = samples::agent(1);
        agent.capabilities = vec!["time".to_owned()];
        let tool = toolbox().tools_of(&agent).remove(0);
        assert_eq!(tool.call(&ToolArguments::new()).await.unwrap(), "time of 2");
    }

    #[test]
    fn capabilities_of_all_are_listed_by_name() {
        let names: Vec<_> = toolbox()
            .capabilities()
            .into_iter()
            .map(|it| it.name)
            .collect();
        let expected = [
            "calculator",
            "files/read",
            "files/write",
            "files/x/y",
            "time",
        ];
        assert_eq!(names, expected);
    }
}
