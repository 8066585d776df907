//! The faults that the schemas of the domain report, and their texts.

use std::collections::BTreeSet;

use domain::FaultCode;
use kit::body::Schemas;
use serde_json::{Value, json};

use super::{faults_of, faults_of_text, schemas};

#[test]
fn a_minimal_and_a_complete_agent_are_accepted() {
    assert_eq!(faults_of("AgentDraft", &json!({"name": "Ada"})), [""; 0]);
    let full = json!({
        "name": "Ada", "personality": "Cheerful.", "capabilities": [" time ", "orders"],
        "config": {
            "engine": "rules", "fallbacks": ["llm"], "instructions": "", "greeting": "Hi!",
            "fallbackReply": "Pardon?",
            "rules": [
                {"name": "hours", "pattern": "open(ing)?", "reply": "9 to 5", "priority": -3},
                {"keywords": ["order"], "replies": ["One.", "Two."], "capability": "orders"},
            ],
            "llm": {"model": "m", "temperature": 0.5, "topP": 1, "maxOutputTokens": 128_000,
                    "seed": -9_007_199_254_740_991_i64, "stop": ["END"]},
            "history": {"maxMessages": 0, "maxCharacters": 1_000_000},
            "timeoutMs": 100, "metadata": {"team": "sales"},
        },
    });
    assert_eq!(faults_of("AgentDraft", &full), [""; 0]);
}

#[test]
fn all_faults_are_reported_at_once_with_their_pointers() {
    let body = json!({
        "personality": 5,
        "capabilities": ["", "a", "a", " ", "x\u{1}"],
        "colour": "red",
        "config": {
            "timeoutMs": 99, "llm": {"temperature": 2.5, "modle": "m"},
            "rules": [
                {"pattern": "", "reply": "a", "priorty": 1},
                {"keywords": [], "reply": ["b"]},
                {"pattern": "a", "keywords": ["b"]},
            ],
            "metadata": {"": "x", "k": 1, "long": "x".repeat(513)},
        },
    });
    let expected = [
        "/capabilities/0 too_short: at least 1 character",
        "/capabilities/0 bad_character: must contain more than white space, and no control characters except tab, CR and LF",
        "/capabilities/2 duplicate_item: is in the list more than once",
        "/capabilities/3 bad_character: must contain more than white space, and no control characters except tab, CR and LF",
        "/capabilities/4 bad_character: must contain more than white space, and no control characters except tab, CR and LF",
        "/colour unknown_member: unknown member",
        "/config/llm/modle unknown_member: unknown member",
        "/config/llm/temperature too_large: at most 2",
        "/config/metadata/ too_short: the name of the member: at least 1 character",
        "/config/metadata/k wrong_type: must be a string",
        "/config/metadata/long too_long: at most 512 characters",
        "/config/rules/0/pattern too_short: at least 1 character",
        "/config/rules/0/priorty unknown_member: unknown member",
        "/config/rules/1/keywords too_short: at least 1 item",
        "/config/rules/1/reply wrong_type: must be a string",
        "/config/rules/2/keywords not_combinable: only one of 'pattern' and 'keywords'",
        "/config/rules/2/reply required: one of 'reply' and 'replies'",
        "/config/timeoutMs too_small: at least 100",
        "/name required: is required",
        "/personality wrong_type: must be a string",
    ];
    assert_eq!(faults_of("AgentDraft", &body), expected);
}

#[test]
fn faults_of_the_parser_and_of_the_schema_are_reported_together() {
    let body = r#"{"name": "A\u0000", "name": 1, "x": 1, "x": 2, "personality": "\u0000"}"#;
    let expected = [
        "/name duplicate_member: is sent more than once",
        "/name bad_character: must not contain NUL characters",
        "/personality bad_character: must not contain NUL characters",
        "/x unknown_member: unknown member",
        "/x duplicate_member: is sent more than once",
    ];
    assert_eq!(faults_of_text("AgentDraft", body), expected);
}

#[test]
fn text_is_counted_in_characters_not_in_bytes() {
    let name = |text: &str, times: usize| json!({"name": text.repeat(times)});
    for text in ["a", "é", "語", "😀"] {
        assert_eq!(faults_of("AgentDraft", &name(text, 128)), [""; 0], "{text}");
        let expected = ["/name too_long: at most 128 characters"];
        assert_eq!(
            faults_of("AgentDraft", &name(text, 129)),
            expected,
            "{text}"
        );
    }
}

#[test]
fn a_list_over_its_limit_is_reported_as_one_fault() {
    let rule = json!({"keywords": ["hello"], "reply": "Hi!"});
    let rules = |count: usize| json!({"name": "Ada", "config": {"rules": vec![&rule; count]}});
    assert_eq!(faults_of("AgentDraft", &rules(200)), [""; 0]);
    let expected = ["/config/rules too_many: at most 200 items"];
    assert_eq!(faults_of("AgentDraft", &rules(201)), expected);

    let pairs: Value = (0..17)
        .map(|index| (index.to_string(), json!("")))
        .collect();
    let body = json!({"name": "Ada", "config": {"metadata": pairs}});
    let expected = ["/config/metadata too_many: at most 16 members"];
    assert_eq!(faults_of("AgentDraft", &body), expected);
}

#[test]
fn a_body_of_another_type_is_reported_at_the_root() {
    for body in [json!([]), json!(null), json!("x"), json!(1)] {
        assert_eq!(
            faults_of("AgentDraft", &body),
            [" wrong_type: must be an object"]
        );
    }
}

