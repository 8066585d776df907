use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use contract::fixture;
use ports::{ProvidedTools, ToolArguments, ToolContext, ToolDefinition, ToolError, ToolHints};
use serde_json::json;

use super::*;

fn info(name: &str, kind: CapabilityKind, is_available: bool) -> CapabilityInfo {
    CapabilityInfo {
        name: name.to_owned(),
        kind,
        description: String::new(),
        is_available,
    }
}

fn definition(name: &str) -> Arc<ToolDefinition> {
    Arc::new(ToolDefinition {
        name: name.to_owned(),
        description: String::new(),
        input_schema: json!({ "type": "object" }),
        hints: ToolHints::default(),
    })
}

struct Provider(&'static [&'static str]);

#[async_trait]
impl ToolProvider for Provider {
    fn provided(&self) -> ProvidedTools {
        let capability = |name: &&str| info(name, CapabilityKind::Tool, true);
        ProvidedTools {
            capabilities: self.0.iter().map(capability).collect(),
            tools: self.0.iter().map(|name| definition(name)).collect(),
        }
    }

    async fn call(
        &self,
        name: &str,
        _: &ToolArguments,
        _: &ToolContext,
    ) -> Result<String, ToolError> {
        Ok(format!("{name} of {}", self.0.len()))
    }
}

/// A server. Only one that is available offers its tools.
#[derive(Clone)]
struct Server {
    name: &'static str,
    is_available: bool,
    tools: Vec<String>,
}

impl Server {
    fn connected(name: &'static str, tools: &[&str]) -> Arc<Self> {
        Arc::new(Self {
            name,
            is_available: true,
            tools: tools.iter().map(|&it| it.to_owned()).collect(),
        })
    }

    fn unavailable(name: &'static str, tools: &[&str]) -> Arc<Self> {
        Arc::new(Self {
            is_available: false,
            ..Arc::unwrap_or_clone(Self::connected(name, tools))
        })
    }
}

#[async_trait]
impl ToolProvider for Server {
    fn provided(&self) -> ProvidedTools {
        let server = info(self.name, CapabilityKind::Server, self.is_available);
        let tools = self.tools.iter();
        let tools = tools.map(|name| info(name, CapabilityKind::Tool, self.is_available));
        let offered = self.tools.iter().filter(|_| self.is_available);
        ProvidedTools {
            capabilities: std::iter::once(server).chain(tools).collect(),
            tools: offered.map(|name| definition(name)).collect(),
        }
    }

    async fn call(&self, _: &str, _: &ToolArguments, _: &ToolContext) -> Result<String, ToolError> {
        Err(ToolError::Unavailable("unavailable".into()))
    }
}

fn toolbox() -> Toolbox {
    let built_in = Arc::new(Provider(&["calculator", "time"]));
    let files = Arc::new(Provider(&["files/read", "files/write", "files/x/y"]));
    Toolbox::new(vec![files, built_in])
}

fn agent_with(capabilities: &[&str], entries: &[&str]) -> Agent {
    let mut agent = fixture::agent(1);
    agent.capabilities = capabilities.iter().map(|&it| it.to_owned()).collect();
    if !entries.is_empty() {
        let entries = entries.iter().map(|name| json!({"name": name}));
        agent.config.tools = Some(serde_json::from_value(entries.collect()).unwrap());
    }
    agent
}

