//! The streams that a far region forwards, which it counts itself.

use actix_web::http::header::{ACCEPT, HeaderMap};
use kit::{
    chat::ResponseMode,
    operations::{Operation, Streams},
    request::lists,
    sse::EVENT_STREAM,
};
use serde::Deserialize;

/// The member of a body that requests a stream.
#[derive(Default, Deserialize)]
struct Requested {
    #[serde(default)]
    stream: Option<bool>,
}

/// Returns true if a request opens a stream.
pub(super) fn opens_stream(operation: &Operation, headers: &HeaderMap, body: &[u8]) -> bool {
    // The home region rejects a malformed body.
    let requested = || serde_json::from_slice::<Requested>(body).unwrap_or_default();
    match operation.streams {
        Streams::Never => false,
        Streams::Always | Streams::Lines => true,
        Streams::IfAccepted => lists(headers, ACCEPT, EVENT_STREAM),
        Streams::IfRequested => requested().stream == Some(true),
        Streams::IfRequestedOrAccepted => {
            ResponseMode::from_request(headers, requested().stream) == ResponseMode::Stream
        }
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;
    use kit::operations::OperationTable;

    use super::*;

    #[test]
    fn only_what_is_answered_with_a_stream_opens_one() {
        let mut accepting = HeaderMap::new();
        accepting.insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
        let plain = HeaderMap::new();
        let table = OperationTable::new(&[rest::OPERATIONS], protocols::PROTOCOLS);
        let opens = |id: &str, headers: &HeaderMap, body: &str| {
            let operation = table.all().find(|operation| operation.id == id);
            opens_stream(operation.expect(id), headers, body.as_bytes())
        };
        let (yes, no) = (r#"{"stream": true, "message": []}"#, r#"{"stream": false}"#);
        assert!(opens("chat", &plain, yes) && opens("chat", &accepting, "{}"));
        assert!(!opens("chat", &accepting, no) && !opens("chat", &plain, "{}"));
        assert!(!opens("chat", &plain, "malformed"));
        let completion = "openai_create_chat_completion";
        assert!(opens(completion, &plain, yes) && !opens(completion, &accepting, "{}"));
        assert!(opens("list_events", &accepting, "") && !opens("list_events", &plain, ""));
        assert!(opens("ai_sdk_chat", &plain, "{}") && opens("ag_ui_run", &plain, "{}"));
        assert!(!opens("create_agent", &accepting, yes));
    }
}
