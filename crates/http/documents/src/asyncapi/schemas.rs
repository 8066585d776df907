//! The component schemas of the document.

use std::collections::BTreeSet;

use kit::body::MissingComponent;
use serde_json::{Map, Value, json};
use socket::frames::COMMANDS;

use super::{replies, sockets};
use crate::openapi::tagged_variants;

const COMPONENTS: &str = "#/components/schemas/";

/// A schema that refers to the component `name`.
pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("{COMPONENTS}{name}")})
}

/// The component `name`.
pub(super) fn component<'a>(
    components: &'a Value,
    name: &str,
) -> Result<&'a Value, MissingComponent> {
    components
        .get(name)
        .ok_or_else(|| MissingComponent(name.to_owned()))
}

/// The description of a component.
pub(super) fn summary(schema: &Value) -> String {
    schema["description"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// The variant of `union` whose `type` is `name`, as a constant.
pub(super) fn variant(
    components: &Value,
    union: &str,
    name: &str,
) -> Result<Value, MissingComponent> {
    let variants = tagged_variants(components, union)?.into_iter();
    let mut named = variants.filter(|(tag, _)| tag == name);
    let (_, variant) = named
        .next()
        .ok_or(MissingComponent(format!("{union}.{name}")))?;
    Ok(variant)
}

/// Adds a component for every frame, so that generators create a type for each.
pub(super) fn name_frames(components: &mut Value) -> Result<(), MissingComponent> {
    for (name, command) in COMMANDS {
        let kind = &mut components[*command]["properties"]["type"];
        *kind = json!({"type": "string", "const": name});
    }
    replies::name_frames(components)?;
    sockets::name_frames(components)
}

/// Removes the discriminators of OpenAPI. One of AsyncAPI is a string and names no components; the
/// constant `type` of each variant has the same meaning.
pub(super) fn remove_discriminators(components: &mut Value) {
    let schemas = components.as_object_mut().into_iter().flatten();
    for (_, schema) in schemas {
        if let Some(members) = schema.as_object_mut() {
            members.remove("discriminator");
        }
    }
}

/// The components that `messages` refer to, directly or indirectly.
pub(super) fn reachable(components: &Value, messages: &Map<String, Value>) -> Value {
    let mut found = BTreeSet::new();
    messages
        .values()
        .for_each(|message| collect(message, components, &mut found));
    let reached = found
        .into_iter()
        .map(|name| (name.to_owned(), components[name].clone()));
    Value::Object(reached.collect())
}

fn collect<'a>(value: &'a Value, components: &'a Value, found: &mut BTreeSet<&'a str>) {
    match value {
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect(item, components, found)),
        Value::Object(members) => {
            let target = members.get("$ref").and_then(Value::as_str);
            let name = target.and_then(|target| target.strip_prefix(COMPONENTS));
            if let Some(name) = name
                && found.insert(name)
            {
                collect(&components[name], components, found);
            }
            members
                .values()
                .for_each(|member| collect(member, components, found));
        }
        _ => {}
    }
}
