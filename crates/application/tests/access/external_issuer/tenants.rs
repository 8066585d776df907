//! In which tenant a user is.

use application::access::tokens::TenantOfUsers;
use serde_json::{Value, json};

use super::trust::{Trust, is_invalid, path, tenant};

fn named_by(claim: &str) -> Trust {
    Trust::in_main(|issuer| issuer.tenant = TenantOfUsers::Claim(path(claim)))
}

#[tokio::test]
async fn users_are_in_the_tenant_of_their_issuer() {
    let trust = Trust::in_main(|issuer| issuer.tenant = TenantOfUsers::Fixed(tenant("acme")));
    let claims = json!({"tenant": "default"});
    let entrant = trust.enter_with(&claims).await.unwrap();
    assert_eq!(entrant.principal.tenant, tenant("acme"));
}

#[tokio::test]
async fn or_in_the_one_that_a_claim_names() {
    let trust = named_by("organisation.id");
    let claims = json!({"organisation": {"id": "acme"}});
    let entrant = trust.enter_with(&claims).await.unwrap();
    assert_eq!(entrant.principal.tenant, tenant("acme"));
}

#[tokio::test]
async fn a_claim_that_names_no_tenant_lets_nobody_in() {
    let trust = named_by("tenant");
    for claim in [
        json!("nobody"),
        json!("ACME"),
        json!(""),
        json!("acme "),
        json!("a".repeat(65)),
        json!(["acme"]),
        json!({"acme": "acme"}),
        json!(7),
        Value::Null,
    ] {
        let outcome = trust.enter_with(&json!({"tenant": claim})).await;
        assert!(is_invalid(&outcome), "{claim}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_tenant_that_exists_is_remembered_and_one_that_does_not_is_not() {
    let trust = named_by("tenant");
    for name in ["acme", "nobody", "acme", "nobody", "acme"] {
        let _ = trust.enter_with(&json!({"tenant": name})).await;
    }
    assert_eq!(trust.tenants.asked(), ["acme", "nobody", "nobody"]);
}

#[tokio::test]
async fn the_tenant_that_an_issuer_was_given_is_made_where_it_is_missing() {
    let trust = Trust::in_main(|issuer| issuer.tenant = TenantOfUsers::Fixed(tenant("new")));
    trust.issuers.make_tenants().await.unwrap();
    assert_eq!(trust.tenants.names(), ["acme", "default", "new"]);
    trust.issuers.make_tenants().await.unwrap();
    assert_eq!(trust.tenants.names(), ["acme", "default", "new"]);
    named_by("tenant").issuers.make_tenants().await.unwrap();
}

#[tokio::test]
async fn two_processes_may_make_a_tenant_at_the_same_time() {
    let trust = Trust::in_main(|issuer| issuer.tenant = TenantOfUsers::Fixed(tenant("new")));
    trust.tenants.make_elsewhere("new");
    trust.issuers.make_tenants().await.unwrap();
    assert_eq!(trust.tenants.names(), ["acme", "default", "new"]);
}
