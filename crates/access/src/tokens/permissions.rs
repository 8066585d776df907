//! The scopes that an external token grants.

use std::collections::BTreeMap;

use domain::{Scope, Scopes};
use serde_json::Value;

use super::IssuerConfig;
use crate::jwt::Claims;

/// The scopes of a token: the union over all scope claims of its issuer. Names that are neither a
/// scope nor a mapped role grant nothing. No user may issue user tokens, because those end with the
/// key or client that issued them, and a user has neither. Users of an issuer that reaches only some agents
/// have no scope that concerns the whole tenant.
pub(super) fn granted_scopes(claims: &Claims, issuer: &IssuerConfig) -> Scopes {
    let found = issuer
        .scope_claims
        .iter()
        .filter_map(|path| path.find(claims.members()));
    let granted = found.flat_map(words);
    let granted: Scopes = granted
        .flat_map(|word| scopes(word, &issuer.role_scopes))
        .filter(|scope| *scope != Scope::UserTokensIssue)
        .collect();
    granted.without(&issuer.agents.too_wide(&granted))
}

/// Splits a string into words at spaces. In a list, each string is one word, whatever it contains. In an
/// object, the names of its members are words, as some issuers map each role to its organisations.
fn words(claim: &Value) -> Vec<&str> {
    match claim {
        Value::String(text) => text.split(' ').collect(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        Value::Object(members) => {
            let held = members.iter().filter(|(_, value)| is_held(value));
            held.map(|(name, _)| name.as_str()).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns false for `null` and `false`, with which an issuer denies a role.
fn is_held(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

fn scopes(word: &str, roles: &BTreeMap<String, Scopes>) -> impl Iterator<Item = Scope> {
    let of_role = roles.get(word).into_iter().flat_map(Scopes::iter);
    of_role.chain(word.parse().ok())
}
