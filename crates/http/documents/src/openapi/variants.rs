//! Names for inline parts of the document, because code generators create types only for named
//! schemas.

use std::collections::BTreeSet;

use kit::body::MissingComponent;
use serde_json::{Map, Value, json};

use super::component::{self, component, component_mut, reference};

const COMPONENTS: &str = "#/components/schemas/";

/// Moves each variant of `union`, which differ in `type`, into its own component: `turn.started`
/// becomes `<prefix>TurnStarted`.
pub(super) fn name_variants(
    document: &mut Value,
    union: &str,
    prefix: &str,
) -> Result<(), MissingComponent> {
    let schemas = &document["components"]["schemas"];
    let variants = tagged_variants(schemas, union)?;
    let names: Map<String, Value> = variants
        .iter()
        .map(|(tag, _)| {
            let name = format!("{prefix}{}", pascal_case(tag));
            (tag.clone(), reference(&name))
        })
        .collect();
    let references: Vec<Value> = names.values().map(|it| json!({"$ref": it})).collect();
    for (tag, schema) in variants {
        component::put(document, &format!("{prefix}{}", pascal_case(&tag)), schema);
    }
    let union = component_mut(document, union)?;
    union.insert("oneOf".to_owned(), references.into());
    let discriminator = json!({"propertyName": "type", "mapping": names});
    union.insert("discriminator".to_owned(), discriminator);
    Ok(())
}

/// Returns the variants of the component `union` by their constant `type`.
pub(crate) fn tagged_variants(
    components: &Value,
    union: &str,
) -> Result<Vec<(String, Value)>, MissingComponent> {
    let missing = || MissingComponent(union.to_owned());
    let variants = components[union]["oneOf"].as_array().ok_or_else(missing)?;
    let tagged = variants.iter().map(|variant| tagged(components, variant));
    tagged.collect::<Option<_>>().ok_or_else(missing)
}

/// Merges the `allOf` of a component and its `type` into one object.
fn tagged(components: &Value, variant: &Value) -> Option<(String, Value)> {
    let mut object = match variant["allOf"].as_array().map(Vec::as_slice) {
        Some([base, own]) => {
            let name = base["$ref"].as_str()?.strip_prefix(COMPONENTS)?;
            let mut object = components.get(name)?.clone();
            object["properties"]["type"] = own["properties"]["type"].clone();
            let required = object["required"].as_array().cloned().unwrap_or_default();
            object["required"] = [vec!["type".into()], required].concat().into();
            if let Some(description) = base.get("description").or(variant.get("description")) {
                object["description"] = description.clone();
            }
            object
        }
        _ => variant.clone(),
    };
    let tag = object["properties"]["type"]["enum"][0].as_str()?.to_owned();
    object["properties"]["type"] = json!({"type": "string", "const": tag});
    Some((tag, object))
}

/// Returns the type name for `turn.started` or `turnStarted`: `TurnStarted`.
pub(crate) fn pascal_case(name: &str) -> String {
    let words = name.split('.').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    });
    words.collect()
}

/// Replaces the repeated schemas of list items by references to their components.
pub(super) fn refer_to_items(document: &mut Value) {
    let Some(schemas) = document["components"]["schemas"].as_object() else {
        return;
    };
    let listings: Vec<(String, String)> = schemas
        .keys()
        .filter_map(|name| {
            let (_, item) = name.split_once("Of_").or(name.split_once("Listing_"))?;
            let is_component = schemas.contains_key(item);
            is_component.then(|| (name.clone(), item.to_owned()))
        })
        .collect();
    for (listing, item) in listings {
        let items = &mut document["components"]["schemas"][listing]["properties"]["data"]["items"];
        *items = json!({"$ref": reference(&item)});
    }
}

/// Removes components that no operation refers to, directly or indirectly.
pub(super) fn remove_unused(document: &mut Value) {
    let mut used = BTreeSet::new();
    collect(&document["paths"], document, &mut used);
    collect(&document["components"]["headers"], document, &mut used);
    collect(&document["components"]["parameters"], document, &mut used);
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.retain(|name, _| used.contains(name));
    }
}

fn collect(value: &Value, document: &Value, used: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|it| collect(it, document, used)),
        Value::Object(members) => {
            let target = members.get("$ref").and_then(Value::as_str);
            if let Some(name) = target.and_then(|it| it.strip_prefix(COMPONENTS))
                && used.insert(name.to_owned())
                && let Ok(schema) = component(document, name)
            {
                schema.values().for_each(|it| collect(it, document, used));
            }
            members.values().for_each(|it| collect(it, document, used));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Value {
        json!({
            "paths": {"/": {"$ref": "#/components/schemas/Told"}},
            "components": {"schemas": {
                "Told": {"oneOf": [
                    {
                        "description": "It ended.",
                        "allOf": [
                            {"$ref": "#/components/schemas/Place"},
                            {"type": "object", "properties": {"type": {"enum": ["turn.ended"]}}},
                        ],
                    },
                    {"type": "object", "required": ["type"], "properties": {"type": {"enum": ["ping"]}}},
                ]},
                "Place": {
                    "type": "object",
                    "required": ["at"],
                    "properties": {"at": {"$ref": "#/components/schemas/At"}},
                },
                "At": {"type": "string"},
                "Other": {},
                "PageOf_At": {"properties": {"data": {"items": {"type": "string"}}}},
            }},
        })
    }

    #[test]
    fn variants_become_components_with_a_discriminator() {
        let mut document = document();
        name_variants(&mut document, "Told", "Chat").unwrap();
        let schemas = &document["components"]["schemas"];
        let reference = |name| json!({"$ref": format!("{COMPONENTS}{name}")});
        assert_eq!(
            schemas["Told"]["oneOf"],
            json!([reference("ChatPing"), reference("ChatTurnEnded")])
        );
        assert_eq!(
            schemas["Told"]["discriminator"]["mapping"]["turn.ended"],
            "#/components/schemas/ChatTurnEnded"
        );
        let ended = &schemas["ChatTurnEnded"];
        assert_eq!(ended["required"], json!(["type", "at"]));
        assert_eq!(ended["description"], "It ended.");
        assert_eq!(ended["properties"]["type"]["const"], "turn.ended");
        assert_eq!(ended["properties"]["at"], reference("At"));
    }

    #[test]
    fn unused_components_are_removed_and_items_are_references() {
        let mut document = document();
        refer_to_items(&mut document);
        let items = &document["components"]["schemas"]["PageOf_At"]["properties"]["data"]["items"];
        assert_eq!(*items, json!({"$ref": "#/components/schemas/At"}));
        remove_unused(&mut document);
        let schemas = document["components"]["schemas"].as_object().unwrap();
        assert_eq!(schemas.keys().collect::<Vec<_>>(), ["At", "Place", "Told"]);
    }
}