#[track_caller]
fn assert_has(capabilities: &[&str], tools: &[&str]) {
    let selected = toolbox().of(&agent_with(capabilities, &[]), &[]).tools;
    let names: Vec<_> = selected
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
fn the_name_of_a_server_selects_all_its_tools_once() {
    let all = ["files/read", "files/write", "files/x/y", "calculator"];
    assert_has(&["files", "files/read", "calculator"], &all);
}

#[test]
fn entries_select_tools_beside_capabilities() {
    let has = |capabilities: &[&str], entries: &[&str], tools: &[&str]| {
        let selected = toolbox().of(&agent_with(capabilities, entries), &[]).tools;
        let names: Vec<_> = selected.iter().map(|it| &*it.definition.name).collect();
        assert_eq!(names, tools);
    };
    has(&["time"], &["files/read", "time"], &["files/read", "time"]);
    has(
        &[],
        &["files/*"],
        &["files/read", "files/write", "files/x/y"],
    );
    has(&[], &["files/x/*", "fil/*", "*"], &[]);
}

#[test]
fn tools_that_a_connected_server_does_not_offer_are_unavailable() {
    let toolbox = Toolbox::new(vec![
        Server::connected("shop", &["shop/find"]),
        Server::connected("empty", &[]),
    ]);
    let agent = agent_with(&["shop/fnd", "shop", "empty", "orders", "crm/find"], &[]);
    let selected = toolbox.of(&agent, &[]);
    assert_eq!(selected.tools.len(), 1);
    assert_eq!(selected.unavailable, ["empty", "shop/fnd"]);
}

#[test]
fn tools_beyond_the_maximum_are_unavailable() {
    let names: Vec<_> = (0..=MAX_TOOLS)
        .map(|number| format!("large/{number:03}"))
        .collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let toolbox = Toolbox::new(vec![Server::connected("large", &names)]);
    let selected = toolbox.of(&agent_with(&["large"], &[]), &[]);
    assert_eq!(selected.tools.len(), MAX_TOOLS);
    assert_eq!(selected.unavailable, ["large/128"]);
}

#[test]
fn unknown_names_are_judged_once() {
    let toolbox = Toolbox::new(vec![
        Arc::new(Provider(&["time"])),
        Server::connected("shop", &["shop/find"]),
        Server::unavailable("mail", &[]),
    ]);
    let names = ["time", "shop/find", "shop/*", "mail/*", "mail/send"];
    let known = agent_with(&["shop", "mail/send", "free/text", "shop/find"], &names);
    assert_eq!(toolbox.unknown_names(&known, None), []);
    let wrong = agent_with(
        &["shop/fnd", "time"],
        &["time", "shop/fnd", "shop", "crm/*", "tme", "crm/find"],
    );
    let pointers = |before| -> Vec<_> {
        let faults = toolbox.unknown_names(&wrong, before).into_iter();
        faults.map(|fault| fault.pointer).collect()
    };
    let mut expected = vec!["/capabilities/0".to_owned()];
    expected.extend((1..=5).map(|index| format!("/config/tools/{index}/name")));
    assert_eq!(pointers(None), expected);
    assert_eq!(pointers(Some(&wrong)), [""; 0]);
    let before = agent_with(&["shop/fnd"], &["shop/fnd", "shop", "crm/*", "tme"]);
    assert_eq!(pointers(Some(&before)), ["/config/tools/5/name"]);
}

#[test]
fn a_rule_calls_a_tool_of_the_client_that_the_agent_has() {
    let mut agent = agent_with(&[], &[]);
    let tools = json!([{"name": "open_cart", "run": "client"}]);
    agent.config.tools = Some(serde_json::from_value(tools).unwrap());
    let rules = json!([{"call": {"tool": "open_cart"}}, {"call": {"tool": "close_cart"}}]);
    agent.config.rules = Some(serde_json::from_value(rules).unwrap());
    let faults = toolbox().unknown_names(&agent, None).into_iter();
    let pointers: Vec<_> = faults.map(|fault| fault.pointer).collect();
    assert_eq!(pointers, ["/config/rules/1/call/tool"]);
}

#[test]
fn unavailable_capabilities_of_an_agent_are_reported() {
    let known = Server::unavailable("mail", &["mail/read", "mail/send"]);
    let never_available = Server::unavailable("maps", &[]);
    let built_in = Arc::new(Provider(&["calculator", "time"]));
    let toolbox = Toolbox::new(vec![built_in, known, never_available]);
    let unavailable_to = |capabilities: &[&str]| {
        let selected = toolbox.of(&agent_with(capabilities, &[]), &[]);
        assert_eq!(selected.tools.len(), 1, "only the tool `time`");
        selected.unavailable
    };
    assert_eq!(unavailable_to(&["time", "orders"]), [""; 0]);
    let all = ["mail", "mail/read", "mail/send"];
    assert_eq!(unavailable_to(&["time", "mail"]), all);
    assert_eq!(unavailable_to(&["time", "mail/send"]), ["mail/send"]);
    assert_eq!(unavailable_to(&["maps/route", "time"]), ["maps/route"]);
}

/// A server that changes between available and unavailable each time it is read.
struct ChangingServer(AtomicBool);

#[async_trait]
impl ToolProvider for ChangingServer {
    fn provided(&self) -> ProvidedTools {
        let is_available = !self.0.fetch_xor(true, Ordering::SeqCst);
        let tools = is_available.then(|| definition("mail/read"));
        ProvidedTools {
            capabilities: vec![
                info("mail", CapabilityKind::Server, is_available),
                info("mail/read", CapabilityKind::Tool, is_available),
            ],
            tools: tools.into_iter().collect(),
        }
    }

    async fn call(&self, _: &str, _: &ToolArguments, _: &ToolContext) -> Result<String, ToolError> {
        Err(ToolError::Unavailable("unavailable".into()))
    }
}

#[test]
fn a_server_that_changes_is_available_or_unavailable_but_not_both() {
    let toolbox = Toolbox::new(vec![Arc::new(ChangingServer(AtomicBool::new(true)))]);
    let agent = agent_with(&["mail/read"], &[]);
    for is_available in [false, true, false] {
        let selected = toolbox.of(&agent, &[]);
        assert_eq!(selected.tools.len(), usize::from(is_available));
        assert_eq!(selected.unavailable.len(), usize::from(!is_available));
    }
}

#[tokio::test]
async fn a_tool_is_called_at_its_provider() {
    let tool = toolbox().of(&agent_with(&["time"], &[]), &[]).tools[0].clone();
    let context = contract::tool_provider::context();
    let result = tool.call(&ToolArguments::new(), &context).await;
    assert_eq!(result.unwrap(), "time of 2");
}

#[test]
fn the_capabilities_of_all_providers_are_listed_by_name() {
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
