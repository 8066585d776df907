//! The tools in the configuration of an agent.

use std::{collections::HashSet, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    AgentConfig, Approver, Audience, ClientTool, FaultCode, InputFault, ToolVisibility,
    UnknownMembers, client_tool::fault_of_parameters, fault::push_index, open_enum::open_enum,
    tool_call::is_function_name,
};

/// Ends the name of an entry that is about all tools of a server.
const ALL_TOOLS: &str = "/*";

/// The separator between the name of a server and that of its tool.
const SEPARATOR: char = '/';

/// A tool of an agent, and how its calls are made and shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ToolEntry {
    /// A built-in tool, `<server>/<tool>`, or `<server>/*` for all tools of a server, also those that
    /// it adds later. An exact name wins over `*`, and an entry over a capability. A name stands
    /// once.
    #[cfg_attr(
        feature = "schema",
        schema(
            min_length = 1,
            max_length = 64,
            pattern = r"^[^\x00-\x1f\x7f-\x9f]*$",
            example = "crm/*"
        )
    )]
    pub name: String,
    /// Who runs the tool: the `server`, or the `client` that sent the message. A tool of the client has a
    /// name of 1 to 64 letters, digits, `_` and `-`, a description and a schema of its arguments; the turn
    /// waits for its output. Default: `server`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub run: Option<ToolRunner>,
    /// The description of a tool of the client, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(max_length = 1024, nullable = false))]
    pub description: Option<String>,
    /// The JSON Schema of the arguments of a tool of the client: an object, at most 16 KiB, nested at most
    /// 16 deep, without references to other documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>, nullable = false))]
    pub parameters: Option<Map<String, Value>>,
    /// Whether a person must approve a call: `never`, `always`, or if the tool is `destructive`: if it
    /// says so, or says neither that it only reads nor that it is not. Default: `destructive`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub approval: Option<Approval>,
    /// Who approves a call: the `user` of the conversation (also keys and OAuth clients), or `staff`, with
    /// the scope `tools:approve`. The turn does not wait for staff. Default: `user`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub approver: Option<Approver>,
    /// What users see of the calls. Default: `status`; `full` for tools of the client, and for calls that
    /// the user must approve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub visibility: Option<ToolVisibility>,
    /// Time limit of a call in milliseconds, whether or not the tool reports progress. Default: the
    /// server's limit, or 15000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(minimum = 100, maximum = 600_000, nullable = false)
    )]
    pub timeout_ms: Option<u32>,
    /// The members that only a newer version knows.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub unknown: UnknownMembers,
}

open_enum! {
    /// Who runs a tool.
    ToolRunner[15] {
        /// The service, or a tool server.
        Server = "server",
        /// The client that sent the message.
        Client = "client",
    }
}

open_enum! {
    /// Whether a person must approve a call.
    Approval[15] {
        /// No.
        Never = "never",
        /// Yes.
        Always = "always",
        /// If the tool may replace or remove something.
        Destructive = "destructive",
    }
}

impl ToolEntry {
    /// Returns whether the client runs the tool.
    pub fn is_of_client(&self) -> bool {
        self.run == Some(ToolRunner::Client)
    }

    /// Returns whether a person must approve a call. `is_destructive` is true unless the tool says that it
    /// is not. A value of a newer version requires it.
    pub fn requires_approval(&self, is_destructive: bool) -> bool {
        match self.approval.unwrap_or(Approval::Destructive) {
            Approval::Never => false,
            Approval::Destructive => is_destructive,
            Approval::Always | Approval::Other(_) => true,
        }
    }

    /// Returns who approves a call that requires it.
    pub fn approver(&self) -> Approver {
        self.approver.unwrap_or(Approver::User)
    }

