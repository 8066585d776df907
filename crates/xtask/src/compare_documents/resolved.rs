//! A document without references: each is replaced by what it refers to.

use serde_json::{Map, Value};

/// The headers of every response, which the document names once.
const COMMON_HEADERS: &str = "x-response-headers";

/// Returns the document with its references replaced and without its components, which are said
/// where they are used.
pub(super) fn resolved(document: &Value) -> Value {
    let mut resolved = inlined(document, document, &mut Vec::new());
    let Some(members) = resolved.as_object_mut() else {
        return resolved;
    };
    if let Some(Value::Object(components)) = members.remove("components")
        && let Some(schemes) = components.get("securitySchemes")
    {
        members.insert("securitySchemes".to_owned(), schemes.clone());
    }
    if let Some(headers) = members.remove(COMMON_HEADERS) {
        let paths = members.get_mut("paths").and_then(Value::as_object_mut);
        for operation in paths
            .into_iter()
            .flatten()
            .flat_map(|(_, item)| children(item))
        {
            let responses = operation.get_mut("responses").into_iter();
            responses
                .flat_map(children)
                .for_each(|it| add_headers(it, &headers));
        }
    }
    resolved
}

fn children(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    let members = value.as_object_mut().into_iter().flatten();
    members.map(|(_, member)| member)
}

fn add_headers(response: &mut Value, common: &Value) {
    let mut headers = common.as_object().cloned().unwrap_or_default();
    if let Some(Value::Object(own)) = response.get("headers") {
        headers.extend(own.clone());
    }
    response["headers"] = headers.into();
}

/// Replaces the references in `value`. `within` are those that contain it: a component may contain
/// itself.
fn inlined(value: &Value, document: &Value, within: &mut Vec<String>) -> Value {
    match value {
        Value::Array(items) => items
            .iter()
            .map(|item| inlined(item, document, within))
            .collect(),
        Value::Object(members) => {
            let target = members.get("$ref").and_then(Value::as_str);
            let target = target.filter(|target| within.iter().all(|outer| outer != target));
            let found = target.and_then(|it| document.pointer(it.strip_prefix('#')?));
            let mut whole = Map::new();
            if let (Some(target), Some(found)) = (target, found) {
                within.push(target.to_owned());
                if let Value::Object(referenced) = inlined(found, document, within) {
                    whole = referenced;
                }
                within.pop();
            }
            let is_resolved = found.is_some();
            for (name, member) in members {
                if name != "$ref" || !is_resolved {
                    whole.insert(name.clone(), inlined(member, document, within));
                }
            }
            merge_parts(&mut whole);
            if let Some(Value::Array(names)) = whole.get_mut("required") {
                names.sort_by_key(Value::to_string);
            }
            whole.into()
        }
        other => other.clone(),
    }
}

/// Merges the objects of an `allOf` into one.
fn merge_parts(schema: &mut Map<String, Value>) {
    let is_object = |part: &Value| part["properties"].is_object();
    let parts = schema.get("allOf").and_then(Value::as_array);
    let Some(parts) = parts.filter(|parts| parts.iter().all(is_object)).cloned() else {
        return;
    };
    schema.remove("allOf");
    let mut whole = Map::new();
    for part in parts {
        let Value::Object(part) = part else { continue };
        for (keyword, value) in part {
            match (whole.get_mut(&keyword), value) {
                (Some(Value::Object(before)), Value::Object(more)) => before.extend(more),
                (Some(Value::Array(before)), Value::Array(more)) => before.extend(more),
                (_, value) => drop(whole.insert(keyword, value)),
            }
        }
    }
    whole.append(schema);
    *schema = whole;
}
