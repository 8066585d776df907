//! Messages from lines.

use rmcp::{
    RoleClient,
    model::{ErrorData, JsonRpcMessage, RequestId},
    service::RxJsonRpcMessage,
};
use serde_json::Value;

use crate::{foreign_text::Told, lines::Line, nesting::prune};

/// A message, if the line is one. An answer that is too long is a refusal of the call that it
/// answers.
pub(super) fn message(line: &Line, told: &mut Told) -> Option<RxJsonRpcMessage<RoleClient>> {
    match line {
        Line::Whole(line) => {
            let message = serde_json::from_slice(&prune(line));
            if message.is_err() && told.may_tell() {
                tracing::debug!("a server of tools says what is no message");
            }
            message.ok()
        }
        Line::TooLong { start, end } => {
            if told.may_tell() {
                tracing::warn!("a message of a server of tools was too large");
            }
            let error = ErrorData::internal_error(crate::TOO_LARGE, None);
            Some(JsonRpcMessage::error(error, Some(id(start, end)?)))
        }
    }
}

/// The id of a message of which only both ends are known: it stands before or behind what is long.
fn id(start: &[u8], end: &[u8]) -> Option<RequestId> {
    let start = String::from_utf8_lossy(start);
    let end = String::from_utf8_lossy(end);
    let first = start.split_once("\"id\":");
    let last = end.rsplit_once("\"id\":");
    // Behind the long member stands only what is short: no brace is opened there any more.
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
    fn finds_out_which_call_a_long_message_answers(
        #[case] start: &str,
        #[case] end: &str,
        #[case] found: Option<i64>,
    ) {
        let id = id(start.as_bytes(), end.as_bytes());
        assert_eq!(id, found.map(RequestId::Number));
    }
}
