//! What must not be told.

use contract::reply_engine::request;
use llm_engine::{LlmOptions, LlmReplyEngine};
use rstest::rstest;
use serde_json::json;

use crate::{
    given::{KEY, given, hear, options},
    upstream::{stream, whole},
};

#[rstest]
#[case::in_the_message(json!({"message": format!("Incorrect API key provided: {KEY}"), "code": "invalid_api_key"}))]
#[case::in_the_code(json!({"code": KEY, "type": "invalid_api_key"}))]
#[case::in_the_type(json!({"type": format!("x-{KEY}"), "code": "invalid_api_key"}))]
#[tokio::test]
async fn a_server_that_tells_the_key_is_not_quoted(#[case] error: serde_json::Value) {
    let error = json!({"error": error});
    for answer in [whole(401, "", &error), stream(&[error])] {
        let (_upstream, engine) = given([answer]).await;
        let failed = hear(&engine, request(0)).await;
        let failure = failed.failure();
        assert!(failure.contains("invalid_api_key"), "{failure}");
        assert!(!format!("{failed:?} {failure}").contains(KEY), "{failure}");
    }
}

#[tokio::test]
async fn options_tell_no_secret() {
    let address = "https://ada:word-of-ada@api.example/word-in-the-path?key=word-in-the-query";
    let mut options = options(address);
    options.proxy = Some("http://ada:word-of-the-proxy@proxy.example".into());
    let told = format!("{options:?}");
    assert!(told.contains("api.example"), "{told}");
    assert!(!told.contains(KEY) && !told.contains("word"), "{told}");
}

#[rstest]
#[case("api.example/v1", "the base URL must")]
#[case("ftp://api.example/v1", "the base URL must")]
#[case("https://ada:word@api.example/v1", "the base URL must")]
#[case("https://api.example/v1#word", "the base URL must")]
#[case("", "the base URL must")]
#[tokio::test]
async fn refuses_an_address_that_is_none_of_a_server(#[case] address: &str, #[case] why: &str) {
    assert!(refusal(options(address)).starts_with(why));
}

#[tokio::test]
async fn refuses_a_key_that_no_header_can_carry() {
    let mut options = options("http://127.0.0.1:1/v1");
    options.api_key = Some("word\nword".into());
    let refusal = refusal(options);
    assert_eq!(
        refusal,
        "the API key holds characters that no header can carry"
    );
}

#[rstest]
#[case("socks5://word@proxy.example")]
#[case("word")]
#[tokio::test]
async fn refuses_a_proxy_that_is_none(#[case] proxy: &str) {
    let mut options = options("http://127.0.0.1:1/v1");
    options.proxy = Some(proxy.into());
    let refusal = refusal(options);
    assert_eq!(refusal, "the proxy must be http:// or https:// with a host");
}

fn refusal(options: LlmOptions) -> String {
    let refused = LlmReplyEngine::new(options).err().expect("a refusal");
    ports::error::told(&refused)
}
