//! Checks of responses against the published document.

use std::sync::LazyLock;

use domain::Sizes;
use serde_json::Value;

use crate::response::ApiResponse;

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let url = "http://127.0.0.1:8080";
    documents::openapi::document(&Sizes::default(), url).expect("the document can be made")
});

/// The document of a server with the default sizes.
pub(crate) fn document() -> &'static Value {
    &DOCUMENT
}

/// The document with the responses and parameters of each operation in place, and with the headers
/// that it lists once for all responses.
static RESOLVED: LazyLock<Value> = LazyLock::new(|| {
    let mut whole = document().clone();
    let items = whole["paths"].as_object_mut().into_iter().flatten();
    for (_, operation) in items.flat_map(|(_, item)| item.as_object_mut().into_iter().flatten()) {
        for parameter in operation["parameters"].as_array_mut().into_iter().flatten() {
            *parameter = resolved(parameter).clone();
        }
        for (_, response) in operation["responses"].as_object_mut().into_iter().flatten() {
            *response = resolved(response).clone();
            let common = document()["x-response-headers"].as_object().into_iter();
            for (name, header) in common.flatten() {
                response["headers"][name] = header.clone();
            }
        }
    }
    whole
});

/// The paths of the document, whose operations have no references to responses and parameters.
pub(crate) fn paths() -> &'static Value {
    &RESOLVED["paths"]
}

/// Checks the response to `method path` against the document: its status, and the promised headers.
/// Undocumented operations are found by the drift tests.
pub(crate) fn check(method: &str, path: &str, response: &ApiResponse) {
    let method = if method == "HEAD" { "GET" } else { method };
    let Some((_, operation)) = operation(method, path) else {
        return;
    };
    let status = response.status.to_string();
    let documented = &operation["responses"][&status];
    assert!(
        documented.is_object(),
        "{method} {path} answers {status}, which is not documented: {}",
        response.text()
    );
    for (name, header) in documented["headers"].as_object().into_iter().flatten() {
        let is_promised = resolved(header)["required"] == true;
        assert!(
            !is_promised || response.has(name),
            "{method} {path} {status} lacks the promised {name}: {response:?}"
        );
    }
}

/// The template of a path and the operation behind it.
pub(crate) fn operation(method: &str, path: &str) -> Option<(&'static str, &'static Value)> {
    let path = path.split('?').next().unwrap_or_default();
    let paths = paths().as_object().expect("paths");
    let (template, item) = paths
        .iter()
        .find(|(template, _)| matches_template(template, path))?;
    let operation = item.get(method.to_lowercase())?;
    Some((template, operation))
}

fn matches_template(template: &str, path: &str) -> bool {
    let mut pairs = template.split('/').zip(path.split('/'));
    template.split('/').count() == path.split('/').count()
        && pairs.all(|(expected, given)| expected.starts_with('{') || expected == given)
}

/// Resolves a `$ref`.
pub(crate) fn resolved(value: &Value) -> &Value {
    match value["$ref"].as_str() {
        Some(target) => document()
            .pointer(target.trim_start_matches('#'))
            .unwrap_or_else(|| panic!("{target} leads nowhere")),
        None => value,
    }
}
