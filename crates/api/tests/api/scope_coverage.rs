//! Every operation refuses who may not: walked over the published document.

use std::collections::BTreeSet;

use api::access::scope_table::{Access, COSTS, ONE_REQUEST, TABLE, access_of, cost_of, is_public};
use domain::{ProblemCode, Scope};
use serde_json::Value;

use crate::{
    caller::Caller,
    harness::Api,
    oauth::Client,
    operations::{self, Operation, Sample},
    walk::Walk,
};

/// The operations that ask for a credential, and the scopes of which each takes one.
fn guarded() -> Vec<(Operation, &'static [Scope])> {
    let operations = operations::all().into_iter();
    let guarded = operations.filter_map(|operation| {
        match access_of(operation.id).expect("an entry in the table") {
            Access::Public => None,
            Access::AnyCredential => Some((operation, [].as_slice())),
            Access::AnyOf(scopes) => Some((operation, scopes)),
        }
    });
    guarded.collect()
}

#[test]
fn the_table_and_the_document_name_the_same_operations() {
    let documented: Vec<&str> = operations::all()
        .iter()
        .map(|operation| operation.id)
        .collect();
    let in_table: BTreeSet<&str> = TABLE.iter().map(|(id, _)| *id).collect();
    assert_eq!(
        documented.iter().copied().collect::<BTreeSet<_>>(),
        in_table
    );
    assert_eq!(
        (documented.len(), TABLE.len()),
        (in_table.len(), in_table.len()),
        "each once"
    );
}

#[test]
fn the_document_asks_for_what_the_table_says() {
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
        let expected: Vec<BTreeSet<&str>> = match access_of(operation.id) {
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
        assert_eq!(security.len(), 3 * expected.len(), "{}", operation.id);
    }
}

#[test]
fn the_public_paths_are_those_of_the_public_operations() {
    for operation in operations::all() {
        let is_for_everybody = access_of(operation.id) == Some(Access::Public);
        assert_eq!(
            is_public(operation.template),
            is_for_everybody,
            "{}",
            operation.template
        );
    }
    for hidden in ["/oauth", "/oauth2s", "/livezz", "/docsx", "/problem", "//"] {
        assert!(!is_public(hidden), "{hidden}");
    }
}

