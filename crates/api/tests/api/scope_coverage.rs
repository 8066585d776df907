//! Every operation rejects unauthorized callers: a walk over the published document.

use std::collections::BTreeSet;

use domain::{ProblemCode, Scope};
use kit::operations::{Access, ONE_REQUEST};
use serde_json::Value;

use crate::{
    api_server::ApiServer,
    caller::Caller,
    oauth::Client,
    operations::{self, Operation, TestResources, table},
    walk::Walk,
};

/// The operations that require a credential, with their scopes.
fn operations_with_scopes() -> Vec<(Operation, &'static [Scope])> {
    let operations = operations::all().into_iter();
    let guarded = operations.filter_map(|operation| {
        match table().find(operation.id).expect("a row").access {
            Access::Public => None,
            Access::AnyCredential => Some((operation, [].as_slice())),
            Access::AnyOf(scopes) => Some((operation, scopes)),
        }
    });
    guarded.collect()
}

#[test]
fn the_table_and_the_document_have_the_same_operations() {
    let documented: Vec<&str> = operations::all()
        .iter()
        .map(|operation| operation.id)
        .collect();
    let in_table: BTreeSet<&str> = table().own().iter().map(|row| row.id).collect();
    assert_eq!(
        documented.iter().copied().collect::<BTreeSet<_>>(),
        in_table
    );
    assert_eq!(
        (documented.len(), table().own().len()),
        (in_table.len(), in_table.len()),
        "each once"
    );
}

#[test]
fn the_document_requires_the_scopes_of_the_table() {
    for operation in operations::all() {
        let security = operation.described["security"]
            .as_array()
            .expect("security");
        let of_scheme = |scheme: &str| -> Vec<BTreeSet<&'static str>> {
            let alternatives = security
                .iter()
                .filter_map(|alternative| alternative.get(scheme));
            let scopes = |names: &'static Value| names.as_array().into_iter().flatten();
            alternatives
                .map(|names| scopes(names).filter_map(Value::as_str).collect())
                .collect()
        };
        let row = table().find(operation.id);
        let expected: Vec<BTreeSet<&str>> = match row.map(|row| row.access) {
            Some(Access::Public) => Vec::new(),
            Some(Access::AnyCredential) => vec![BTreeSet::new()],
            Some(Access::AnyOf(scopes)) => scopes
                .iter()
                .map(|scope| BTreeSet::from([scope.as_str()]))
                .collect(),
            None => panic!("{} is not in the table", operation.id),
        };
        assert_eq!(of_scheme("ApiKey"), expected, "{}", operation.id);
        assert_eq!(of_scheme("Bearer"), expected, "{}", operation.id);
        assert_eq!(of_scheme("OAuth2"), expected, "{}", operation.id);
        let without = usize::from(row.is_some_and(|row| row.takes_link));
        let alternatives = 3 * expected.len() + without;
        assert_eq!(security.len(), alternatives, "{}", operation.id);
    }
}

#[test]
fn the_public_paths_are_those_of_the_public_operations() {
    for operation in operations::all() {
        let is_for_everybody = table()
            .find(operation.id)
            .is_some_and(|row| row.access == Access::Public);
        assert_eq!(
            table().is_public(operation.template),
            is_for_everybody,
            "{}",
            operation.template
        );
    }
    for hidden in ["/oauth", "/oauth2s", "/livezz", "/docsx", "/problem", "//"] {
        assert!(!table().is_public(hidden), "{hidden}");
    }
}

