//! JSON merge patch (RFC 7396).

use serde_json::{Map, Value};

/// Applies `patch` to `target`: members are replaced, objects are merged, `null` removes a member.
pub fn apply(target: &mut Value, patch: Value) {
    let Value::Object(members) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(object) = target else {
        return;
    };
    for (name, value) in members {
        if value.is_null() {
            object.remove(&name);
        } else {
            apply(object.entry(name).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    /// The cases of the RFC's appendix that differ from a plain replacement.
    #[rstest]
    #[case(json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"}))]
    #[case(json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"}))]
    #[case(json!({"a": "b"}), json!({"a": null}), json!({}))]
    #[case(json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}}))]
    #[case(json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]}))]
    #[case(json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"}))]
    #[case(json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}}))]
    fn patches_are_applied_by_rfc_7396(
        #[case] mut target: Value,
        #[case] patch: Value,
        #[case] result: Value,
    ) {
        apply(&mut target, patch);
        assert_eq!(target, result);
    }
}
