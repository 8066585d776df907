//! The contract tests of the port, and calls of both tools.

use std::{sync::Arc, time::Duration};

use built_in_tools::BuiltInTools;
use domain::Timestamp;
use ports::{Clock, ToolArguments, ToolError, ToolProvider as _};
use rstest::rstest;
use serde_json::{Value, json};

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp::parse("2026-11-21T12:00:00Z").expect("a time")
    }

    fn running_for(&self) -> Duration {
        Duration::ZERO
    }
}

fn tools() -> BuiltInTools {
    BuiltInTools::new(Arc::new(Noon))
}

#[expect(clippy::unused_async, reason = "the contract awaits its fixture")]
async fn fixture() -> Box<BuiltInTools> {
    Box::new(tools())
}

fn sample_call() -> (&'static str, ToolArguments) {
    ("calculator", arguments(json!({ "expression": "6 * 7" })))
}

fn arguments(value: Value) -> ToolArguments {
    match value {
        Value::Object(arguments) => arguments,
        other => panic!("{other} is not an object"),
    }
}

contract::tool_provider_contract!(crate::fixture, crate::sample_call);

#[rstest]
#[case("calculator", json!({ "expression": "6 * 7" }), "42")]
#[case("time", json!({}), "Saturday, 2026-11-21T12:00:00+00:00 (UTC)")]
#[case("time", json!({ "timeZone": "Asia/Tokyo" }), "Saturday, 2026-11-21T21:00:00+09:00 (Asia/Tokyo)")]
#[tokio::test]
async fn calls_return_text(#[case] name: &str, #[case] input: Value, #[case] expected: &str) {
    let context = contract::tool_provider::context();
    let result = tools().call(name, &arguments(input), &context).await;
    assert_eq!(result.expect("an answer"), expected);
}

#[rstest]
#[case("calculator", json!({}), "`expression` is missing")]
#[case("calculator", json!({ "expression": 5 }), "`expression` must be a string")]
#[case("calculator", json!({ "expression": "" }), "a value is missing at the end")]
#[case("calculator", json!({ "expression": "1", "unit": "m" }), "the only argument is `expression`")]
#[case("time", json!({ "zone": "UTC" }), "the only argument is `timeZone`")]
#[case("calculator", json!({ "expression": "1/0" }), "it divides by zero")]
#[case("time", json!({ "timeZone": "Mars" }), "the time zone is unknown; use a name of the IANA database, such as Europe/Berlin")]
#[tokio::test]
async fn invalid_arguments_are_refused(
    #[case] name: &str,
    #[case] input: Value,
    #[case] reason: &str,
) {
    let context = contract::tool_provider::context();
    let result = tools().call(name, &arguments(input), &context).await;
    let Err(ToolError::InvalidArguments(result)) = result else {
        panic!("not refused: {result:?}");
    };
    assert_eq!(result, reason);
}
