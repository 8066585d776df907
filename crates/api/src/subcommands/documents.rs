//! Prints the published documents.

use ::documents::{asyncapi, openapi};
use anyhow::Result;
use serde_json::Value;

use super::print_line;
use crate::settings::Settings;

/// The length of a line up to which a value stays on it.
const LINE_CHARACTERS: usize = 2_000;

pub(super) fn print_openapi(settings: &Settings) -> Result<()> {
    let url = settings.server.public_url(settings.server.address());
    let document = openapi::document(&settings.limits.sizes, &url)?;
    print_line(&in_lines(&document, 0))
}

pub(super) fn print_asyncapi(settings: &Settings) -> Result<()> {
    let url = settings.server.public_url(settings.server.address());
    let openapi = openapi::document(&settings.limits.sizes, &url)?;
    let document = asyncapi::document(&openapi, &url)?;
    print_line(&in_lines(&document, 0))
}

/// Writes a document of which people read parts: a value has a line of its own if it fits, and one
/// for each member otherwise.
fn in_lines(value: &Value, depth: usize) -> String {
    let line = value.to_string();
    let parts: Vec<String> = match value {
        _ if depth + line.len() <= LINE_CHARACTERS => return line,
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| {
                let name = Value::from(name.as_str());
                format!("{name}:{}", in_lines(member, depth + 1))
            })
            .collect(),
        Value::Array(items) => items.iter().map(|item| in_lines(item, depth + 1)).collect(),
        _ => return line,
    };
    let indented = " ".repeat(depth + 1);
    let parts = parts.join(&format!(",\n{indented}"));
    let (open, close) = if value.is_array() {
        ('[', ']')
    } else {
        ('{', '}')
    };
    format!("{open}\n{indented}{parts}\n{}{close}", " ".repeat(depth))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_that_does_not_fit_on_a_line_has_one_for_each_member() {
        let long = "x".repeat(LINE_CHARACTERS);
        let document = json!({"a": {"b": [1, 2], "c": long}, "d": {"e": {}}});
        let text = in_lines(&document, 0);
        assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(document));
        let expected = format!(
            "{{\n \"a\":{{\n  \"b\":[1,2],\n  \"c\":\"{long}\"\n }},\n \"d\":{{\"e\":{{}}}}\n}}"
        );
        assert_eq!(text, expected);
    }
}
