//! Conversion of a tool's result to text.

use ports::ToolError;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use serde_json::Value;

use crate::{MAX_MESSAGE_BYTES, nesting::is_too_deep};

/// The error of a call whose data lost a part when it was pruned.
const TOO_DEEP: &str = "its result is nested too deeply";

/// Stands for content of a kind that this version does not know.
const UNKNOWN_KIND: &str = "(content of a kind that is not known here)";

/// Returns the text of a result, or the error that the tool itself reports.
pub(crate) fn read(result: CallToolResult) -> Result<String, ToolError> {
    if result.structured_content.as_ref().is_some_and(is_too_deep) && result.content.is_empty() {
        return Err(ToolError::Unreadable(TOO_DEEP.to_owned()));
    }
    let is_error = result.is_error == Some(true);
    let text = text(result);
    if text.len() > MAX_MESSAGE_BYTES {
        Err(ToolError::Unreadable(crate::TOO_LARGE.to_owned()))
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
/// exists. The text of a resource follows its description.
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
        _ => UNKNOWN_KIND.to_owned(),
    }
}

fn resource(contents: ResourceContents) -> String {
    use ResourceContents::{BlobResourceContents, TextResourceContents};
    let describe =
        |uri: &str, mime_type: Option<&str>| format!("(a resource, {}: {uri})", kind(mime_type));
    match contents {
        TextResourceContents {
            uri,
            mime_type,
            text,
            ..
        } => with_text(describe(&uri, mime_type.as_deref()), &text),
        BlobResourceContents { uri, mime_type, .. } => describe(&uri, mime_type.as_deref()),
        _ => "(a resource)".to_owned(),
    }
}

fn with_text(description: String, text: &str) -> String {
    if text.is_empty() {
        description
    } else {
        description + "\n" + text
    }
}

/// Reads a result that the SDK cannot read, if it is one of a tool. Each block of content that it
/// cannot read is replaced by a description and the text of the block.
pub(crate) fn read_leniently(result: &Value) -> Option<CallToolResult> {
    let content = match result.get("content")? {
        Value::Array(blocks) => blocks.iter().map(readable).collect(),
        Value::Null => Vec::new(),
        block => vec![readable(block)],
    };
    let mut readable = CallToolResult::success(content);
    readable.is_error = result["isError"].as_bool();
    readable.structured_content = result.get("structuredContent").cloned();
    Some(readable)
}

fn readable(block: &Value) -> ContentBlock {
    let known = serde_json::from_value(block.clone());
    known.unwrap_or_else(|_| ContentBlock::text(describe_unreadable(block)))
}

fn describe_unreadable(block: &Value) -> String {
    if let Some(text) = block.as_str() {
        return text.to_owned();
    }
    let resource = &block["resource"];
    let member = |name: &str| block[name].as_str().or(resource[name].as_str());
    let mime_type = kind(member("mimeType"));
    let description = match block["type"].as_str() {
        Some("image") => format!("(an image, {mime_type})"),
        Some("audio") => format!("(a sound, {mime_type})"),
        Some("resource" | "resource_link") => match member("uri") {
            Some(uri) => format!("(a resource, {mime_type}: {uri})"),
            None => format!("(a resource, {mime_type})"),
        },
        _ => UNKNOWN_KIND.to_owned(),
    };
    with_text(description, member("text").unwrap_or_default())
}

fn kind(mime_type: Option<&str>) -> &str {
    mime_type.unwrap_or("of no known type")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn read_json(value: Value) -> Result<String, ToolError> {
        read(serde_json::from_value(value).expect("a valid result"))
    }

    #[rstest]
    #[case(json!([{ "type": "video", "text": "a" }]), "(content of a kind that is not known here)\na")]
    #[case(json!([{ "type": "image", "data": "AAAA" }]), "(an image, of no known type)")]
    #[case(json!([{ "type": "audio", "mimeType": "audio/wav" }]), "(a sound, audio/wav)")]
    #[case(json!([{ "type": "resource", "resource": { "mimeType": "text/plain", "text": "a" } }]), "(a resource, text/plain)\na")]
    #[case(json!([{ "type": "resource_link", "uri": "demo://c" }]), "(a resource, of no known type: demo://c)")]
    #[case(json!([null, 5, "a", { "text": "b" }]), "(content of a kind that is not known here)\n(content of a kind that is not known here)\na\n(content of a kind that is not known here)\nb")]
    #[case(json!("a"), "a")]
    #[case(json!({ "type": "text", "text": "a" }), "a")]
    fn an_unreadable_block_does_not_affect_the_others(
        #[case] content: Value,
        #[case] expected: &str,
    ) {
        let mut result = json!({ "content": content });
        let read_result = |result: &Value| {
            // Otherwise the SDK reads it.
            serde_json::from_value::<CallToolResult>(result.clone()).expect_err("unreadable");
            read(read_leniently(result).expect("a result")).expect("no error")
        };
        assert_eq!(read_result(&result), expected);
        if let Some(blocks) = result["content"].as_array_mut() {
            let text = json!({ "type": "text", "text": "before" });
            blocks.insert(0, text);
            assert_eq!(read_result(&result), format!("before\n{expected}"));
        }
        result["isError"] = json!(true);
        let failed = read(read_leniently(&result).expect("a result"));
        assert!(matches!(failed, Err(ToolError::Failed(_))), "{failed:?}");
    }

    #[test]
    fn other_results_are_not_those_of_tools() {
        for other in [
            json!({}),
            json!({ "tools": [] }),
            json!(null),
            json!(["content"]),
        ] {
            assert_eq!(read_leniently(&other), None);
        }
    }

    #[rstest]
    #[case(json!({ "content": [{ "type": "text", "text": "one" }, { "type": "text", "text": "two" }] }), "one\ntwo")]
    #[case(json!({ "content": [{ "type": "image", "data": "AAAA", "mimeType": "image/png" }] }), "(an image, image/png)")]
    #[case(json!({ "content": [{ "type": "audio", "data": "AAAA", "mimeType": "audio/wav" }] }), "(a sound, audio/wav)")]
    #[case(json!({ "content": [{ "type": "resource", "resource": { "uri": "demo://a", "mimeType": "text/plain", "text": "secret" } }] }), "(a resource, text/plain: demo://a)\nsecret")]
    #[case(json!({ "content": [{ "type": "resource", "resource": { "uri": "demo://a", "mimeType": null, "text": "" } }] }), "(a resource, of no known type: demo://a)")]
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
