//! Commands for signing keys.

use std::path::Path;

use crate::process::{folder, printed, refusal, run};

/// 32 bytes.
const ENCRYPTION_KEY: &str = "7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u4=";
const OTHER_KEY: &str = "IiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiI=";

/// The ids of the listed keys, each with its description.
fn listed(folder: &Path) -> Vec<(String, String)> {
    let all = printed(folder, &["signing-keys", "list"]);
    let lines = all.lines().map(|line| {
        let (kid, rest) = line.split_once("  ").expect("an id and more");
        (kid.to_owned(), rest.to_owned())
    });
    lines.collect()
}

fn rotated(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let arguments = [&["signing-keys", "rotate"], arguments].concat();
    let output = run(folder, &arguments, variables);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let kid = String::from_utf8(output.stdout).expect("UTF-8");
    kid.trim_end().to_owned()
}

#[test]
fn signing_keys_are_rotated_and_dropped_directly_in_the_store() {
    let folder = folder();
    let folder = folder.path();
    printed(folder, &["migrate"]);
    assert_eq!(listed(folder), []);
    let first = rotated(folder, &[], &[]);
    let second = rotated(folder, &[], &[]);
    let [(newest, state), (before, before_state)] = &listed(folder)[..] else {
        panic!("two keys");
    };
    assert_eq!((newest, before), (&second, &first));
    assert!(state.ends_with("signs  stored unencrypted"), "{state}");
    assert!(before_state.contains("valid until"), "{before_state}");
    let third = rotated(folder, &["--drop-old"], &[]);
    let all = listed(folder);
    let ids: Vec<&str> = all.iter().map(|(kid, _)| kid.as_str()).collect();
    assert_eq!(ids, [&third, &second, &first]);
    let (newest, dropped) = all.split_first().expect("three keys");
    let since = newest.1.split("  ").next().expect("since when");
    let expected = format!("  dropped {}  ", since.trim_start_matches("since "));
    for (kid, state) in dropped {
        assert!(state.contains(&expected), "{kid}: {state}");
    }
}

#[test]
fn an_unreadable_signing_key_prevents_the_start() {
    let folder = folder();
    let folder = folder.path();
    printed(folder, &["migrate"]);
    let kid = rotated(folder, &[], &[("AUTH__ENCRYPTION_KEY", ENCRYPTION_KEY)]);
    assert!(listed(folder)[0].1.ends_with("stored encrypted"));
    for (wrong, why) in [
        ("", "AUTH__ENCRYPTION_KEY is not set"),
        (OTHER_KEY, "it is encrypted with another key"),
    ] {
        let variables = [("SERVER__PORT", "0"), ("AUTH__ENCRYPTION_KEY", wrong)];
        let text = refusal(folder, &["serve"], &variables);
        let expected = format!("the signing key {kid} cannot be read");
        assert!(text.contains(&expected), "{text}");
        assert_eq!(
            text.matches(why).count(),
            2,
            "in the log and at the end: {text}"
        );
        assert!(text.contains("signing-keys rotate"), "{text}");
        assert!(!text.contains(OTHER_KEY), "{text}");
    }
}

#[test]
fn rotating_without_the_encryption_key_logs_a_warning() {
    let folder = folder();
    let folder = folder.path();
    printed(folder, &["migrate"]);
    let warned = |key: &str| {
        let variables = [("AUTH__ENCRYPTION_KEY", key)];
        let output = run(folder, &["signing-keys", "rotate"], &variables);
        assert!(output.status.success());
        let text = String::from_utf8(output.stderr).expect("UTF-8");
        text.contains("warning: AUTH__ENCRYPTION_KEY is not set")
    };
    assert!(!warned(""), "nothing was encrypted before");
    assert!(!warned(ENCRYPTION_KEY));
    assert!(warned(""));
    assert!(!warned(""), "it warns once");
}
