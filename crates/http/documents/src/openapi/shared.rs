//! Responses and parameters that occur more than once become components.

use std::collections::{BTreeMap, BTreeSet};

use domain::ProblemCode;
use serde_json::{Value, json};

use super::variants::pascal_case;

/// Moves responses and parameters that operations repeat into components.
pub(super) fn share(document: &mut Value) {
    share_kind(document, "responses", |response| {
        [response_name(response), qualified_name(response)]
    });
    share_kind(document, "parameters", |parameter| {
        [parameter_name(parameter), parameter_name(parameter)]
    });
}

/// Moves repeated members of operations into components. `names` are the name of a member, and that
/// which it has if others have the first name too.
fn share_kind(document: &mut Value, kind: &str, names: impl Fn(&Value) -> [String; 2]) {
    let mut counts: BTreeMap<String, (Value, usize)> = BTreeMap::new();
    each(document, kind, |member| {
        let (_, count) = counts
            .entry(member.to_string())
            .or_insert_with(|| (member.clone(), 0));
        *count += 1;
    });
    counts.retain(|_, (member, count)| *count > 1 && member["$ref"].is_null());
    let mut used = BTreeSet::new();
    let mut components = BTreeMap::new();
    for (text, (member, _)) in &counts {
        let [name, qualified] = names(member);
        let alike = counts.values().filter(|(it, _)| names(it)[0] == name);
        let mut name = if alike.count() == 1 { name } else { qualified };
        while !used.insert(name.clone()) {
            name.push('_');
        }
        components.insert(text.clone(), name);
    }
    each(document, kind, |member| {
        if let Some(name) = components.get(&member.to_string()) {
            *member = json!({"$ref": format!("#/components/{kind}/{name}")});
        }
    });
    for (text, name) in components {
        if let Some((member, _)) = counts.remove(&text) {
            document["components"][kind][name] = member;
        }
    }
}

/// Visits the responses or parameters of all operations.
fn each(document: &mut Value, kind: &str, mut visit: impl FnMut(&mut Value)) {
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    let items = paths.filter_map(|(_, item)| item.as_object_mut());
    for (_, operation) in items.flatten() {
        match operation.get_mut(kind) {
            Some(Value::Object(members)) => members.values_mut().for_each(&mut visit),
            Some(Value::Array(items)) => items.iter_mut().for_each(&mut visit),
            _ => {}
        }
    }
}

/// The name of a problem's code, or of what the description says: `The changed agent.` is
/// `ChangedAgent`.
fn response_name(response: &Value) -> String {
    let description = response["description"].as_str().unwrap_or_default();
    let code = ProblemCode::ALL
        .iter()
        .find(|code| code.title() == description);
    match code {
        Some(code) => joined(code.as_str().split('_')),
        None => named_after(description),
    }
}

/// The name with the kind of operations that have the response: those of OAuth, those that no
/// credential is counted for, or all others.
fn qualified_name(response: &Value) -> String {
    let name = response_name(response);
    let has_header = |header: &str| response["headers"][header].is_object();
    if has_header("Pragma") {
        format!("OAuth{name}")
    } else if has_header("RateLimit") || has_header("WWW-Authenticate") {
        name
    } else {
        format!("Public{name}")
    }
}

/// A parameter of a path has the name of what it names: `id` of `The agent.` is `AgentId`.
fn parameter_name(parameter: &Value) -> String {
    let name = joined(parameter["name"].as_str().unwrap_or_default().split('-'));
    match parameter["in"].as_str() {
        Some("path") => named_after(parameter["description"].as_str().unwrap_or_default()) + &name,
        _ => name,
    }
}

/// A name for the first words of a sentence, up to its first comma or `since`.
fn named_after(sentence: &str) -> String {
    let start = sentence
        .split([',', '.', ':', ';'])
        .next()
        .unwrap_or_default();
    let start = start.split(" since ").next().unwrap_or_default();
    let words = start.split(|it: char| !it.is_ascii_alphanumeric());
    joined(words.filter(|word| !matches!(*word, "The" | "the" | "A" | "An")))
}

fn joined<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(pascal_case).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    fn response(description: &str, headers: &[&str]) -> Value {
        let headers = headers.iter().map(|name| ((*name).to_owned(), json!({})));
        json!({"description": description, "headers": headers.collect::<Map<_, _>>()})
    }

    #[test]
    fn what_occurs_twice_is_a_component_with_a_telling_name() {
        let agent = json!({"name": "id", "in": "path", "description": "The agent."});
        let limit = json!({"name": "limit", "in": "query"});
        let changed = response("The changed agent.", &[]);
        let operation = |responses: Value, parameters: Value| json!({"responses": responses, "parameters": parameters});
        let internal = "An internal error occurred.";
        let (counted, public) = (response(internal, &["RateLimit"]), response(internal, &[]));
        let mut document = json!({
            "components": {},
            "paths": {"/a/{id}": {
                "get": operation(json!({"200": changed, "500": counted}), json!([agent, limit])),
                "put": operation(json!({"200": changed, "500": counted}), json!([agent])),
                "post": operation(json!({"200": response("Once.", &[]), "500": public}), json!([])),
                "delete": operation(json!({"500": public}), json!([])),
            }},
        });
        share(&mut document);
        let operations = &document["paths"]["/a/{id}"];
        let reference =
            |kind: &str, name: &str| json!({"$ref": format!("#/components/{kind}/{name}")});
        assert_eq!(
            operations["get"],
            operation(
                json!({
                    "200": reference("responses", "ChangedAgent"),
                    "500": reference("responses", "Internal"),
                }),
                json!([reference("parameters", "AgentId"), limit]),
            )
        );
        assert_eq!(
            operations["delete"]["responses"]["500"],
            reference("responses", "PublicInternal")
        );
        assert_eq!(
            operations["post"]["responses"]["200"]["description"],
            "Once."
        );
        assert_eq!(document["components"]["responses"]["ChangedAgent"], changed);
        assert_eq!(
            document["components"]["parameters"],
            json!({"AgentId": agent})
        );
    }
}
