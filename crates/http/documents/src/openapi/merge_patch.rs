//! Schemas of JSON merge patches (RFC 7396), derived from the schemas of their targets.

use kit::body::MissingComponent;
use serde_json::{Map, Value, json};

use super::component::{component, put, reference, reference_target};

/// Adds the component `<name>Patch`: a merge patch of the component `name`, and of the objects in
/// it that are components. No member is required, `null` removes optional members, and those in
/// `fixed` are unknown. Returns the name of the new component.
pub(super) fn add(
    document: &mut Value,
    name: &str,
    fixed: &[&str],
) -> Result<String, MissingComponent> {
    let patch_name = format!("{name}Patch");
    if component(document, &patch_name).is_ok() {
        return Ok(patch_name);
    }
    let mut patch = component(document, name)?.clone();
    // A placeholder, in case a component contains itself.
    put(document, &patch_name, json!({}));

    let required = patch.remove("required").unwrap_or_default();
    let is_required = |member: &str| {
        let mut names = required.as_array().into_iter().flatten();
        names.any(|name| name == member)
    };
    patch.remove("default");
    if let Some(Value::Object(members)) = patch.get_mut("properties") {
        members.retain(|member, _| !fixed.contains(&member.as_str()));
        for (member, schema) in members {
            let changed = member_patch(document, schema)?;
            *schema = if is_required(member) {
                changed.into()
            } else {
                or_null(changed)
            };
        }
    }
    if let Some(Value::Object(values)) = patch.get("additionalProperties") {
        let values = or_null(member_patch(document, &values.clone().into())?);
        patch.insert("additionalProperties".to_owned(), values);
        // A patch may remove as many members as it adds, so only the result is counted.
        patch.remove("maxProperties");
    }
    let description = format!(
        "JSON merge patch (RFC 7396) of `{name}`: absent members keep their values, `null` \
         removes an optional one, anything else replaces."
    );
    patch.insert("description".to_owned(), description.into());
    put(document, &patch_name, patch.into());
    Ok(patch_name)
}

/// Returns the schema of a member in a patch, apart from `null`. Objects are merged, so their
/// schema is a patch too; all other values are replaced.
fn member_patch(
    document: &mut Value,
    schema: &Value,
) -> Result<Map<String, Value>, MissingComponent> {
    let mut schema = without_null(schema);
    // An absent member of a patch keeps its value and has no default.
    schema.remove("default");
    if let Some(name) = reference_target(&schema).map(str::to_owned)
        && is_merged(component(document, &name)?)
    {
        let patch_name = add(document, &name, &[])?;
        schema.insert("$ref".to_owned(), reference(&patch_name));
    }
    Ok(schema)
}

/// Returns the schema of a value that is not `null`, of an optional value.
fn without_null(schema: &Value) -> Map<String, Value> {
    let alternatives = schema["oneOf"].as_array().map(Vec::as_slice);
    let schema = match alternatives {
        Some([value, null]) if null["type"] == "null" => value,
        _ => schema,
    };
    schema.as_object().cloned().unwrap_or_default()
}

fn is_merged(schema: &Map<String, Value>) -> bool {
    let has_members = |keyword| schema.get(keyword).is_some_and(Value::is_object);
    has_members("properties") || has_members("additionalProperties")
}

/// Allows `null` in a schema.
fn or_null(mut schema: Map<String, Value>) -> Value {
    if let Some(target) = schema.remove("$ref") {
        let alternatives = json!([{"$ref": target}, {"type": "null"}]);
        schema.insert("anyOf".to_owned(), alternatives);
    }
    if let Some(Value::Array(options)) = schema.get_mut("enum") {
        push_once(options, Value::Null);
    }
    match schema.get_mut("type") {
        Some(Value::Array(types)) => push_once(types, "null".into()),
        Some(kind) => *kind = json!([kind.take(), "null"]),
        None => {}
    }
    for union in ["oneOf", "anyOf"] {
        if let Some(Value::Array(alternatives)) = schema.get_mut(union) {
            push_once(alternatives, json!({"type": "null"}));
        }
    }
    schema.into()
}

fn push_once(list: &mut Vec<Value>, item: Value) {
    if !list.contains(&item) {
        list.push(item);
    }
}
