//! Secrets in errors and debug output.

use contract::reply_engine::request;
use llm_engine::{LlmOptions, LlmReplyEngine};
use rstest::rstest;
use serde_json::json;

use crate::{
    fixture::{KEY, collect_reply, fixture, options},
    upstream::{stream, whole},
};

#[rstest]
#[case::in_the_message(json!({"message": format!("Incorrect API key provided: {KEY}"), "code": "invalid_api_key"}))]
#[case::in_the_code(json!({"code": KEY, "type": "invalid_api_key"}))]
#[case::in_the_type(json!({"type": format!("x-{KEY}"), "code": "invalid_api_key"}))]
#[tokio::test]
async fn an_error_that_contains_the_key_is_not_shown(#[case] error: serde_json::Value) {
    let error = json!({"error": error});
    for response in [whole(401, "", &error), stream(&[error])] {
        let (_upstream, engine) = fixture([response]).await;
        let failed = collect_reply(&engine, request(0)).await;
        let failure = failed.failure();
        assert!(failure.contains("invalid_api_key"), "{failure}");
        assert!(!format!("{failed:?} {failure}").contains(KEY), "{failure}");
    }
}

#[tokio::test]
async fn options_show_no_secret() {
    let address = "https://ada:word-of-ada@api.example/word-in-the-path?key=word-in-the-query";
    let mut options = options(address);
    options.proxy = Some("http://ada:word-of-the-proxy@proxy.example".into());
    let text = format!("{options:?}");
    assert!(text.contains("api.example"), "{text}");
    assert!(!text.contains(KEY) && !text.contains("word"), "{text}");
}

#[rstest]
#[case("api.example/v1", "the base URL must")]
#[case("ftp://api.example/v1", "the base URL must")]
#[case("https://ada:word@api.example/v1", "the base URL must")]
#[case("https://api.example/v1#word", "the base URL must")]
#[case("", "the base URL must")]
#[tokio::test]
async fn an_invalid_base_url_is_rejected(#[case] address: &str, #[case] why: &str) {
    assert!(error(options(address)).starts_with(why));
}

#[tokio::test]
async fn a_key_that_is_invalid_in_a_header_is_rejected() {
    let mut options = options("http://127.0.0.1:1/v1");
    options.api_key = Some("word\nword".into());
    let error = error(options);
    assert_eq!(
        error,
        "the API key contains characters that are not allowed in an HTTP header"
    );
}

#[rstest]
#[case("socks5://word@proxy.example")]
#[case("word")]
#[tokio::test]
async fn an_invalid_proxy_is_rejected(#[case] proxy: &str) {
    let mut options = options("http://127.0.0.1:1/v1");
    options.proxy = Some(proxy.into());
    let error = error(options);
    assert_eq!(error, "the proxy must be http:// or https:// with a host");
}

fn error(options: LlmOptions) -> String {
    let rejected = LlmReplyEngine::new(options).err().expect("an error");
    ports::error::with_causes(&rejected)
}