    /// Returns a fault for each member that does not fit the others. Pointers are relative to the entry.
    fn check(&self) -> Vec<InputFault> {
        let mut faults = Vec::new();
        let mut fault = |member: &str, code, detail: &str| {
            faults.push(InputFault::new(member.to_owned(), code, detail.to_owned()));
        };
        if self.is_of_client() {
            if !is_function_name(&self.name) {
                let detail =
                    "must be 1 to 64 letters, digits, '_' and '-' for a tool of the client";
                fault("/name", FaultCode::BadFormat, detail);
            }
            let alone = "cannot be combined with run 'client'";
            if self.approval.is_some() {
                fault("/approval", FaultCode::NotCombinable, alone);
            }
            if self.approver.is_some() {
                fault("/approver", FaultCode::NotCombinable, alone);
            }
            if self.timeout_ms.is_some() {
                fault("/timeoutMs", FaultCode::NotCombinable, alone);
            }
            if let Some(detail) = self.parameters.as_ref().and_then(fault_of_parameters) {
                fault("/parameters", FaultCode::BadFormat, detail);
            }
            return faults;
        }
        let of_client = "is only for tools with run 'client'";
        if self.description.is_some() {
            fault("/description", FaultCode::NotCombinable, of_client);
        }
        if self.parameters.is_some() {
            fault("/parameters", FaultCode::NotCombinable, of_client);
        }
        let is_hidden = self.visibility == Some(ToolVisibility::Hidden);
        let is_user_asked = self.approval.is_some() && self.approver() == Approver::User;
        if is_hidden && self.requires_approval(true) && is_user_asked {
            let detail = "'none' cannot be combined with approval by the user";
            fault("/visibility", FaultCode::NotCombinable, detail);
        }
        faults
    }

    /// Returns the server if the entry is about all its tools.
    pub fn server(&self) -> Option<&str> {
        server_of_all_tools(&self.name)
    }

    /// Returns the tool of the client that the entry describes; `None` if it is about others.
    pub fn client_tool(&self) -> Option<ClientTool> {
        self.is_of_client().then(|| ClientTool {
            name: self.name.clone(),
            description: self.description.clone().unwrap_or_default(),
            parameters: self.parameters.clone().unwrap_or_default(),
        })
    }

    /// Returns the time limit of a call, if the entry has one.
    pub fn timeout(&self) -> Option<Duration> {
        let milliseconds = self.timeout_ms?;
        Some(Duration::from_millis(milliseconds.into()))
    }
}

/// Returns the server if a name is about all its tools.
pub fn server_of_all_tools(name: &str) -> Option<&str> {
    let server = name.strip_suffix(ALL_TOOLS)?;
    (!server.is_empty() && !server.contains(SEPARATOR)).then_some(server)
}

/// Returns the server of a tool, by the tool's name; `None` if the tool is built in.
pub fn server_of_tool(name: &str) -> Option<&str> {
    name.split_once(SEPARATOR).map(|(server, _)| server)
}

impl AgentConfig {
    /// Returns the entries of the agent's tools.
    pub fn tool_entries(&self) -> &[ToolEntry] {
        self.tools.as_deref().unwrap_or_default()
    }

    /// Returns the entry about a tool: that of its name, or else that of all tools of its server.
    pub fn tool_entry(&self, name: &str) -> Option<&ToolEntry> {
        let entries = self.tool_entries();
        let exact = entries.iter().find(|entry| entry.name == name);
        exact.or_else(|| {
            let server = server_of_tool(name)?;
            entries.iter().find(|entry| entry.server() == Some(server))
        })
    }

    /// Returns whether an audience may learn that the agent has a tool.
    pub fn shows_tool(&self, name: &str, audience: Audience) -> bool {
        let visibility = self.tool_entry(name).and_then(|entry| entry.visibility);
        audience.sees(visibility) != ToolVisibility::Hidden
    }

