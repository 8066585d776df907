//! The components of an OpenAPI document, as JSON.

use kit::body::MissingComponent;
use serde_json::{Map, Value};

/// Returns the schema of the component `name`.
pub(super) fn component<'a>(
    document: &'a Value,
    name: &str,
) -> Result<&'a Map<String, Value>, MissingComponent> {
    document["components"]["schemas"]
        .get(name)
        .and_then(Value::as_object)
        .ok_or_else(|| MissingComponent(name.to_owned()))
}

/// Returns the schema of the component `name` for changes.
pub(super) fn component_mut<'a>(
    document: &'a mut Value,
    name: &str,
) -> Result<&'a mut Map<String, Value>, MissingComponent> {
    document["components"]["schemas"]
        .get_mut(name)
        .and_then(Value::as_object_mut)
        .ok_or_else(|| MissingComponent(name.to_owned()))
}

/// Returns the schema of a member of the component `name` for changes.
pub(super) fn member_mut<'a>(
    document: &'a mut Value,
    name: &str,
    member: &str,
) -> Result<&'a mut Map<String, Value>, MissingComponent> {
    component_mut(document, name)?
        .get_mut("properties")
        .and_then(|members| members.get_mut(member)?.as_object_mut())
        .ok_or_else(|| MissingComponent(format!("{name}.{member}")))
}

/// Adds or replaces the component `name`.
pub(super) fn put(document: &mut Value, name: &str, schema: Value) {
    document["components"]["schemas"][name] = schema;
}

/// Returns the name of the component that `schema` refers to.
pub(super) fn reference_target(schema: &Map<String, Value>) -> Option<&str> {
    schema
        .get("$ref")?
        .as_str()?
        .strip_prefix("#/components/schemas/")
}

/// Returns a reference to the component `name`.
pub(super) fn reference(name: &str) -> Value {
    format!("#/components/schemas/{name}").into()
}
