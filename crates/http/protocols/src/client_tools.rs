//! Tools that clients describe in their requests, and run themselves.

use std::{collections::HashSet, slice};

use domain::{
    ClientTool,
    client_tool::{MAX_BYTES, check_client_tools},
    tool_call::json_bytes,
};
use serde_json::Value;

/// The maximum number of tools that a client adds to a turn.
pub(crate) const MAX_TOOLS: usize = 16;

/// Returns a tool from the members of its description; `None` without a name.
pub(crate) fn client_tool(
    name: &Value,
    description: &Value,
    parameters: &Value,
) -> Option<ClientTool> {
    Some(ClientTool {
        name: name.as_str()?.to_owned(),
        description: description.as_str().unwrap_or_default().to_owned(),
        parameters: parameters.as_object().cloned().unwrap_or_default(),
    })
}

/// Separates tools that can be added, at most `max`, from the others, which are too many, too large or malformed.
pub(crate) fn separate(tools: Vec<ClientTool>, max: usize) -> (Vec<ClientTool>, Vec<ClientTool>) {
    let (mut usable, mut others) = (Vec::new(), Vec::new());
    let mut names = HashSet::new();
    // The brackets of a list, which has a comma less than tools.
    let mut bytes = 1;
    for tool in tools {
        let with_tool = bytes + json_bytes(&tool) + 1;
        let fits = usable.len() < max && with_tool <= MAX_BYTES;
        let is_valid = || check_client_tools(slice::from_ref(&tool)).is_empty();
        if fits && is_valid() && names.insert(tool.name.clone()) {
            bytes = with_tool;
            usable.push(tool);
        } else {
            others.push(tool);
        }
    }
    (usable, others)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str) -> ClientTool {
        client_tool(&json!(name), &Value::Null, &json!({"type": "object"})).unwrap()
    }

    #[test]
    fn tools_that_cannot_be_added_are_separated() {
        let tools = ["a", "b c", "a", "d"].map(tool);
        let (usable, others) = separate(tools.into(), MAX_TOOLS);
        assert_eq!(usable, ["a", "d"].map(tool));
        assert_eq!(others, ["b c", "a"].map(tool));
        let many: Vec<_> = (0..20).map(|number| tool(&format!("t{number}"))).collect();
        assert_eq!(separate(many, 17).0.len(), 17);
    }
}
