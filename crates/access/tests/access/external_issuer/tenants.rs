//! The tenant of a user of an external issuer.

use access::tokens::TenantOfUsers;
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
async fn users_are_in_the_tenant_that_a_claim_names() {
    let trust = named_by("organisation.id");
    let claims = json!({"organisation": {"id": "acme"}});
    let entrant = trust.enter_with(&claims).await.unwrap();
    assert_eq!(entrant.principal.tenant, tenant("acme"));
}

#[tokio::test]
async fn a_token_whose_claim_names_no_tenant_is_rejected() {
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
async fn an_existing_tenant_is_cached_and_a_missing_one_is_not() {
    let trust = named_by("tenant");
    for name in ["acme", "nobody", "acme", "nobody", "acme"] {
        let _ = trust.enter_with(&json!({"tenant": name})).await;
    }
    assert_eq!(trust.tenants.asked(), ["acme", "nobody", "nobody"]);
}

#[tokio::test]
async fn a_missing_tenant_of_an_issuer_is_created() {
    let trust = Trust::in_main(|issuer| issuer.tenant = TenantOfUsers::Fixed(tenant("new")));
    trust.issuers.make_tenants().await.unwrap();
    assert_eq!(trust.tenants.names(), ["acme", "default", "new"]);
    trust.issuers.make_tenants().await.unwrap();
    assert_eq!(trust.tenants.names(), ["acme", "default", "new"]);
    named_by("tenant").issuers.make_tenants().await.unwrap();
}

#[tokio::test]
async fn two_processes_may_create_a_tenant_at_the_same_time() {
    let trust = Trust::in_main(|issuer| issuer.tenant = TenantOfUsers::Fixed(tenant("new")));
    trust.tenants.make_elsewhere("new");
    trust.issuers.make_tenants().await.unwrap();
    assert_eq!(trust.tenants.names(), ["acme", "default", "new"]);
}
