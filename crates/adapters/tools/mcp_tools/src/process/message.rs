//! Parsing of lines as messages.

use rmcp::{
    RoleClient,
    model::{ErrorData, JsonRpcMessage, RequestId},
    service::RxJsonRpcMessage,
};
use serde_json::Value;

use crate::{foreign_text::LogThrottle, lines::Line, nesting::prune};

/// Parses a line. A response that is too long becomes an error response to the same request.
pub(super) fn message(
    line: &Line,
    log_throttle: &mut LogThrottle,
) -> Option<RxJsonRpcMessage<RoleClient>> {
    match line {
        Line::Whole(line) => {
            let message = serde_json::from_slice(&prune(line));
            if message.is_err() && log_throttle.allows() {
                tracing::debug!(
                    "MCP server sent a line that is not a JSON-RPC message; ignoring it"
                );
            }
            message.ok()
        }
        Line::TooLong { start, end } => {
            if log_throttle.allows() {
                tracing::warn!("MCP server sent a message that is too large; dropping it");
            }
            let error = ErrorData::internal_error(crate::TOO_LARGE, None);
            Some(JsonRpcMessage::error(error, Some(id(start, end)?)))
        }
    }
}

/// Finds the id in the two ends of a message: it precedes or follows the long member.
fn id(start: &[u8], end: &[u8]) -> Option<RequestId> {
    let start = String::from_utf8_lossy(start);
    let end = String::from_utf8_lossy(end);
    let first = start.split_once("\"id\":");
    let last = end.rsplit_once("\"id\":");
    // After the long member, only short members follow, which open no brace.
    let last = last.filter(|(_, rest)| !rest.contains(['{', '[']));
    let before_content = first.filter(|(before, _)| !before.contains("\"result\""));
    let (_, rest) = before_content.or(last)?;
    let number = rest.trim_start();
    let number = &number[..number.find([',', '}'])?];
    match serde_json::from_str(number.trim()).ok()? {
        Value::Number(number) => Some(RequestId::Number(number.as_i64()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(
        r#"{"jsonrpc":"2.0","id":7,"result":{"content":["#,
        r#"]},"x":1}"#,
        Some(7)
    )]
    #[case(
        r#"{"result":{"content":[{"id":1}"#,
        r#"xx"}]},"jsonrpc":"2.0","id":12}"#,
        Some(12)
    )]
    #[case(r#"{"result":{"content":[{"id":1}"#, r#"{"id":3}]}}"#, Some(3))]
    #[case(
        r#"{"result":{"content":["#,
        r#"xx"}]},"jsonrpc":"2.0","id":"a"}"#,
        None
    )]
    #[case(r#"{"method":"notifications/message","params":{"#, r#"xx"}}"#, None)]
    fn the_id_of_a_long_message_is_found(
        #[case] start: &str,
        #[case] end: &str,
        #[case] expected: Option<i64>,
    ) {
        let id = id(start.as_bytes(), end.as_bytes());
        assert_eq!(id, expected.map(RequestId::Number));
    }
}
