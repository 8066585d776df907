//! The scopes that an external token grants.

use domain::{Scope, Scopes};
use serde_json::{Value, json};

use super::fixture::{IssuerFixture, path};
use Scope::{AgentsRead, AgentsWrite, ChatWrite, ConversationsAll, KeysAdmin, MetricsRead};

/// Returns the scopes that these claims grant when scopes are in the claims with these paths.
async fn granted_scopes(paths: &[&str], changes: Value) -> Vec<Scope> {
    let fixture = IssuerFixture::main(|issuer| {
        issuer.scope_claims = paths.iter().map(|text| path(text)).collect();
        issuer.role_scopes = [
            ("admin", Scopes::all()),
            ("reader", [AgentsRead].into_iter().collect()),
            (
                "writer of agents",
                [AgentsRead, AgentsWrite].into_iter().collect(),
            ),
            ("chat:write", [ConversationsAll].into_iter().collect()),
        ]
        .map(|(role, scopes)| (role.to_owned(), scopes))
        .into();
    });
    let auth_context = fixture
        .authenticate_claims(&changes)
        .await
        .expect("an accepted token");
    auth_context.principal.scopes.iter().collect()
}

#[tokio::test]
async fn scopes_are_words_or_lists() {
    for (scope, expected) in [
        (json!("agents:read"), vec![AgentsRead]),
        (
            json!("openid agents:read  profile agents:write"),
            vec![AgentsRead, AgentsWrite],
        ),
        (
            json!(["agents:read", "keys:admin", 7, null]),
            vec![AgentsRead, KeysAdmin],
        ),
        (json!(["agents:read agents:write"]), vec![]),
        (json!("agents:read,agents:write"), vec![]),
        (json!("AGENTS:READ"), vec![]),
        (json!("agents:*"), vec![]),
        (json!(""), vec![]),
        (json!([]), vec![]),
        (json!(7), vec![]),
        (
            json!({"agents:read": true, "keys:admin": {"1": "a"}, "chat:write": false}),
            vec![AgentsRead, KeysAdmin],
        ),
        (
            json!({"agents:read": null, "agents:read chat:write": 1}),
            vec![],
        ),
        (Value::Null, vec![]),
    ] {
        let found = granted_scopes(&["scope"], json!({"scope": scope})).await;
        assert_eq!(found, expected, "{scope}");
    }
}

/// All scopes, except the one that users never have.
fn of_users() -> Vec<Scope> {
    let all = Scope::ALL.iter().copied();
    all.filter(|scope| *scope != Scope::UserTokensIssue)
        .collect()
}

#[tokio::test]
async fn roles_grant_the_scopes_that_they_are_mapped_to() {
    for (roles, expected) in [
        (json!(["reader", "unknown"]), vec![AgentsRead]),
        (json!(["writer of agents"]), vec![AgentsRead, AgentsWrite]),
        (json!("writer of agents"), vec![]),
        (json!(["chat:write"]), vec![ChatWrite, ConversationsAll]),
        (json!(["admin"]), of_users()),
        (json!(["Admin"]), vec![]),
    ] {
        let found =
            granted_scopes(&["roles"], json!({"roles": roles, "scope": "keys:admin"})).await;
        assert_eq!(found, expected, "{roles}");
    }
}

#[tokio::test]
async fn scopes_of_all_claims_are_combined() {
    let paths = [
        "scp",
        "realm_access.roles",
        "resource_access.my.client.roles",
        "https://example.org/roles",
    ];
    let claims = json!({
        "scp": "metrics:read",
        "realm_access": {"roles": ["offline_access", "reader"]},
        "resource_access": {
            "my.client": {"roles": ["keys:admin"]},
            "other": {"roles": ["conversations:all"]},
        },
        "https://example.org/roles": ["agents:write"],
    });
    let expected = [AgentsRead, AgentsWrite, MetricsRead, KeysAdmin];
    assert_eq!(granted_scopes(&paths, claims).await, expected);
}
