//! What a foreign token allows.

use std::collections::BTreeMap;

use domain::{Scope, Scopes};
use serde_json::Value;

use super::Issuer;
use crate::access::jwt::Claims;

/// What a token of an issuer allows: everything that one of its scope claims names. What is no
/// scope and no role that is mapped allows nothing.
pub(super) fn of(claims: &Claims, issuer: &Issuer) -> Scopes {
    let found = issuer
        .scope_claims
        .iter()
        .filter_map(|path| path.find(claims.members()));
    let granted = found.flat_map(words);
    granted
        .flat_map(|word| scopes(word, &issuer.role_scopes).iter())
        .collect()
}

/// Text is words with spaces between; in a list each text is one word, whatever is in it.
fn words(claim: &Value) -> Vec<&str> {
    match claim {
        Value::String(text) => text.split(' ').collect(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn scopes(word: &str, roles: &BTreeMap<String, Scopes>) -> Scopes {
    let of_role = roles.get(word).copied().unwrap_or_default();
    let named = word.parse::<Scope>().ok();
    of_role.iter().chain(named).collect()
}
