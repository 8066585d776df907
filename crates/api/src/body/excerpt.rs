//! Enough of a hostile body to tell what is wrong with it.

use std::borrow::Cow;

use serde_json::Value;

/// The same body, its lists cut once they hold `most` items together. A validator reports every
/// fault before the first can be looked at, and 120,000 of them take a quarter of a second.
/// Only ends of lists are left out, so that no fault appears that the whole does not have; none
/// of the lists becomes empty.
pub(super) fn excerpt(value: &Value, most: usize) -> Cow<'_, Value> {
    if items(value) <= most {
        return Cow::Borrowed(value);
    }
    let mut left = most;
    Cow::Owned(cut(value, &mut left))
}

fn items(value: &Value) -> usize {
    match value {
        Value::Array(list) => list.len() + list.iter().map(items).sum::<usize>(),
        Value::Object(members) => members.values().map(items).sum(),
        _ => 0,
    }
}

fn cut(value: &Value, left: &mut usize) -> Value {
    match value {
        Value::Array(list) => {
            let mut kept = Vec::new();
            for item in list {
                if *left == 0 && !kept.is_empty() {
                    break;
                }
                *left = left.saturating_sub(1);
                kept.push(cut(item, left));
            }
            Value::Array(kept)
        }
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (name.clone(), cut(member, left)))
            .collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_body_with_few_items_is_left_alone() {
        let body = json!({"rules": vec![json!({"keywords": vec!["a"; 32]}); 200]});
        assert!(matches!(excerpt(&body, 6_600), Cow::Borrowed(_)));
    }

    #[test]
    fn only_ends_of_lists_are_left_out() {
        let body = json!({"a": vec![1; 300], "b": [1, 2], "c": {"d": [[3]]}, "e": []});
        let kept = json!({"a": vec![1; 256], "b": [1], "c": {"d": [[3]]}, "e": []});
        assert_eq!(*excerpt(&body, 256), kept);
    }
}
