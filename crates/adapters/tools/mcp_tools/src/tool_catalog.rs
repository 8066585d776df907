//! The selection of a server's tools, and their definitions.

use std::{collections::BTreeSet, sync::Arc};

use ports::{ToolDefinition, ToolHints};
use rmcp::model::{ServerPeerInfo, Tool};
use serde_json::Value;

use crate::{
    foreign_text::printable,
    listing::{Listing, MAX_TOOLS},
    nesting::is_too_deep,
    server::HintPolicy,
    state::{CatalogTool, ToolCatalog},
};

/// The maximum number of characters of a capability of an agent.
pub(crate) const MAX_CAPABILITY_CHARS: usize = 64;

/// The maximum number of bytes of the schema of a tool's arguments.
const MAX_SCHEMA_BYTES: usize = 64 * 1024;

/// The maximum number of characters of the description of a tool or server.
const MAX_DESCRIPTION_CHARS: usize = 4_096;

/// The reasons that tools were skipped, without duplicates.
pub(crate) type SkippedTools = BTreeSet<String>;

/// Returns the usable tools under the name of the server, and the skipped ones.
pub(crate) fn select(
    server: &str,
    listing: Listing,
    policy: HintPolicy,
) -> (ToolCatalog, SkippedTools) {
    let mut catalog = ToolCatalog::new();
    let mut skipped = SkippedTools::new();
    if listing.is_truncated {
        skipped.insert(format!("all but the first {MAX_TOOLS}"));
    }
    for name in listing.invalid {
        let name = quoted(&name);
        skipped.insert(format!("{name}: it violates the protocol"));
    }
    for tool in listing.tools {
        match catalog_tool(server, tool, policy) {
            Ok(tool) => {
                let name = tool.definition.name.clone();
                catalog.entry(name).or_insert(tool);
            }
            Err(reason) => {
                skipped.insert(reason);
            }
        }
    }
    (catalog, skipped)
}

/// Returns the description of the server's capability.
pub(crate) fn describe(info: Option<&ServerPeerInfo>) -> String {
    let server = info.and_then(|info| info.server_info.as_ref());
    let name = server.map(|server| server.title.as_deref().unwrap_or(&server.name));
    match name {
        Some(name) => shortened(&format!("All tools of {name}")),
        None => "All tools of an MCP server".to_owned(),
    }
}

fn catalog_tool(server: &str, tool: Tool, policy: HintPolicy) -> Result<CatalogTool, String> {
    let name = format!("{server}/{}", tool.name);
    let is_invalid = tool.name.is_empty()
        || tool.name.trim() != tool.name
        || tool.name.chars().any(char::is_control);
    if is_invalid {
        let name = quoted(&tool.name);
        return Err(format!("{name}: its name cannot be a capability"));
    }
    if name.chars().count() > MAX_CAPABILITY_CHARS {
        let name = quoted(&tool.name);
        return Err(format!(
            "{name}: `<server>/<tool>` has over {MAX_CAPABILITY_CHARS} characters"
        ));
    }
    let input_schema =
        schema(&tool).map_err(|reason| format!("{}: {reason}", quoted(&tool.name)))?;
    let description = tool.description.as_deref().or(tool.title.as_deref());
    let definition = ToolDefinition {
        name,
        description: shortened(description.unwrap_or_default()),
        input_schema,
        hints: hints(&tool, policy),
    };
    Ok(CatalogTool {
        definition: Arc::new(definition),
        remote_name: tool.name.into_owned(),
    })
}

/// Returns what is believed of the effects of a tool.
fn hints(tool: &Tool, policy: HintPolicy) -> ToolHints {
    let annotations = tool.annotations.as_ref().filter(|_| policy.are_trusted);
    ToolHints {
        read_only: annotations.and_then(|it| it.read_only_hint),
        destructive: annotations.and_then(|it| it.destructive_hint),
        idempotent: annotations.and_then(|it| it.idempotent_hint),
        is_repeatable: policy.are_repeatable,
    }
}

/// Returns the schema of the arguments, which are always an object, even if the server does not
/// declare it.
fn schema(tool: &Tool) -> Result<Value, &'static str> {
    let mut schema = (*tool.input_schema).clone();
    match schema.get("type") {
        None => {
            schema.insert("type".to_owned(), Value::from("object"));
        }
        Some(kind) if kind == "object" => {}
        Some(_) => return Err("its arguments are not an object"),
    }
    let schema = Value::Object(schema);
    if is_too_deep(&schema) {
        return Err("the schema of its arguments is nested too deeply");
    }
    if schema.to_string().len() > MAX_SCHEMA_BYTES {
        return Err("the schema of its arguments is too large");
    }
    Ok(schema)
}