#[test]
fn null_is_not_absence() {
    let body = json!({"name": null, "config": {"engine": null, "llm": null}});
    let expected = [
        "/config/engine wrong_type: must be a string",
        "/config/llm wrong_type: must be an object",
        "/name wrong_type: must be a string",
    ];
    assert_eq!(faults_of("AgentDraft", &body), expected);
}

#[test]
fn enumerations_and_times_are_checked() {
    let body = json!({"scopes": ["agents:read", "agents:raed", 7], "expiresAt": "tomorrow"});
    let scopes = "one of 'agents:read', 'agents:write', 'chat:write', 'tools:approve', \
                  'conversations:read', 'conversations:write', 'conversations:all', 'events:read', 'metrics:read', \
                  'users:admin', 'keys:admin', 'user-tokens:issue'";
    let expected = [
        "/expiresAt bad_format: must be an RFC 3339 time, such as 2026-11-20T09:30:00Z".to_owned(),
        format!("/scopes/1 unknown_value: {scopes}"),
        // For an enumeration of texts, the type is checked first.
        "/scopes/2 wrong_type: must be a string".to_owned(),
    ];
    assert_eq!(faults_of("KeyRequest", &body), expected);

    let body = json!({"agentId": "a", "message": "b", "onBusy": "wait"});
    let expected = ["/onBusy unknown_value: one of 'queue', 'reject'"];
    assert_eq!(faults_of("ChatRequest", &body), expected);
}

#[test]
fn no_fault_quotes_the_value() {
    let secret = "s3cret";
    let body = json!({
        "name": secret.repeat(30), "personality": [secret], "capabilities": secret,
        "config": {"engine": format!("{secret}\u{1}"), "timeoutMs": secret, "llm": secret,
                   "metadata": {"k": [secret]}, "rules": [{"pattern": {"a": secret}}, secret]},
    });
    let faults = faults_of("AgentDraft", &body);
    assert_eq!(faults.len(), 12, "{faults:#?}");
    assert!(!faults.concat().contains(secret), "{faults:#?}");
}

#[test]
fn every_code_occurs() {
    let bodies = [
        (
            "AgentDraft",
            r#"{"capabilities": ["a", "a", ""], "x": 1, "x": 2}"#.to_owned(),
        ),
        (
            "AgentDraft",
            r#"{"name": 1, "config": {"timeoutMs": 1, "llm": {"topP": 2}}}"#.to_owned(),
        ),
        (
            "AgentDraft",
            format!(r#"{{"name": "{}\u0001"}}"#, "a".repeat(128)),
        ),
        (
            "AgentDraft",
            format!(r#"{{"name": "a", "capabilities": [{}1]}}"#, "1,".repeat(64)),
        ),
        (
            "AgentDraft",
            r#"{"config": {"rules": [{"reply": "", "replies": []}]}}"#.to_owned(),
        ),
        (
            "KeyRequest",
            r#"{"scopes": ["x"], "expiresAt": "x"}"#.to_owned(),
        ),
    ];
    let met: BTreeSet<FaultCode> = bodies
        .iter()
        .flat_map(
            |(schema, body)| match super::parse_value(body.as_bytes(), schema, schemas()) {
                Err(super::BodyError::Faults(faults)) => faults,
                other => panic!("{other:?}"),
            },
        )
        .map(|fault| fault.code)
        .collect();
    let all = [
        FaultCode::Required,
        FaultCode::UnknownMember,
        FaultCode::DuplicateMember,
        FaultCode::WrongType,
        FaultCode::TooShort,
        FaultCode::TooLong,
        FaultCode::TooSmall,
        FaultCode::TooLarge,
        FaultCode::TooMany,
        FaultCode::BadCharacter,
        FaultCode::BadFormat,
        FaultCode::DuplicateItem,
        FaultCode::UnknownValue,
        FaultCode::NotCombinable,
    ];
    assert_eq!(met, BTreeSet::from(all));
}

#[test]
fn the_number_of_reported_faults_is_bounded() {
    let members: Value = (0..5_000)
        .map(|index| (format!("x{index}"), json!(1)))
        .collect();
    assert_eq!(
        faults_of("AgentDraft", &members).len(),
        domain::fault::list::MAX_FAULTS
    );
}

#[test]
fn a_fault_after_thousands_of_valid_items_is_found() {
    let document = json!({"components": {"schemas": {
        "Numbers": {"type": "array", "items": {"type": "integer"}},
    }}});
    let schemas = Schemas::new(&document, &["Numbers"]).unwrap();
    let mut numbers = vec![json!(1); 20_000];
    numbers.push(json!("x"));
    let faults = schemas.check("Numbers", &numbers.into());
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].pointer, "/20000");
}

#[test]
fn a_list_that_is_too_long_is_reported_before_its_items() {
    let rules = vec![json!({"z": 1}); 32_700];
    let faults = faults_of("ConfigBody", &json!({ "rules": rules }));
    assert_eq!(faults.len(), 100);
    assert!(faults.contains(&"/rules too_many: at most 200 items".to_owned()));
}

#[test]
fn a_fault_after_many_valid_items_is_found() {
    let mut keywords = vec![json!("a"); 20_000];
    keywords.push(json!(1));
    let rule = json!({"keywords": keywords, "reply": "x"});
    let faults = faults_of("ConfigBody", &json!({ "rules": [rule] }));
    assert!(
        faults
            .iter()
            .any(|it| it.starts_with("/rules/0/keywords/20000 ")),
        "{faults:?}"
    );
}
