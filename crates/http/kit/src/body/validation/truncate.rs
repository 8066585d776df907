//! Truncates hostile bodies before their errors are collected.

use std::borrow::Cow;

use serde_json::Value;

/// Returns the body with its lists truncated to `max` items in total. A validator collects all
/// errors before the first can be used, and 120,000 of them take a quarter of a second. Only ends
/// of lists are removed, and no list becomes empty, so that no error appears that the whole body
/// does not have.
pub(in crate::body) fn truncate(value: &Value, max: usize) -> Cow<'_, Value> {
    if count_items(value) <= max {
        return Cow::Borrowed(value);
    }
    let mut remaining = max;
    Cow::Owned(truncate_lists(value, &mut remaining))
}

fn count_items(value: &Value) -> usize {
    match value {
        Value::Array(list) => list.len() + list.iter().map(count_items).sum::<usize>(),
        Value::Object(members) => members.values().map(count_items).sum(),
        _ => 0,
    }
}

fn truncate_lists(value: &Value, remaining: &mut usize) -> Value {
    match value {
        Value::Array(list) => {
            let mut kept = Vec::new();
            for item in list {
                if *remaining == 0 && !kept.is_empty() {
                    break;
                }
                *remaining = remaining.saturating_sub(1);
                kept.push(truncate_lists(item, remaining));
            }
            Value::Array(kept)
        }
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (name.clone(), truncate_lists(member, remaining)))
            .collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_body_with_few_items_is_not_changed() {
        let body = json!({"rules": vec![json!({"keywords": vec!["a"; 32]}); 200]});
        assert!(matches!(truncate(&body, 6_600), Cow::Borrowed(_)));
    }

    #[test]
    fn only_ends_of_lists_are_removed() {
        let body = json!({"a": vec![1; 300], "b": [1, 2], "c": {"d": [[3]]}, "e": []});
        let kept = json!({"a": vec![1; 256], "b": [1], "c": {"d": [[3]]}, "e": []});
        assert_eq!(*truncate(&body, 256), kept);
    }
}
