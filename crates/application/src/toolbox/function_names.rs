//! Function names in the form that models accept: 1 to 64 letters, digits, `_` and `-`.

use std::collections::HashSet;

use domain::tool_call::{FUNCTION_NAME_LENGTH, function_name, is_function_name};

/// Returns the function names of these capabilities, in their order. Valid names are kept; in
/// others, `_` replaces invalid characters, and a number makes duplicates unique.
pub(crate) fn function_names(capabilities: &[&str]) -> Vec<String> {
    let valid = |name: &&&str| is_function_name(name);
    let mut taken: HashSet<String> = capabilities
        .iter()
        .filter(valid)
        .map(ToString::to_string)
        .collect();
    let mut name = |capability: &&str| {
        if is_function_name(capability) {
            return (*capability).to_owned();
        }
        let base = function_name(capability);
        let mut name = base.clone();
        let mut number = 2;
        while name.is_empty() || !taken.insert(name.clone()) {
            let suffix = format!("_{number}");
            let kept = base.len().min(FUNCTION_NAME_LENGTH - suffix.len());
            name = format!("{}{suffix}", &base[..kept]);
            number += 1;
        }
        name
    };
    capabilities.iter().map(&mut name).collect()
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
    fn invalid_characters_become_underscores(#[case] names: &[&str], #[case] expected: &[&str]) {
        assert_eq!(function_names(names), expected);
    }

    #[test]
    fn long_names_are_cut_and_stay_unique() {
        let (first, second) = ("a".repeat(70) + "1", "a".repeat(70) + "2");
        let names = function_names(&[&first, &second]);
        assert_eq!(names, ["a".repeat(64), "a".repeat(62) + "_2"]);
    }

    proptest! {
        #[test]
        fn every_name_is_valid_and_unique(
            capabilities in prop::collection::hash_set("[a-c/._é]{1,3}|[a-b/]{63,70}", 0..24),
        ) {
            let capabilities: Vec<_> = capabilities.iter().map(String::as_str).collect();
            let names = function_names(&capabilities);
            prop_assert!(names.iter().all(|name| is_function_name(name)));
            let distinct: HashSet<_> = names.iter().collect();
            prop_assert_eq!(distinct.len(), capabilities.len());
        }
    }
}