/// Returns a name for the log, escaped and limited in length.
fn quoted(name: &str) -> String {
    format!("{:?}", printable(name, MAX_CAPABILITY_CHARS))
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_DESCRIPTION_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    const TRUSTED: HintPolicy = HintPolicy {
        are_trusted: true,
        are_repeatable: false,
    };
    const IGNORED: HintPolicy = HintPolicy {
        are_trusted: false,
        are_repeatable: false,
    };

    fn listing_of(tools: Vec<Value>) -> Listing {
        let read = |tool| serde_json::from_value(tool).expect("a tool of the protocol");
        Listing {
            tools: tools.into_iter().map(read).collect(),
            ..Listing::default()
        }
    }

    fn selected(tools: Vec<Value>) -> (ToolCatalog, SkippedTools) {
        select("files", listing_of(tools), TRUSTED)
    }

    fn tool(name: &str) -> Value {
        json!({ "name": name, "inputSchema": { "type": "object" } })
    }

    #[test]
    fn a_tool_is_a_capability_of_its_server() {
        let mut read_file = tool("read_file");
        read_file["description"] = json!("Reads a file");
        let (catalog, skipped) = selected(vec![read_file, tool("a.b-C")]);
        let names: Vec<_> = catalog.keys().map(String::as_str).collect();
        assert_eq!(names, ["files/a.b-C", "files/read_file"]);
        let listed = &catalog["files/read_file"];
        assert_eq!(listed.definition.description, "Reads a file");
        assert_eq!(listed.remote_name, "read_file");
        assert_eq!(skipped, SkippedTools::new());
    }

    #[rstest]
    #[case("")]
    #[case(" padded")]
    #[case("two\nlines")]
    #[case(&"x".repeat(59))]
    fn a_tool_whose_name_cannot_be_a_capability_is_skipped(#[case] name: &str) {
        let (catalog, skipped) = selected(vec![tool(name), tool(&"y".repeat(58))]);
        assert_eq!(catalog.len(), 1, "{catalog:?}");
        assert_eq!(skipped.len(), 1, "{skipped:?}");
    }

    #[test]
    fn tools_that_violate_the_protocol_are_reported() {
        let listing = Listing {
            invalid: vec!["a\u{1b}".to_owned(), String::new()],
            ..Listing::default()
        };
        let (catalog, skipped) = select("files", listing, TRUSTED);
        assert!(catalog.is_empty());
        let reasons: Vec<_> = skipped.into_iter().collect();
        assert_eq!(
            reasons,
            [
                r#""": it violates the protocol"#,
                r#""a\\u{1b}": it violates the protocol"#
            ]
        );
    }

    #[test]
    fn the_first_of_two_tools_with_one_name_is_used() {
        let mut first = tool("a");
        first["description"] = json!("the first");
        let (catalog, _) = selected(vec![first, tool("a")]);
        assert_eq!(catalog["files/a"].definition.description, "the first");
    }

    #[test]
    fn names_of_skipped_tools_are_cut_and_escaped() {
        let (_, skipped) = selected(vec![tool(&"\u{1b}".repeat(100_000))]);
        let reasons = skipped.first().expect("it is left out");
        assert!(
            reasons.len() < 1_000 && !reasons.contains('\u{1b}'),
            "{reasons}"
        );
    }

    #[test]
    fn hints_are_those_of_the_server_unless_they_are_ignored() {
        let mut hinted = tool("hinted");
        hinted["annotations"] =
            json!({ "readOnlyHint": false, "destructiveHint": true, "idempotentHint": true });
        let mut partly = tool("partly");
        partly["annotations"] = json!({ "title": "Partly", "readOnlyHint": true });
        let tools = vec![hinted, partly, tool("silent")];
        let (catalog, _) = selected(tools.clone());
        let hints = |name: &str| catalog[name].definition.hints;
        let expected = ToolHints {
            read_only: Some(false),
            destructive: Some(true),
            idempotent: Some(true),
            is_repeatable: false,
        };
        assert_eq!(hints("files/hinted"), expected);
        let expected = ToolHints {
            read_only: Some(true),
            ..ToolHints::default()
        };
        assert_eq!(hints("files/partly"), expected);
        assert_eq!(hints("files/silent"), ToolHints::default());

        let (ignored, _) = select("files", listing_of(tools), IGNORED);
        let mut definitions = ignored.values().map(|tool| &tool.definition);
        assert!(definitions.all(|it| it.hints == ToolHints::default()));
    }

    #[test]
    fn arguments_are_an_object() {
        let unsaid = json!({ "name": "unsaid", "inputSchema": {} });
        let list = json!({ "name": "list", "inputSchema": { "type": "array" } });
        let (catalog, skipped) = selected(vec![unsaid, list]);
        assert_eq!(catalog.len(), 1, "{catalog:?}");
        let schema = &catalog["files/unsaid"].definition.input_schema;
        assert_eq!(*schema, json!({ "type": "object" }));
        assert_eq!(skipped.len(), 1, "{skipped:?}");
    }

    #[test]
    fn a_tool_whose_schema_is_too_large_is_skipped() {
        let of = |length| json!({ "type": "object", "description": "x".repeat(length) });
        let fits = json!({ "name": "fits", "inputSchema": of(MAX_SCHEMA_BYTES - 40) });
        let large = json!({ "name": "large", "inputSchema": of(MAX_SCHEMA_BYTES) });
        let (catalog, skipped) = selected(vec![fits, large]);
        assert!(catalog.contains_key("files/fits"));
        assert_eq!(catalog.len(), 1);
        assert_eq!(skipped.len(), 1);
    }
}
