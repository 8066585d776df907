use proptest::prelude::*;
use serde_json::json;

use super::*;

fn found(text: &str) -> (Value, Vec<(String, FaultCode)>) {
    let (value, faults) = parse(text.as_bytes()).unwrap();
    let faults = faults.into_sorted().into_iter();
    (
        value,
        faults.map(|fault| (fault.pointer, fault.code)).collect(),
    )
}

#[test]
fn other_spellings_of_lone_surrogates_and_huge_numbers_are_rejected() {
    let digits = "9".repeat(400);
    for text in [
        r#""\udc00""#,
        r#""\ud800\u0041""#,
        r#""\ud800x""#,
        "-1e309",
        &digits,
    ] {
        let error = parse(text.as_bytes()).unwrap_err();
        assert!(
            matches!(
                error,
                JsonError::Syntax {
                    problem: SyntaxProblem::Malformed,
                    ..
                }
            ),
            "{text}: {error}"
        );
    }
}

#[test]
fn integers_beyond_64_bits_stay_numbers() {
    assert_eq!(
        found("18446744073709551616").0,
        json!(18_446_744_073_709_551_616.0)
    );
    assert_eq!(found("18446744073709551615").0, json!(u64::MAX));
    assert_eq!(
        found("-9223372036854775809").0,
        json!(-9_223_372_036_854_775_809.0)
    );
}

#[test]
fn nesting_is_limited_to_the_documented_depth() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(parse(nested(MAX_DEPTH).as_bytes()).is_ok());
    for text in [nested(MAX_DEPTH + 1), "[".repeat(200_000)] {
        let error = parse(text.as_bytes()).unwrap_err();
        let is_too_deep = matches!(
            error,
            JsonError::Syntax {
                problem: SyntaxProblem::TooDeep,
                line: 1,
                ..
            }
        );
        assert!(is_too_deep, "{error}");
    }

    let objects = |depth: usize| r#"{"a":"#.repeat(depth) + "1" + &"}".repeat(depth);
    assert!(parse(objects(MAX_DEPTH).as_bytes()).is_ok());
    assert!(parse(objects(MAX_DEPTH + 1).as_bytes()).is_err());
}

#[test]
fn the_first_of_duplicate_members_is_kept_and_the_others_are_reported() {
    let (value, faults) =
        found(r#"{"a": 1, "b": [0, {"c/~": 1, "c/~": 2, "c/~": 3}], "a": {"d": 1, "d": 2}}"#);
    assert_eq!(value, json!({"a": 1, "b": [0, {"c/~": 1}]}));
    let doubled = |pointer: &str| (pointer.to_owned(), FaultCode::DuplicateMember);
    assert_eq!(faults, [doubled("/a"), doubled("/b/1/c~1~0")]);
}

#[test]
fn members_that_differ_only_in_escapes_are_duplicates() {
    let (_, faults) = found(r#"{"a": 1, "\u0061": 2}"#);
    assert_eq!(faults, [("/a".to_owned(), FaultCode::DuplicateMember)]);
}

#[test]
fn a_nul_character_is_reported_anywhere() {
    let (_, faults) = found(r#"{"a": ["x", "\u0000"], "b\u0000": 1, "c": "\\u0000"}"#);
    let nul = |pointer: &str| (pointer.to_owned(), FaultCode::BadCharacter);
    assert_eq!(faults, [nul("/a/1"), nul("/b\0")]);
}

#[test]
fn a_document_full_of_faults_causes_a_short_response() {
    let name = "x".repeat(1_000);
    let members = format!(r#""{name}":"\u0000","#).repeat(200);
    let document = format!(r#"{{"{name}": {{{members}"end": 0}}}}"#);
    let (_, faults) = parse(document.as_bytes()).unwrap();
    let faults = faults.into_sorted();
    assert!(
        faults
            .iter()
            .map(|fault| fault.pointer.len())
            .sum::<usize>()
            < 70_000
    );
}

/// Any JSON value, with all kinds of numbers and strings.
fn any_json() -> impl Strategy<Value = Value> {
    let text = "[^\0]{0,12}";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::btree_map(text, inner, 0..8)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn every_document_is_parsed_like_by_serde_json(value in any_json()) {
        for text in [value.to_string(), format!("\n\t{value:#}\r\n ")] {
            let (parsed, faults) = parse(text.as_bytes()).unwrap();
            prop_assert_eq!(&parsed, &serde_json::from_str::<Value>(&text).unwrap());
            prop_assert_eq!(faults.into_sorted(), []);
        }
    }

    #[test]
    fn json_like_text_is_accepted_like_by_serde_json(
        text in r#"([\[\]{},: ]|"(a|b|\\u00[46][12]|\\n|é|\\ud83d\\ude00|\\ud83d)?"|-?[0-9]{1,3}([.][0-9])?(e[0-9]{1,3})?|null|true|x){0,12}"#
    ) {
        match (parse(text.as_bytes()), serde_json::from_str::<Value>(&text)) {
            (Ok((ours, faults)), Ok(theirs)) => {
                let doubled = !faults.into_sorted().is_empty();
                prop_assert!(doubled || ours == theirs);
            }
            (Err(_), Err(_)) => {}
            (ours, theirs) => prop_assert!(false, "{ours:?} but {theirs:?}"),
        }
    }

    #[test]
    fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        let _ = parse(&bytes);
    }

    #[test]
    fn every_truncated_document_is_rejected(value in any_json(), at in any::<prop::sample::Index>()) {
        let text = json!([value]).to_string();
        prop_assert!(parse(&text.as_bytes()[..at.index(text.len())]).is_err());
    }
}

#[test]
fn duplicates_of_one_member_hide_no_other_fault() {
    let copies = r#""name": 1, "#.repeat(40_000);
    let (_, faults) = found(&format!(
        r#"{{{copies} "other": {{"a": 1, "a": 2}}, "last": "\u0000"}}"#
    ));
    let expected = [
        ("/last".to_owned(), FaultCode::BadCharacter),
        ("/name".to_owned(), FaultCode::DuplicateMember),
        ("/other/a".to_owned(), FaultCode::DuplicateMember),
    ];
    assert_eq!(faults, expected);
}
