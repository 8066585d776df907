//! Which of a server's tools are offered, and how they are told.

use std::{collections::BTreeSet, sync::Arc};

use ports::ToolDefinition;
use rmcp::model::{ServerPeerInfo, Tool};
use serde_json::Value;

use crate::{
    foreign_text::printable,
    listing::{Listing, MOST_TOOLS},
    nesting::is_too_deep,
    state::{Offer, Offered},
};

/// The most characters that a capability of an agent has.
pub(crate) const LONGEST_CAPABILITY: usize = 64;

/// The most bytes that the schema of a tool's arguments has.
const LARGEST_SCHEMA: usize = 64 * 1024;

/// The most characters that are told of a tool or a server.
const LONGEST_DESCRIPTION: usize = 4_096;

/// Why some tools are left out, told once for each.
pub(crate) type LeftOut = BTreeSet<String>;

/// What is offered under the name of the server, and what is left out.
pub(crate) fn select(server: &str, listing: Listing) -> (Offer, LeftOut) {
    let mut offer = Offer::new();
    let mut left_out = LeftOut::new();
    if listing.is_cut {
        left_out.insert(format!("all but the first {MOST_TOOLS}"));
    }
    for name in listing.unreadable {
        let name = quoted(&name);
        left_out.insert(format!("{name}: it does not keep to the protocol"));
    }
    for tool in listing.tools {
        match offered(server, tool) {
            Ok(offered) => {
                let name = offered.definition.name.clone();
                offer.entry(name).or_insert(offered);
            }
            Err(reason) => {
                left_out.insert(reason);
            }
        }
    }
    (offer, left_out)
}

/// The offer, with the definitions that were there before where nothing has changed: whoever knows
/// them need not read them again.
pub(crate) fn kept(before: &Offer, mut now: Offer) -> Offer {
    for (name, offered) in &mut now {
        if let Some(known) = before.get(name)
            && known.definition == offered.definition
        {
            offered.definition = Arc::clone(&known.definition);
        }
    }
    now
}

/// What is told of all tools of a server together.
pub(crate) fn describe(info: Option<&ServerPeerInfo>) -> String {
    let server = info.and_then(|info| info.server_info.as_ref());
    let name = server.map(|server| server.title.as_deref().unwrap_or(&server.name));
    match name {
        Some(name) => shortened(&format!("All tools of {name}")),
        None => "All tools of an MCP server".to_owned(),
    }
}

fn offered(server: &str, tool: Tool) -> Result<Offered, String> {
    let name = format!("{server}/{}", tool.name);
    let is_written_badly = tool.name.is_empty()
        || tool.name.trim() != tool.name
        || tool.name.chars().any(char::is_control);
    if is_written_badly {
        let name = quoted(&tool.name);
        return Err(format!("{name}: its name cannot be a capability"));
    }
    if name.chars().count() > LONGEST_CAPABILITY {
        let name = quoted(&tool.name);
        return Err(format!(
            "{name}: with the server's, its name has over {LONGEST_CAPABILITY} characters"
        ));
    }
    let input_schema =
        schema(&tool).map_err(|reason| format!("{}: {reason}", quoted(&tool.name)))?;
    let description = tool.description.as_deref().or(tool.title.as_deref());
    let definition = ToolDefinition {
        name,
        description: shortened(description.unwrap_or_default()),
        input_schema,
    };
    Ok(Offered {
        definition: Arc::new(definition),
        name_there: tool.name.into_owned(),
    })
}

/// Arguments are always an object, also where a server says nothing of it.
fn schema(tool: &Tool) -> Result<Value, &'static str> {
    let mut schema = (*tool.input_schema).clone();
    match schema.get("type") {
        None => {
            schema.insert("type".to_owned(), Value::from("object"));
        }
        Some(kind) if kind == "object" => {}
        Some(_) => return Err("its arguments are no object"),
    }
    let schema = Value::Object(schema);
    if is_too_deep(&schema) {
        return Err("the schema of its arguments is nested too deeply");
    }
    if schema.to_string().len() > LARGEST_SCHEMA {
        return Err("the schema of its arguments is too large");
    }
    Ok(schema)
}

/// A name for our log, where it is left out for its length, too.
fn quoted(name: &str) -> String {
    format!("{:?}", printable(name, LONGEST_CAPABILITY))
}

