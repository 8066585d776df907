//! The parts that all operations have in common: security, problems, headers, links.

use domain::{ProblemCode, Scope};
use kit::operations::{Access, Operation};
use serde_json::{Value, json};

use super::{
    bodies::{self, CHAT_PROBLEM, RATE_LIMIT_PROBLEM},
    component::reference,
    document::DocumentError,
    headers, links,
    problems::problems,
};
use crate::surfaces;

/// Completes every operation of the derived document.
pub(super) fn complete(document: &mut Value) -> Result<(), DocumentError> {
    let table = surfaces::table();
    bodies::add_components(document);
    bodies::point_bodies_to_components(document);
    let Some(paths) = document["paths"].as_object_mut() else {
        return Ok(());
    };
    for (path, item) in paths {
        let Some(methods) = item.as_object_mut() else {
            continue;
        };
        for (method, operation) in methods {
            let id = operation["operationId"].as_str().unwrap_or_default();
            let row = table.find(id);
            let row = row.filter(|it| it.method.eq_ignore_ascii_case(method) && it.path == path);
            let row = row.ok_or_else(|| DocumentError::Mismatch(id.to_owned()))?;
            complete_operation(row, operation);
        }
    }
    bodies::list_event_types(document);
    links::add(document);
    Ok(())
}

fn complete_operation(operation: &Operation, described: &mut Value) {
    described["security"] = security(operation.access);
    if operation.takes_link
        && let Some(alternatives) = described["security"].as_array_mut()
    {
        alternatives.push(json!({}));
    }
    if operation.optional_body {
        described["requestBody"]["required"] = false.into();
    }
    headers::add_parameters(operation, described);
    for code in problems(operation, described) {
        add_problem(described, code);
    }
    let responses = described["responses"].as_object_mut();
    for (status, response) in responses.into_iter().flatten() {
        if status.starts_with(['4', '5']) {
            response["content"] = error_content(operation, status);
        }
        let headers = headers::of_response(operation, status);
        if headers != json!({}) {
            response["headers"] = headers;
        }
    }
}

/// The content of an error response.
fn error_content(operation: &Operation, status: &str) -> Value {
    let (media_type, schema) = match status {
        _ if operation.is_oauth() => ("application/json", "OAuthError"),
        "429" => ("application/problem+json", RATE_LIMIT_PROBLEM),
        _ if operation.may_name_turn(status) => ("application/problem+json", CHAT_PROBLEM),
        _ => ("application/problem+json", "Problem"),
    };
    json!({media_type: {"schema": {"$ref": reference(schema)}}})
}

/// The same scopes for each way of sending a credential.
fn security(access: Access) -> Value {
    let alternatives = |scopes: &[Scope]| -> Vec<Value> {
        let names: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
        ["ApiKey", "Bearer", "OAuth2"]
            .map(|scheme| json!({scheme: names}))
            .to_vec()
    };
    match access {
        Access::Public => json!([]),
        Access::AnyCredential => json!(alternatives(&[])),
        Access::AnyOf(scopes) => scopes
            .iter()
            .flat_map(|scope| alternatives(std::slice::from_ref(scope)))
            .collect(),
    }
}

fn add_problem(described: &mut Value, code: ProblemCode) {
    let status = code.status().to_string();
    let Some(responses) = described["responses"].as_object_mut() else {
        return;
    };
    responses
        .entry(status)
        .or_insert_with(|| json!({"description": code.title()}));
}