#[test]
fn what_costs_more_than_a_request_is_an_operation_of_the_document() {
    for cost in COSTS {
        let mut operations = operations::all().into_iter();
        let documented = operations.find(|operation| operation.id == cost.operation);
        let documented = documented.expect("an operation of the document");
        assert_eq!(
            (&*documented.method, documented.template),
            (cost.method, cost.path)
        );
        assert_eq!(cost_of(cost.method, cost.path), cost.policies);
    }
    assert_eq!(cost_of("GET", "/api/chat"), ONE_REQUEST);
    assert_eq!(cost_of("POST", "/api/chat/"), ONE_REQUEST);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_gets_in_without_a_credential() {
    let api = Api::start().await;
    let sample = Sample::make(&api).await;
    let mut walk = Walk::of("nobody");
    for (operation, _) in guarded() {
        let answer = operation.request(&api.anonymous(), &sample).send().await;
        if operation.id == "open_socket" {
            // The one exception: it may bring its token in the first frame, and do nothing before.
            walk.note(&operation, &answer, 101, &[]);
            continue;
        }
        walk.note(&operation, &answer, 401, &[]);
        answer.problem(ProblemCode::Unauthenticated);
        assert!(
            answer.header("www-authenticate").starts_with("Bearer "),
            "{}",
            operation.id
        );
    }
    walk.end();
    api.stop().await;
}

/// With what somebody comes who is known.
#[derive(Clone, Copy)]
enum Credential {
    /// A key.
    Key,
    /// The token of an OAuth client.
    Token,
}

impl Credential {
    /// Who comes with it and has these scopes, in the writer's tenant.
    async fn holder_of(self, api: &Api, scopes: &[Scope]) -> Caller {
        match self {
            Self::Key => api.holder_of(scopes).await,
            Self::Token => token_of(api, &api.writer(), scopes).await,
        }
    }

    /// Who comes with it and may do everything, in another tenant.
    async fn stranger(self, api: &Api) -> Caller {
        match self {
            Self::Key => api.stranger(),
            Self::Token => token_of(api, &api.stranger(), Scope::ALL).await,
        }
    }
}

/// Who comes with the token of a client that `maker` makes.
async fn token_of(api: &Api, maker: &Caller, scopes: &[Scope]) -> Caller {
    let scopes: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
    let client = Client::made_by(maker, &scopes).await;
    api.caller(Some(&client.token(api).await))
}

#[tokio::test(flavor = "multi_thread")]
async fn no_key_gets_in_without_the_scope() {
    walk_without_the_scope("a key without the scope", Credential::Key).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_token_gets_in_without_the_scope() {
    walk_without_the_scope("a token without the scope", Credential::Token).await;
}

async fn walk_without_the_scope(identity: &'static str, credential: Credential) {
    let api = Api::start().await;
    let sample = Sample::make(&api).await;
    let mut walk = Walk::of(identity);
    for (operation, accepted) in guarded() {
        let others: Vec<Scope> = Scope::ALL
            .iter()
            .copied()
            .filter(|it| !accepted.contains(it))
            .collect();
        if accepted.is_empty() {
            // Any credential will do, even a key without a scope.
            let holder = credential.holder_of(&api, &others[..1]).await;
            for holder in [holder, api.holder_of(&[]).await] {
                let answer = operation.request(&holder, &sample).send().await;
                walk.note(&operation, &answer, operation.success(), &[]);
            }
            continue;
        }
        let holder = credential.holder_of(&api, &others).await;
        let answer = operation.request(&holder, &sample).send().await;
        walk.note(&operation, &answer, 403, &[]);
        answer.problem(ProblemCode::InsufficientScope);
        // One is enough, and several in one challenge would all be needed.
        let asked = format!("error=\"insufficient_scope\", scope=\"{}\"", accepted[0]);
        let challenge = answer.header("www-authenticate");
        assert!(challenge.ends_with(&asked), "{}: {challenge}", operation.id);
    }
    walk.end();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_the_accepted_scopes_is_enough() {
    let api = Api::start().await;
    for (operation, accepted) in guarded() {
        for scope in accepted {
            for credential in [Credential::Key, Credential::Token] {
                let sample = Sample::make(&api).await;
                let holder = credential.holder_of(&api, &[*scope]).await;
                let answer = operation.request(&holder, &sample).send().await;
                let (id, expected) = (operation.id, operation.success());
                assert_eq!(answer.status, expected, "{id} with {scope}");
            }
        }
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_another_tenants_is_not_there_for_a_key() {
    walk_as_a_stranger("a key of a foreign tenant", Credential::Key).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_another_tenants_is_not_there_for_a_token() {
    walk_as_a_stranger("a token of a foreign tenant", Credential::Token).await;
}

async fn walk_as_a_stranger(identity: &'static str, credential: Credential) {
    let api = Api::start().await;
    let sample = Sample::make(&api).await;
    let stranger = credential.stranger(&api).await;
    let mut walk = Walk::of(identity);
    for (operation, _) in guarded() {
        let answer = operation.request(&stranger, &sample).send().await;
        let names_it = operation.template.contains("{id}")
            || matches!(operation.id, "chat" | "create_conversation");
        if names_it {
            walk.note(&operation, &answer, 404, &[]);
        } else {
            walk.note(&operation, &answer, operation.success(), &sample.ids());
        }
    }
    walk.end();
    // And nothing of it was touched.
    let agent = api
        .reader()
        .get(&format!("/api/agents/{}", sample.agent))
        .await
        .ok();
    assert_eq!(agent["version"], 1);
    let path = format!("/api/conversations/{}", sample.conversation);
    let conversation = api.reader().get(&path).await.ok();
    assert_eq!(
        (&conversation["version"], &conversation["messageCount"]),
        (&1.into(), &3.into())
    );
    for path in [
        format!("/api/keys/{}", sample.key),
        format!("/api/oauth-clients/{}", sample.client),
    ] {
        let credential = api.writer().get(&path).await.ok();
        assert!(credential["revokedAt"].is_null(), "{credential}");
    }
    api.stop().await;
}
