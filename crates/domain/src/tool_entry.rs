//! The tools in the configuration of an agent.

use std::{collections::HashSet, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    AgentConfig, FaultCode, InputFault, ToolVisibility, UnknownMembers, fault::push_index,
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
    /// What users see of the calls. Default: `status`.
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

impl ToolEntry {
    /// Returns the server if the entry is about all its tools.
    pub fn server(&self) -> Option<&str> {
        let server = self.name.strip_suffix(ALL_TOOLS)?;
        (!server.is_empty() && !server.contains(SEPARATOR)).then_some(server)
    }

    /// Returns the time limit of a call, if the entry has one.
    pub fn timeout(&self) -> Option<Duration> {
        let milliseconds = self.timeout_ms?;
        Some(Duration::from_millis(milliseconds.into()))
    }
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

    /// Returns the maximum number of responses with tool calls in a turn.
    pub fn tool_rounds(&self) -> usize {
        self.max_tool_rounds.map_or(8, usize::from)
    }

    /// Returns the maximum number of tool calls in a turn.
    pub fn tool_calls(&self) -> usize {
        self.max_tool_calls.map_or(16, usize::from)
    }

    /// Returns a fault for each name that stands twice. Pointers are relative to the configuration.
    pub(crate) fn check_tools(&self) -> Vec<InputFault> {
        let mut names = HashSet::new();
        let entries = self.tool_entries().iter().enumerate();
        let repeated = entries.filter(|(_, entry)| !names.insert(entry.name.as_str()));
        repeated
            .map(|(index, _)| {
                let mut pointer = String::from("/tools");
                push_index(&mut pointer, index);
                pointer.push_str("/name");
                InputFault::new(pointer, FaultCode::DuplicateItem, "stands here twice")
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

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
