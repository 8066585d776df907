//! The promises of the port, and the two tools by their names.

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

fn sample() -> (&'static str, ToolArguments) {
    ("calculator", arguments(json!({ "expression": "6 * 7" })))
}

fn arguments(value: Value) -> ToolArguments {
    match value {
        Value::Object(arguments) => arguments,
        other => panic!("{other} is no object"),
    }
}

contract::tool_provider_contract!(crate::fixture, crate::sample);

#[rstest]
#[case("calculator", json!({ "expression": "6 * 7" }), "42")]
#[case("time", json!({}), "Saturday, 2026-11-21T12:00:00+00:00 (UTC)")]
#[case("time", json!({ "timeZone": "Asia/Tokyo" }), "Saturday, 2026-11-21T21:00:00+09:00 (Asia/Tokyo)")]
#[tokio::test]
async fn answers(#[case] name: &str, #[case] given: Value, #[case] answer: &str) {
    let told = tools().call(name, &arguments(given)).await;
    assert_eq!(told.expect("an answer"), answer);
}

#[rstest]
#[case("calculator", json!({}), "`expression` is missing")]
#[case("calculator", json!({ "expression": 5 }), "`expression` is not a text")]
#[case("calculator", json!({ "expression": "1/0" }), "it divides by zero")]
#[case("time", json!({ "timeZone": "Mars" }), "there is no such time zone; name one of the IANA database, such as Europe/Berlin")]
#[tokio::test]
async fn refuses(#[case] name: &str, #[case] given: Value, #[case] reason: &str) {
    let told = tools().call(name, &arguments(given)).await;
    let Err(ToolError::Refused(told)) = told else {
        panic!("not refused: {told:?}");
    };
    assert_eq!(told, reason);
}