fn shortened(text: &str) -> String {
    text.chars().take(LONGEST_DESCRIPTION).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn selected(tools: Vec<Value>) -> (Offer, LeftOut) {
        let read = |tool| serde_json::from_value(tool).expect("a tool of the protocol");
        let tools = tools.into_iter().map(read).collect();
        let listing = Listing {
            tools,
            ..Listing::default()
        };
        select("files", listing)
    }

    fn tool(name: &str) -> Value {
        json!({ "name": name, "inputSchema": { "type": "object" } })
    }

    #[test]
    fn a_tool_is_a_capability_of_its_server() {
        let mut read_file = tool("read_file");
        read_file["description"] = json!("Reads a file");
        let (offer, left_out) = selected(vec![read_file, tool("a.b-C")]);
        let names: Vec<_> = offer.keys().map(String::as_str).collect();
        assert_eq!(names, ["files/a.b-C", "files/read_file"]);
        let offered = &offer["files/read_file"];
        assert_eq!(offered.definition.description, "Reads a file");
        assert_eq!(offered.name_there, "read_file");
        assert_eq!(left_out, LeftOut::new());
    }

    #[rstest]
    #[case("")]
    #[case(" padded")]
    #[case("two\nlines")]
    #[case(&"x".repeat(59))]
    fn a_name_that_cannot_be_a_capability_is_left_out(#[case] name: &str) {
        let (offer, left_out) = selected(vec![tool(name), tool(&"y".repeat(58))]);
        assert_eq!(offer.len(), 1, "{offer:?}");
        assert_eq!(left_out.len(), 1, "{left_out:?}");
    }

    #[test]
    fn tools_that_do_not_keep_to_the_protocol_are_told_of() {
        let listing = Listing {
            unreadable: vec!["a\u{1b}".to_owned(), String::new()],
            ..Listing::default()
        };
        let (offer, left_out) = select("files", listing);
        assert!(offer.is_empty());
        let told: Vec<_> = left_out.into_iter().collect();
        assert_eq!(
            told,
            [
                r#""": it does not keep to the protocol"#,
                r#""a\\u{1b}": it does not keep to the protocol"#
            ]
        );
    }

    #[test]
    fn of_two_tools_of_one_name_the_first_is_offered() {
        let mut first = tool("a");
        first["description"] = json!("the first");
        let (offer, _) = selected(vec![first, tool("a")]);
        assert_eq!(offer["files/a"].definition.description, "the first");
    }

    #[test]
    fn what_has_not_changed_stays_the_same_definition() {
        let (before, _) = selected(vec![tool("a"), tool("b")]);
        let mut changed = tool("b");
        changed["description"] = json!("another");
        let (now, _) = selected(vec![tool("a"), changed, tool("c")]);
        let kept = kept(&before, now.clone());
        assert_eq!(kept, now);
        let is_same = |name: &str| Arc::ptr_eq(&kept[name].definition, &before[name].definition);
        assert!(is_same("files/a"));
        assert!(!is_same("files/b"));
    }

    #[test]
    fn the_name_of_what_is_left_out_is_cut_and_does_nothing() {
        let (_, left_out) = selected(vec![tool(&"\u{1b}".repeat(100_000))]);
        let told = left_out.first().expect("it is left out");
        assert!(told.len() < 1_000 && !told.contains('\u{1b}'), "{told}");
    }

    #[test]
    fn arguments_are_an_object() {
        let unsaid = json!({ "name": "unsaid", "inputSchema": {} });
        let list = json!({ "name": "list", "inputSchema": { "type": "array" } });
        let (offer, left_out) = selected(vec![unsaid, list]);
        assert_eq!(offer.len(), 1, "{offer:?}");
        let schema = &offer["files/unsaid"].definition.input_schema;
        assert_eq!(*schema, json!({ "type": "object" }));
        assert_eq!(left_out.len(), 1, "{left_out:?}");
    }

    #[test]
    fn a_schema_that_is_too_large_is_left_out() {
        let of = |length| json!({ "type": "object", "description": "x".repeat(length) });
        let fits = json!({ "name": "fits", "inputSchema": of(LARGEST_SCHEMA - 40) });
        let large = json!({ "name": "large", "inputSchema": of(LARGEST_SCHEMA) });
        let (offer, left_out) = selected(vec![fits, large]);
        assert!(offer.contains_key("files/fits"));
        assert_eq!(offer.len(), 1);
        assert_eq!(left_out.len(), 1);
    }
}
