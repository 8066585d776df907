//! The details of bodies that are not JSON.

use kit::body::{BodyError, read};

fn detail_of(bytes: &[u8]) -> String {
    match read(bytes) {
        Err(BodyError::Malformed { detail }) => detail,
        other => panic!("{other:?}"),
    }
}

#[test]
fn malformed_json_is_rejected_with_its_position_and_without_its_text() {
    let rejected: [(&[u8], &str); 14] = [
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
    for (bytes, detail) in rejected {
        assert_eq!(detail_of(bytes), detail, "{}", bytes.escape_ascii());
    }
}

#[test]
fn nesting_beyond_the_documented_depth_is_reported_with_its_position() {
    for depth in [65, 200_000] {
        let detail = detail_of("[".repeat(depth).as_bytes());
        let expected = "The body is nested more than 64 deep, at line 1, column 6";
        assert!(detail.starts_with(expected), "{detail}");
    }
}
