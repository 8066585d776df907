//! Names of tools as models may say them: 1 to 64 letters, digits, `_` and `-`.

use std::collections::HashSet;

const LONGEST: usize = 64;

/// The functions' names for these capabilities, in their order. A name that a model may say stays
/// as it is; in others, what it may not say becomes `_`, and a number tells apart what would then be
/// the same.
pub(crate) fn function_names(capabilities: &[&str]) -> Vec<String> {
    let plain = |name: &&&str| is_sayable(name);
    let mut taken: HashSet<String> = capabilities
        .iter()
        .filter(plain)
        .map(ToString::to_string)
        .collect();
    let mut name = |capability: &&str| {
        if is_sayable(capability) {
            return (*capability).to_owned();
        }
        let sayable: String = capability.chars().map(sayable).take(LONGEST).collect();
        let mut name = sayable.clone();
        let mut number = 2;
        while name.is_empty() || !taken.insert(name.clone()) {
            let suffix = format!("_{number}");
            let kept = sayable.len().min(LONGEST - suffix.len());
            name = format!("{}{suffix}", &sayable[..kept]);
            number += 1;
        }
        name
    };
    capabilities.iter().map(&mut name).collect()
}

fn is_sayable(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len()) && name.chars().all(|letter| sayable(letter) == letter)
}

fn sayable(letter: char) -> char {
    if letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-') {
        letter
    } else {
        '_'
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(&["time", "get-weather_2"], &["time", "get-weather_2"])]
    #[case(&["files/read", "files.read", "files_read"], &["files_read_2", "files_read_3", "files_read"])]
    #[case(&["日時", "é"], &["__", "_"])]
    fn says_names_in_letters_that_models_know(#[case] names: &[&str], #[case] expected: &[&str]) {
        assert_eq!(function_names(names), expected);
    }

    #[test]
    fn cuts_what_is_too_long_and_still_tells_it_apart() {
        let (first, second) = ("a".repeat(70) + "1", "a".repeat(70) + "2");
        let names = function_names(&[&first, &second]);
        assert_eq!(names, ["a".repeat(64), "a".repeat(62) + "_2"]);
    }

    proptest! {
        #[test]
        fn every_name_is_sayable_and_its_own(
            capabilities in prop::collection::hash_set("[a-c/._é]{1,3}|[a-b/]{63,70}", 0..24),
        ) {
            let capabilities: Vec<_> = capabilities.iter().map(String::as_str).collect();
            let names = function_names(&capabilities);
            prop_assert!(names.iter().all(|name| is_sayable(name)));
            let distinct: HashSet<_> = names.iter().collect();
            prop_assert_eq!(distinct.len(), capabilities.len());
        }
    }
}