    /// Returns the visibility of a call of an unknown tool. It may be a tool that the agent had or
    /// is going to have, so users see no more of it than of any of the agent's tools.
    pub fn visibility_of_unknown_tools(&self) -> Option<ToolVisibility> {
        let hides = |entry: &ToolEntry| {
            let visibility = entry.visibility.unwrap_or_default();
            !matches!(visibility, ToolVisibility::Full | ToolVisibility::Status)
        };
        let is_any_hidden = self.tool_entries().iter().any(hides);
        is_any_hidden.then_some(ToolVisibility::Hidden)
    }

    /// Returns the time for which a turn waits for an answer.
    pub fn action_timeout(&self) -> Duration {
        Duration::from_secs(self.action_timeout_seconds.map_or(604_800, u64::from))
    }

    /// Returns the maximum number of responses with tool calls in a turn.
    pub fn tool_rounds(&self) -> usize {
        self.max_tool_rounds.map_or(8, usize::from)
    }

    /// Returns the maximum number of tool calls in a turn.
    pub fn tool_calls(&self) -> usize {
        self.max_tool_calls.map_or(16, usize::from)
    }

    /// Returns a fault for each entry whose members do not fit each other, and for each name that stands
    /// twice. Pointers are relative to the configuration.
    pub(crate) fn check_tools(&self) -> Vec<InputFault> {
        let mut names = HashSet::new();
        let entries = self.tool_entries().iter().enumerate();
        let mut faults = Vec::new();
        for (index, entry) in entries {
            let mut of_entry = entry.check();
            if !names.insert(entry.name.as_str()) {
                let (member, detail) = ("/name", "stands here twice");
                of_entry.push(InputFault::new(member, FaultCode::DuplicateItem, detail));
            }
            faults.extend(of_entry.into_iter().map(|fault| {
                let mut pointer = String::from("/tools");
                push_index(&mut pointer, index);
                pointer.push_str(&fault.pointer);
                InputFault { pointer, ..fault }
            }));
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(tools: &Value) -> AgentConfig {
        serde_json::from_value(json!({ "tools": tools })).unwrap()
    }

    #[test]
    fn an_exact_name_wins_over_all_tools_of_a_server() {
        let config = config(&json!([
            {"name": "crm/*", "visibility": "none"},
            {"name": "crm/find", "timeoutMs": 100},
            {"name": "time"},
        ]));
        let entry = |name| config.tool_entry(name).map(|entry| entry.name.as_str());
        assert_eq!(entry("crm/find"), Some("crm/find"));
        assert_eq!(entry("crm/find/deep"), Some("crm/*"));
        assert_eq!(entry("crm/delete"), Some("crm/*"));
        assert_eq!(entry("time"), Some("time"));
        for other in ["crm", "calculator", "crm2/find", "time/x"] {
            assert_eq!(entry(other), None, "{other}");
        }
        let limit = config.tool_entry("crm/find").unwrap().timeout();
        assert_eq!(limit, Some(Duration::from_millis(100)));
    }

    #[test]
    fn a_name_stands_once() {
        let config = config(&json!([{"name": "time"}, {"name": "a/*"}, {"name": "time"}]));
        let faults = config.check_tools();
        let [fault] = &faults[..] else {
            panic!("{faults:?}")
        };
        assert_eq!(fault.pointer, "/tools/2/name");
        assert_eq!(fault.code, FaultCode::DuplicateItem);
    }

    #[test]
    fn unknown_tools_are_hidden_if_any_tool_is() {
        let shown = config(&json!([{"name": "a", "visibility": "full"}, {"name": "b"}]));
        assert_eq!(shown.visibility_of_unknown_tools(), None);
        for visibility in ["none", "of a newer version"] {
            let hidden = config(&json!([{"name": "a", "visibility": visibility}]));
            let unknown = hidden.visibility_of_unknown_tools();
            assert_eq!(unknown, Some(ToolVisibility::Hidden));
        }
    }

    #[test]
    fn limits_have_defaults() {
        let config = AgentConfig::default();
        assert_eq!((config.tool_rounds(), config.tool_calls()), (8, 16));
    }
}
