//! The parser.

use domain::FaultCode;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::body::json::{MAX_DEPTH, read};

fn code_and_detail(bytes: &[u8]) -> String {
    read(bytes).unwrap_err()
}

fn found(text: &str) -> (Value, Vec<(String, FaultCode)>) {
    let (value, faults) = read(text.as_bytes()).unwrap();
    let faults = faults.into_sorted().into_iter();
    (
        value,
        faults.map(|fault| (fault.pointer, fault.code)).collect(),
    )
}

#[test]
fn malformed_json_is_rejected_with_its_position_and_without_its_text() {
    let refused: [(&[u8], &str); 14] = [
        (b"", "The body ends too early, at line 1, column 0."),
        (b"  ", "The body ends too early, at line 1, column 2."),
        (
            b"{\"secret\": ",
            "The body ends too early, at line 1, column 11.",
        ),
        (b"\"secret", "The body ends too early, at line 1, column 7."),
        (
            b"{\n  secret: 1}",
            "The body cannot be read as JSON, at line 2, column 3.",
        ),
        (
            b"[1,]",
            "The body cannot be read as JSON, at line 1, column 4.",
        ),
        (
            b"{} secret",
            "The body cannot be read as JSON, at line 1, column 4.",
        ),
        (
            b"[1] [2]",
            "The body cannot be read as JSON, at line 1, column 5.",
        ),
        (
            b"[NaN]",
            "The body cannot be read as JSON, at line 1, column 2.",
        ),
        (
            b"[01]",
            "The body cannot be read as JSON, at line 1, column 3.",
        ),
        (
            b"[1e400]",
            "The body cannot be read as JSON, at line 1, column 6.",
        ),
        (
            b"\"\\ud800\"",
            "The body cannot be read as JSON, at line 1, column 8.",
        ),
        (b"\xef\xbb\xbf{}", "The body begins with a byte order mark."),
        (
            b"[\"\xff\"]",
            "The body is not UTF-8 after its first 2 bytes.",
        ),
    ];
    for (bytes, detail) in refused {
        assert_eq!(code_and_detail(bytes), detail, "{}", bytes.escape_ascii());
    }
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
        code_and_detail(text.as_bytes());
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
    assert!(read(nested(MAX_DEPTH).as_bytes()).is_ok());
    for text in [nested(MAX_DEPTH + 1), "[".repeat(200_000)] {
        let detail = code_and_detail(text.as_bytes());
        let expected = "The body is nested more than 64 deep, at line 1, column 6";
        assert!(detail.starts_with(expected), "{detail}");
    }

    let objects = |depth: usize| r#"{"a":"#.repeat(depth) + "1" + &"}".repeat(depth);
    assert!(read(objects(MAX_DEPTH).as_bytes()).is_ok());
    assert!(read(objects(MAX_DEPTH + 1).as_bytes()).is_err());
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
fn a_body_full_of_faults_causes_a_short_response() {
    let name = "x".repeat(1_000);
    let members = format!(r#""{name}":"\u0000","#).repeat(200);
    let body = format!(r#"{{"{name}": {{{members}"end": 0}}}}"#);
    let (_, faults) = read(body.as_bytes()).unwrap();
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
            let (read, faults) = read(text.as_bytes()).unwrap();
            prop_assert_eq!(&read, &serde_json::from_str::<Value>(&text).unwrap());
            prop_assert_eq!(faults.into_sorted(), []);
        }
    }

    #[test]
    fn json_like_text_is_accepted_like_by_serde_json(
        text in r#"([\[\]{},: ]|"(a|b|\\u00[46][12]|\\n|é|\\ud83d\\ude00|\\ud83d)?"|-?[0-9]{1,3}([.][0-9])?(e[0-9]{1,3})?|null|true|x){0,12}"#
    ) {
        match (read(text.as_bytes()), serde_json::from_str::<Value>(&text)) {
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
        let _ = read(&bytes);
    }

    #[test]
    fn every_truncated_document_is_rejected(value in any_json(), at in any::<prop::sample::Index>()) {
        let text = json!([value]).to_string();
        prop_assert!(read(&text.as_bytes()[..at.index(text.len())]).is_err());
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
