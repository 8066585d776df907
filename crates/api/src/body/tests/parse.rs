//! From bytes to types.

use domain::{AgentDraft, FaultCode};
use serde_json::json;

use super::{BodyError, parse_value, schemas};
use crate::body::{Schemas, parse};

#[test]
fn a_body_becomes_its_type() {
    let body = json!({"name": "Ada", "config": {"timeoutMs": 500, "llm": {"temperature": 1}}});
    let draft: AgentDraft = parse(body.to_string().as_bytes(), "AgentDraft", schemas()).unwrap();
    assert_eq!(draft.name, "Ada");
    assert_eq!(draft.config.timeout_ms, Some(500));
    assert_eq!(draft.config.llm.unwrap().temperature, Some(1.0));
}

#[test]
fn an_integer_may_be_written_as_a_decimal_number() {
    let body = br#"{"name": "Ada", "config": {"timeoutMs": 6.0e4, "llm": {"seed": -0.0}}}"#;
    let draft: AgentDraft = parse(body, "AgentDraft", schemas()).unwrap();
    assert_eq!(draft.config.timeout_ms, Some(60_000));
    assert_eq!(draft.config.llm.unwrap().seed, Some(0));
}

#[test]
fn a_fraction_is_no_integer() {
    let body = br#"{"name": "Ada", "config": {"timeoutMs": 500.5}}"#;
    let Err(BodyError::Faults(faults)) = parse::<AgentDraft>(body, "AgentDraft", schemas()) else {
        panic!("taken");
    };
    assert_eq!(faults[0].pointer, "/config/timeoutMs");
    assert_eq!(
        (faults[0].code, &*faults[0].detail),
        (FaultCode::WrongType, "must be an integer")
    );
}

#[test]
fn what_is_not_json_is_malformed_and_nothing_else() {
    let detail = "The body ends too early, at line 1, column 1.".to_owned();
    let malformed = Err(BodyError::Malformed { detail });
    assert_eq!(parse_value(b"{", "AgentDraft", schemas()), malformed);
}

#[test]
fn a_type_that_its_schema_does_not_fit_is_a_fault_and_no_panic() {
    let error = parse::<Vec<u8>>(br#"{"name": "Ada"}"#, "AgentDraft", schemas()).unwrap_err();
    let BodyError::Faults(faults) = error else {
        panic!("malformed");
    };
    assert_eq!(
        (&*faults[0].pointer, faults[0].code),
        ("", FaultCode::BadFormat)
    );
}

#[test]
fn a_component_that_is_not_there_stops_the_start() {
    let error = Schemas::new(&json!({"components": {"schemas": {}}}), &["AgentDraft"]);
    let text = error.unwrap_err().to_string();
    assert_eq!(
        text,
        "the schema of component 'AgentDraft' cannot be compiled"
    );
}

/// Run by hand: `cargo test --release -p agent-service body -- --ignored --nocapture`.
#[test]
#[ignore = "prints times, which mean something in a release build only"]
fn times_of_a_body_with_200_rules() {
    let rule = |index: usize| {
        json!({"name": format!("rule {index}"), "pattern": "hello (?P<n>\\w+)",
        "reply": "Hello {{capture.n}}, what can I do for you?", "priority": index})
    };
    let rules: Vec<_> = (0..200).map(rule).collect();
    let body = json!({"name": "Ada", "config": {"rules": rules}}).to_string();
    let wrong = format!("[{}1]", "1,".repeat(120_000));
    let wrong = format!(r#"{{"name": "Ada", "config": {{"rules": {wrong}}}}}"#);

    time("serde_json alone", || {
        serde_json::from_str::<serde_json::Value>(&body).unwrap()
    });
    time("this parser", || {
        crate::body::json::read(body.as_bytes()).unwrap()
    });
    time("parsed and checked", || {
        parse_value(body.as_bytes(), "AgentDraft", schemas()).unwrap()
    });
    time("as a type", || {
        parse::<AgentDraft>(body.as_bytes(), "AgentDraft", schemas()).unwrap()
    });
    let pairs: serde_json::Value = (0..25_000)
        .map(|index| (index.to_string(), json!(1)))
        .collect();
    let mistyped = json!({"name": "Ada", "config": {"metadata": pairs}}).to_string();
    time("25,000 pairs", || {
        parse_value(mistyped.as_bytes(), "AgentDraft", schemas()).unwrap_err()
    });
    time("120,000 items", || {
        parse_value(wrong.as_bytes(), "AgentDraft", schemas()).unwrap_err()
    });
}

fn time<T>(what: &str, work: impl Fn() -> T) {
    let mut times: Vec<_> = (0..200)
        .map(|_| {
            let start = std::time::Instant::now();
            std::hint::black_box(work());
            start.elapsed()
        })
        .collect();
    times.sort();
    println!("{what}: median {:?}, slowest {:?}", times[100], times[199]);
}
