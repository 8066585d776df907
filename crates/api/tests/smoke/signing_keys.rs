//! The keys that sign access tokens, by command.

use std::path::Path;

use crate::process::{folder, printed, refusal, run};

/// 32 bytes.
const ENCRYPTION_KEY: &str = "7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u4=";
const OTHER_KEY: &str = "IiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiI=";

/// The ids of the listed keys, each with what is said of it.
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
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let kid = String::from_utf8(output.stdout).expect("UTF-8");
    kid.trim_end().to_owned()
}

#[test]
fn signing_keys_are_rotated_and_dropped_on_the_store_itself() {
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
    assert!(state.ends_with("signs  stored as it is"), "{state}");
    assert!(before_state.contains("counts until"), "{before_state}");
    let third = rotated(folder, &["--drop-old"], &[]);
    let all = listed(folder);
    let ids: Vec<&str> = all.iter().map(|(kid, _)| kid.as_str()).collect();
    assert_eq!(ids, [&third, &second, &first]);
    assert!(all[1..].iter().all(|(_, state)| state.contains("ended")));
}

#[test]
fn who_cannot_read_the_key_that_signs_does_not_serve() {
    let folder = folder();
    let folder = folder.path();
    printed(folder, &["migrate"]);
    let kid = rotated(folder, &[], &[("AUTH__ENCRYPTION_KEY", ENCRYPTION_KEY)]);
    assert!(listed(folder)[0].1.ends_with("stored encrypted"));
    for wrong in ["", OTHER_KEY] {
        let variables = [("SERVER__PORT", "0"), ("AUTH__ENCRYPTION_KEY", wrong)];
        let told = refusal(folder, &["serve"], &variables);
        let expected = format!("the signing key {kid} cannot be read");
        assert!(told.contains(&expected), "{told}");
        assert!(told.contains("signing-keys rotate"), "{told}");
        assert!(!told.contains(OTHER_KEY), "{told}");
    }
}
