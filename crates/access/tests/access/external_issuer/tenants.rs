//! The tenant of a user of an external issuer.

use access::tokens::TenantSource;
use serde_json::{Value, json};

use super::fixture::{IssuerFixture, is_invalid, path, tenant};

fn trust(claim: &str) -> IssuerFixture {
    IssuerFixture::main(|issuer| issuer.tenant = TenantSource::Claim(path(claim)))
}

#[tokio::test]
async fn users_are_in_the_tenant_of_their_issuer() {
    let fixture = IssuerFixture::main(|issuer| issuer.tenant = TenantSource::Fixed(tenant("acme")));
    let claims = json!({"tenant": "default"});
    let auth_context = fixture.authenticate_claims(&claims).await.unwrap();
    assert_eq!(auth_context.principal.tenant, tenant("acme"));
}

#[tokio::test]
async fn users_are_in_the_tenant_that_a_claim_names() {
    let fixture = trust("organisation.id");
    let claims = json!({"organisation": {"id": "acme"}});
    let auth_context = fixture.authenticate_claims(&claims).await.unwrap();
    assert_eq!(auth_context.principal.tenant, tenant("acme"));
}

#[tokio::test]
async fn a_token_whose_claim_names_no_tenant_is_rejected() {
    let fixture = trust("tenant");
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
        let outcome = fixture.authenticate_claims(&json!({"tenant": claim})).await;
        assert!(is_invalid(&outcome), "{claim}: {outcome:?}");
    }
}

#[tokio::test]
async fn an_existing_tenant_is_cached_and_a_missing_one_is_not() {
    let fixture = trust("tenant");
    for name in ["acme", "nobody", "acme", "nobody", "acme"] {
        let _ = fixture.authenticate_claims(&json!({"tenant": name})).await;
    }
    assert_eq!(fixture.tenants.requests(), ["acme", "nobody", "nobody"]);
}

#[tokio::test]
async fn a_missing_tenant_of_an_issuer_is_created() {
    let fixture = IssuerFixture::main(|issuer| issuer.tenant = TenantSource::Fixed(tenant("new")));
    fixture.issuers.create_missing_tenants().await.unwrap();
    assert_eq!(fixture.tenants.names(), ["acme", "default", "new"]);
    fixture.issuers.create_missing_tenants().await.unwrap();
    assert_eq!(fixture.tenants.names(), ["acme", "default", "new"]);
    trust("tenant")
        .issuers
        .create_missing_tenants()
        .await
        .unwrap();
}

#[tokio::test]
async fn two_processes_may_create_a_tenant_at_the_same_time() {
    let fixture = IssuerFixture::main(|issuer| issuer.tenant = TenantSource::Fixed(tenant("new")));
    fixture.tenants.create_after_next_lookup("new");
    fixture.issuers.create_missing_tenants().await.unwrap();
    assert_eq!(fixture.tenants.names(), ["acme", "default", "new"]);
}