#[test]
fn a_request_costs_what_its_row_says() {
    for row in table().own().iter().filter(|row| !row.path.contains('{')) {
        assert_eq!(
            table().cost_of(row.method, row.path),
            row.cost,
            "{}",
            row.id
        );
    }
    assert_eq!(table().cost_of("GET", "/api/chat"), ONE_REQUEST);
    assert_eq!(table().cost_of("POST", "/api/chat/"), ONE_REQUEST);
    // Costs are counted before routing, when only fixed paths are known.
    let costly = table().own().iter().filter(|row| row.cost != ONE_REQUEST);
    assert!(costly.into_iter().all(|row| !row.path.contains('{')));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_rejects_missing_credentials() {
    let api = ApiServer::start().await;
    let resources = TestResources::make(&api).await;
    let mut walk = Walk::new("nobody");
    for (operation, _) in operations_with_scopes() {
        let response = operation.request(&api.anonymous(), &resources).send().await;
        if operation.id == "open_socket" {
            // The only exception: a socket may send its credential in the first frame.
            walk.check(&operation, &response, 101, &[]);
            continue;
        }
        walk.check(&operation, &response, 401, &[]);
        response.problem(ProblemCode::Unauthenticated);
        assert!(
            response.header("www-authenticate").starts_with("Bearer "),
            "{}",
            operation.id
        );
    }
    walk.end();
    api.stop().await;
}

/// The kind of an authenticated caller's credential.
#[derive(Clone, Copy)]
enum Credential {
    /// A key.
    Key,
    /// The token of an OAuth client.
    Token,
}

impl Credential {
    /// A caller with such a credential and these scopes in the writer's tenant.
    async fn caller_with_scopes(self, api: &ApiServer, scopes: &[Scope]) -> Caller {
        match self {
            Self::Key => api.caller_with_scopes(scopes).await,
            Self::Token => token_of(api, &api.writer(), scopes).await,
        }
    }

    /// A caller with such a credential and all scopes in another tenant.
    async fn other_tenant(self, api: &ApiServer) -> Caller {
        match self {
            Self::Key => api.other_tenant(),
            Self::Token => token_of(api, &api.other_tenant(), Scope::ALL).await,
        }
    }
}

/// A caller with the token of a client that `maker` creates.
async fn token_of(api: &ApiServer, maker: &Caller, scopes: &[Scope]) -> Caller {
    let scopes: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
    let client = Client::create(maker, &scopes).await;
    api.caller(Some(&client.token(api).await))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_rejects_keys_without_scope() {
    walk_without_the_scope("a key without the scope", Credential::Key).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_rejects_tokens_without_scope() {
    walk_without_the_scope("a token without the scope", Credential::Token).await;
}

async fn walk_without_the_scope(identity: &'static str, credential: Credential) {
    let api = ApiServer::start().await;
    let resources = TestResources::make(&api).await;
    let mut walk = Walk::new(identity);
    for (operation, accepted) in operations_with_scopes() {
        let others: Vec<Scope> = Scope::ALL
            .iter()
            .copied()
            .filter(|it| !accepted.contains(it))
            .collect();
        if accepted.is_empty() {
            // Any credential is sufficient, even a key without scopes.
            let holder = credential.caller_with_scopes(&api, &others[..1]).await;
            for holder in [holder, api.caller_with_scopes(&[]).await] {
                let response = operation.request(&holder, &resources).send().await;
                walk.check(&operation, &response, operation.success(), &[]);
            }
            continue;
        }
        let holder = credential.caller_with_scopes(&api, &others).await;
        let response = operation.request(&holder, &resources).send().await;
        walk.check(&operation, &response, 403, &[]);
        response.problem(ProblemCode::InsufficientScope);
        // One scope is sufficient; several in one challenge would all be required.
        let expected = format!("error=\"insufficient_scope\", scope=\"{}\"", accepted[0]);
        let challenge = response.header("www-authenticate");
        assert!(
            challenge.ends_with(&expected),
            "{}: {challenge}",
            operation.id
        );
    }
    walk.end();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_the_accepted_scopes_is_enough() {
    let api = ApiServer::start().await;
    for (operation, accepted) in operations_with_scopes() {
        for scope in accepted {
            // A call that waits for its user needs the other scope: see `approvals`.
            if *scope == Scope::ToolsApprove {
                continue;
            }
            // This scope alone reads only own files that no message uses: see `files`.
            if operation.template.starts_with("/api/files/") && *scope == Scope::ChatWrite {
                continue;
            }
            for credential in [Credential::Key, Credential::Token] {
                let resources = TestResources::make(&api).await;
                // A token of a user must get a scope of its issuer.
                let given = (*scope == Scope::UserTokensIssue).then_some(Scope::ChatWrite);
                let scopes: Vec<Scope> = [*scope].into_iter().chain(given).collect();
                let holder = credential.caller_with_scopes(&api, &scopes).await;
                let response = operation.request(&holder, &resources).send().await;
                let (id, expected) = (operation.id, operation.success());
                assert_eq!(response.status, expected, "{id} with {scope}");
            }
        }
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_of_another_tenant_are_not_found_with_a_key() {
    walk_as_other_tenant("a key of a foreign tenant", Credential::Key).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_of_another_tenant_are_not_found_with_a_token() {
    walk_as_other_tenant("a token of a foreign tenant", Credential::Token).await;
}

async fn walk_as_other_tenant(identity: &'static str, credential: Credential) {
    let api = ApiServer::start().await;
    let resources = TestResources::make(&api).await;
    let other_tenant = credential.other_tenant(&api).await;
    let mut walk = Walk::new(identity);
    for (operation, _) in operations_with_scopes() {
        let response = operation.request(&other_tenant, &resources).send().await;
        let names_it = operation.template.contains("{id}")
            || matches!(
                operation.id,
                "chat" | "create_conversation" | "test_rules" | "patch_user" | "export_user"
            );
        if names_it {
            walk.check(&operation, &response, 404, &[]);
        } else {
            walk.check(&operation, &response, operation.success(), &resources.ids());
        }
    }
    walk.end();
    // The resources are unchanged.
    let agent = api
        .reader()
        .get(&format!("/api/agents/{}", resources.agent))
        .await
        .ok();
    assert_eq!(agent["version"], 1);
    let path = format!("/api/conversations/{}", resources.conversation);
    let conversation = api.reader().get(&path).await.ok();
    assert_eq!(
        (&conversation["version"], &conversation["messageCount"]),
        (&1.into(), &4.into())
    );
    for path in [
        format!("/api/keys/{}", resources.key),
        format!("/api/oauth-clients/{}", resources.client),
    ] {
        let credential = api.writer().get(&path).await.ok();
        assert!(credential["revokedAt"].is_null(), "{credential}");
    }
    api.stop().await;
}
