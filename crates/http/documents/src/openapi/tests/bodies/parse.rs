//! From bytes to types.

use domain::{AgentDraft, FaultCode};
use kit::body::Schemas;
use serde_json::json;

use super::{BodyError, parse, parse_value, schemas};

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
fn a_fraction_is_not_an_integer() {
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
fn malformed_json_is_reported_as_malformed() {
    let detail = "The body ends too early, at line 1, column 1.".to_owned();
    let malformed = Err(BodyError::Malformed { detail });
    assert_eq!(parse_value(b"{", "AgentDraft", schemas()), malformed);
}

#[test]
fn a_type_that_contradicts_its_schema_causes_a_fault_and_no_panic() {
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
fn a_missing_component_cannot_be_compiled() {
    let error = Schemas::new(&json!({"components": {"schemas": {}}}), &["AgentDraft"]);
    let text = error.unwrap_err().to_string();
    assert_eq!(
        text,
        "the schema of component 'AgentDraft' cannot be compiled"
    );
}
