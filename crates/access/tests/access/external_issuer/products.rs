//! Tokens as products issue them, with the settings of `docs/identity-providers.md`.

use access::{
    AccessError,
    jwt::SignatureAlgorithm,
    tokens::{IssuerConfig, TokenType},
};
use domain::Scope;
use serde_json::{Value, json};

use super::fixture::{IssuerFixture, NOW, issuer, keys_of, path};
use crate::key_with_id::{KeyWithId, changed};

/// A product: its settings, and the header and the claims of an access token.
struct Product {
    issuer: IssuerConfig,
    algorithm: SignatureAlgorithm,
    header: Value,
    claims: Value,
}

impl Product {
    /// The settings that all have in common: roles in this claim, where `customer` may chat.
    fn new(name: &str, audience: &str, roles: &str, customer: &str) -> Self {
        let mut issuer = issuer("main", name);
        issuer.audiences = vec![audience.to_owned()];
        issuer.token_type = TokenType::Any;
        issuer.scope_claims = vec![path(roles)];
        let scopes = [Scope::ChatWrite].into_iter().collect();
        issuer.role_scopes = [(customer.to_owned(), scopes)].into();
        Self {
            issuer,
            algorithm: SignatureAlgorithm::Rs256,
            header: json!({"typ": "JWT"}),
            claims: json!({"iss": name, "iat": NOW, "exp": NOW + 3_600}),
        }
    }

    fn cognito() -> Self {
        let name = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Ab3dEf6hI";
        let client = "1h57kf5cpq17m0eml12EXAMPLE";
        let mut product = Self::new(name, client, "cognito:groups", "customers");
        product.issuer.audience_claim = Some(path("client_id"));
        product.header = json!({"typ": null});
        let claims = json!({
            "sub": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
            "cognito:groups": ["customers"],
            "client_id": client,
            "origin_jti": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
            "event_id": "64f513be-32db-42b0-b78e-b02127b4f463",
            "token_use": "access",
            "scope": "openid profile email",
            "auth_time": NOW,
            "jti": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
            "username": "my-test-user",
        });
        product.claims = changed(product.claims, &claims);
        product
    }

    fn zitadel() -> Self {
        let roles = "urn:zitadel:iam:org:project:roles";
        let project = "312909075211944042";
        let mut product = Self::new("https://acme.zitadel.cloud", project, roles, "customer");
        let claims = json!({
            "aud": ["312909075212468330@portal", project],
            "client_id": "312909075212468330@portal",
            "jti": "V2_312909075213000000-at_312909075213065536",
            "nbf": NOW,
            "sub": "312909075213590627",
            (roles): {"customer": {"312909075211878506": "acme.zitadel.cloud"}},
        });
        product.claims = changed(product.claims, &claims);
        product
    }

    fn supabase() -> Self {
        let name = "https://abcdefghijklmnopqrst.supabase.co/auth/v1";
        let mut product = Self::new(name, "authenticated", "role", "authenticated");
        product.algorithm = SignatureAlgorithm::Es256;
        let claims = json!({
            "aud": "authenticated",
            "sub": "123e4567-e89b-12d3-a456-426614174000",
            "email": "user@example.com",
            "phone": "",
            "app_metadata": {"provider": "email", "providers": ["email"]},
            "user_metadata": {},
            "role": "authenticated",
            "aal": "aal1",
            "amr": [{"method": "password", "timestamp": NOW}],
            "session_id": "123e4567-e89b-12d3-a456-426614174001",
            "is_anonymous": false,
        });
        product.claims = changed(product.claims, &claims);
        product
    }

    /// The scopes that its token grants, with these changes of the claims.
    async fn scopes(&self, changes: Value) -> Result<Vec<Scope>, AccessError> {
        let fixture = IssuerFixture::new(vec![self.issuer.clone()]);
        let key = KeyWithId::new(self.algorithm, "b");
        let keys = json!({"keys": [key.public()]});
        fixture.documents.publish(&keys_of(&self.issuer.name), keys);
        let claims = changed(self.claims.clone(), &changes);
        let token = key.sign_with_header(&self.header, &claims);
        let accepted = fixture.authenticate(&token).await?;
        Ok(accepted.principal.scopes.iter().collect())
    }

    /// Returns whether its token with these changes is not valid.
    async fn is_rejected(&self, changes: &Value) -> bool {
        let outcome = self.scopes(changes.clone()).await;
        matches!(outcome, Err(AccessError::Invalid))
    }
}

#[tokio::test]
async fn access_tokens_of_products_grant_the_scopes_of_their_roles() {
    for product in [Product::cognito(), Product::zitadel(), Product::supabase()] {
        let name = &product.issuer.name;
        let granted = product.scopes(json!({})).await;
        assert_eq!(
            granted.expect("it is accepted"),
            [Scope::ChatWrite],
            "{name}"
        );
        let (roles, other) = (product.issuer.scope_claims[0].to_string(), "someone");
        for without_role in [
            json!(null),
            json!(other),
            json!({(other): {}}),
            json!([other]),
        ] {
            let granted = product.scopes(json!({(&roles): without_role})).await;
            assert_eq!(granted.expect("it is accepted"), [], "{name}");
        }
    }
}

#[tokio::test]
async fn tokens_of_other_clients_and_uses_are_rejected() {
    let cognito = Product::cognito();
    let client = cognito.claims["client_id"].clone();
    for changes in [
        json!({"client_id": "another"}),
        json!({"client_id": null}),
        // A token with an audience is for that audience.
        json!({"aud": "https://shop.example"}),
        json!({"token_use": "id"}),
        // An ID token.
        json!({"token_use": "id", "aud": client, "client_id": null, "scope": null}),
    ] {
        assert!(cognito.is_rejected(&changes).await, "{changes}");
    }
    for (product, changes) in [
        (
            Product::zitadel(),
            json!({"aud": ["312909075212468330@portal"]}),
        ),
        (Product::zitadel(), json!({"aud": null})),
        (Product::supabase(), json!({"aud": "anon"})),
        (Product::supabase(), json!({"aud": null})),
        (Product::supabase(), json!({"session_id": null})),
    ] {
        assert!(product.is_rejected(&changes).await, "{changes}");
    }
}
