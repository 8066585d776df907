//! Conversion of a tool's result to text.

use ports::ToolError;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use crate::{MAX_MESSAGE_BYTES, nesting::is_too_deep};

/// The error of a call whose data lost a part when it was pruned.
const TOO_DEEP: &str = "its result is nested too deeply";

/// Returns the text of a result, or the error that the tool itself reports.
pub(crate) fn read(result: CallToolResult) -> Result<String, ToolError> {
    if result.structured_content.as_ref().is_some_and(is_too_deep) && result.content.is_empty() {
        return Err(ToolError::Failed(TOO_DEEP.to_owned()));
    }
    let is_error = result.is_error == Some(true);
    let text = text(result);
    if text.len() > MAX_MESSAGE_BYTES {
        Err(ToolError::Failed(crate::TOO_LARGE.to_owned()))
    } else if is_error {
        Err(ToolError::Failed(text))
    } else {
        Ok(text)
    }
}

/// Returns the text of a result. A server should send structured data as text, too; if not, the
/// data is serialized.
fn text(result: CallToolResult) -> String {
    let parts: Vec<_> = result.content.into_iter().map(part).collect();
    match result.structured_content {
        Some(data) if parts.is_empty() => data.to_string(),
        _ if parts.is_empty() => "(no content)".to_owned(),
        _ => parts.join("\n"),
    }
}

/// Content that is not text is replaced by its kind and type, so that the model knows that it
/// exists.
fn part(content: ContentBlock) -> String {
    match content {
        ContentBlock::Text(text) => text.text,
        ContentBlock::Image(image) => format!("(an image, {})", image.mime_type),
        ContentBlock::Audio(audio) => format!("(a sound, {})", audio.mime_type),
        ContentBlock::Resource(embedded) => resource(embedded.resource),
        ContentBlock::ResourceLink(link) => {
            let kind = kind(link.mime_type.as_deref());
            format!(
                "(a link to the resource {}, {kind}: {})",
                link.name, link.uri
            )
        }
        _ => "(content of a kind that is not known here)".to_owned(),
    }
}

fn resource(contents: ResourceContents) -> String {
    use ResourceContents::{BlobResourceContents, TextResourceContents};
    let (TextResourceContents { uri, mime_type, .. } | BlobResourceContents { uri, mime_type, .. }) =
        contents
    else {
        return "(a resource)".to_owned();
    };
    format!("(a resource, {}: {uri})", kind(mime_type.as_deref()))
}

fn kind(mime_type: Option<&str>) -> &str {
    mime_type.unwrap_or("of no known type")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn read_json(value: Value) -> Result<String, ToolError> {
        read(serde_json::from_value(value).expect("a valid result"))
    }

    #[rstest]
    #[case(json!({ "content": [{ "type": "text", "text": "one" }, { "type": "text", "text": "two" }] }), "one\ntwo")]
    #[case(json!({ "content": [{ "type": "image", "data": "AAAA", "mimeType": "image/png" }] }), "(an image, image/png)")]
    #[case(json!({ "content": [{ "type": "audio", "data": "AAAA", "mimeType": "audio/wav" }] }), "(a sound, audio/wav)")]
    #[case(json!({ "content": [{ "type": "resource", "resource": { "uri": "demo://a", "mimeType": "text/plain", "text": "hidden" } }] }), "(a resource, text/plain: demo://a)")]
    #[case(json!({ "content": [{ "type": "resource", "resource": { "uri": "demo://b", "blob": "AAAA" } }] }), "(a resource, of no known type: demo://b)")]
    #[case(json!({ "content": [{ "type": "resource_link", "uri": "demo://c", "name": "C", "mimeType": "text/html" }] }), "(a link to the resource C, text/html: demo://c)")]
    #[case(json!({ "content": [], "structuredContent": { "a": 1 } }), r#"{"a":1}"#)]
    #[case(json!({ "content": [{ "type": "text", "text": "1" }], "structuredContent": { "a": 1 } }), "1")]
    #[case(json!({ "content": [] }), "(no content)")]
    fn text_is_returned_and_other_content_is_named(#[case] result: Value, #[case] text: &str) {
        assert_eq!(read_json(result).expect("a result"), text);
    }

    #[test]
    fn an_error_result_is_a_failure() {
        let result = read_json(json!({
            "content": [{ "type": "text", "text": "disk full" }],
            "isError": true,
        }));
        let Err(ToolError::Failed(reason)) = result else {
            panic!("no failure: {result:?}");
        };
        assert_eq!(reason, "disk full");
    }
}
