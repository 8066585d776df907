//! Tools that the client of a chat runs, as the client describes them.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    FaultCode, InputFault,
    fault::push_index,
    tool_call::is_function_name,
    tool_call::{is_nested_deeper, json_bytes},
};

/// The maximum number of bytes of the schema of a tool, and of its nested levels.
const MAX_SCHEMA_BYTES: usize = 16 * 1024;
const MAX_SCHEMA_LEVELS: usize = 16;
/// The maximum number of bytes of the tools of a chat, as JSON.
pub const MAX_BYTES: usize = 32 * 1024;

/// A tool that the client runs. The turn waits for its output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ClientTool {
    /// The name.
    #[cfg_attr(
        feature = "schema",
        schema(
            min_length = 1,
            max_length = 64,
            pattern = "^[A-Za-z0-9_-]*$",
            example = "open_cart"
        )
    )]
    pub name: String,
    /// The description, for the model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "schema", schema(max_length = 1024))]
    pub description: String,
    /// The JSON Schema of the arguments: an object, at most 16 KiB, nested at most 16 deep, without
    /// references to other documents.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub parameters: Map<String, Value>,
}

/// Returns a fault for each tool of a chat that is not accepted. Pointers are relative to the list.
pub fn check_client_tools(tools: &[ClientTool]) -> Vec<InputFault> {
    if json_bytes(&tools) > MAX_BYTES {
        let detail = "must be at most 32 KiB of JSON";
        return vec![InputFault::new("", FaultCode::TooLong, detail)];
    }
    let mut names = HashSet::new();
    let mut faults = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let mut fault = |member: &str, code, detail: &str| {
            let mut pointer = String::new();
            push_index(&mut pointer, index);
            pointer.push_str(member);
            faults.push(InputFault::new(pointer, code, detail));
        };
        if !is_function_name(&tool.name) {
            let detail = "must be 1 to 64 letters, digits, '_' and '-'";
            fault("/name", FaultCode::BadFormat, detail);
        }
        if !names.insert(tool.name.as_str()) {
            fault("/name", FaultCode::DuplicateItem, "stands here twice");
        }
        if let Some(detail) = fault_of_parameters(&tool.parameters) {
            fault("/parameters", FaultCode::BadFormat, detail);
        }
    }
    faults
}

/// Returns why the schema of a tool's arguments is not accepted.
pub(crate) fn fault_of_parameters(schema: &Map<String, Value>) -> Option<&'static str> {
    let schema = Value::Object(schema.clone());
    let is_of_another_type = || schema.get("type").is_some_and(|kind| kind != "object");
    fault_of_schema(&schema).or_else(|| is_of_another_type().then_some("must be of type object"))
}

/// Returns why a schema is not accepted, whatever it describes.
pub(crate) fn fault_of_schema(schema: &Value) -> Option<&'static str> {
    if json_bytes(schema) > MAX_SCHEMA_BYTES {
        return Some("must be at most 16 KiB of JSON");
    }
    if is_nested_deeper(schema, MAX_SCHEMA_LEVELS) {
        return Some("must be nested at most 16 deep");
    }
    has_foreign_reference(schema).then_some("must not refer to other documents")
}

/// The keywords of JSON Schema that refer to another schema.
pub(crate) const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

fn has_foreign_reference(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(name, value)| {
            let is_foreign = REFERENCES.contains(&name.as_str())
                && value.as_str().is_some_and(|it| !it.starts_with('#'));
            is_foreign || has_foreign_reference(value)
        }),
        Value::Array(items) => items.iter().any(has_foreign_reference),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(tools: Value) -> Vec<(String, FaultCode)> {
        let tools: Vec<ClientTool> = serde_json::from_value(tools).unwrap();
        let faults = check_client_tools(&tools).into_iter();
        faults.map(|fault| (fault.pointer, fault.code)).collect()
    }

    #[test]
    fn tools_have_names_that_models_accept_and_each_stands_once() {
        let tools = json!([{"name": "open_cart"}, {"name": "a b"}, {"name": "open_cart"}]);
        let expected = [
            ("/1/name".to_owned(), FaultCode::BadFormat),
            ("/2/name".to_owned(), FaultCode::DuplicateItem),
        ];
        assert_eq!(faults(tools), expected);
    }

    #[test]
    fn schemas_are_small_objects_without_foreign_references() {
        let mut deep = json!({});
        for _ in 0..17 {
            deep = json!({ "properties": deep });
        }
        for schema in [
            json!({"type": "string"}),
            json!({"properties": {"a": {"$ref": "https://example.com/schema"}}}),
            json!({"description": "x".repeat(MAX_SCHEMA_BYTES)}),
            deep,
        ] {
            let found = faults(json!([{"name": "a", "parameters": schema}]));
            assert_eq!(found, [("/0/parameters".to_owned(), FaultCode::BadFormat)]);
        }
        let own = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}});
        assert_eq!(faults(json!([{"name": "a", "parameters": own}])), []);
    }

    #[test]
    fn all_tools_together_are_limited() {
        let schema = json!({"description": "x".repeat(MAX_SCHEMA_BYTES - 100)});
        let tool = |name: &str| json!({"name": name, "parameters": schema});
        assert_eq!(faults(json!([tool("a"), tool("b")])), []);
        let found = faults(json!([tool("a"), tool("b"), tool("c")]));
        assert_eq!(found, [(String::new(), FaultCode::TooLong)]);
    }
}
