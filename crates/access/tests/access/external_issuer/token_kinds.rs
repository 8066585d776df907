//! The distinction of access tokens from other tokens that an issuer signs.

use access::tokens::TokenType;
use serde_json::{Value, json};

use super::fixture::{AUDIENCE, IssuerFixture, MAIN, claims, is_invalid};

/// The client id of the application that a user works with.
const FRONTEND: &str = "frontend";

/// An issuer whose tokens may have the unspecific type `JWT`.
fn accepting_any_type() -> IssuerFixture {
    IssuerFixture::main(|issuer| issuer.token_type = TokenType::Any)
}

/// Returns whether a token with these header members and claims is accepted. Asserts that the token
/// is rejected for no other reason than as invalid.
async fn is_accepted(fixture: &IssuerFixture, header: &Value, changes: &Value) -> bool {
    let text = fixture.key(MAIN).sign_with_header(header, &claims(changes));
    let outcome = fixture.authenticate(&text).await;
    assert_eq!(
        is_invalid(&outcome),
        outcome.is_err(),
        "{header} {changes}: {outcome:?}"
    );
    outcome.is_ok()
}

#[tokio::test]
async fn an_access_token_is_identified_by_its_header_unless_any_type_is_accepted() {
    for (typ, as_access_token, as_any) in [
        (json!("at+jwt"), true, true),
        (json!("application/at+jwt"), true, true),
        (json!("AT+JWT"), true, true),
        (json!("JWT"), false, true),
        (json!("jwt"), false, true),
        (Value::Null, false, true),
        (json!(""), false, false),
        (json!("logout+jwt"), false, false),
        (json!("dpop+jwt"), false, false),
        (json!("client-authentication+jwt"), false, false),
        (json!("token-introspection+jwt"), false, false),
        (json!("secevent+jwt"), false, false),
    ] {
        for (token_type, expected) in [
            (TokenType::AccessToken, as_access_token),
            (TokenType::Any, as_any),
        ] {
            let fixture = IssuerFixture::main(|issuer| issuer.token_type = token_type);
            let is_in = is_accepted(&fixture, &json!({"typ": typ}), &json!({})).await;
            assert_eq!(is_in, expected, "{typ} {token_type:?}");
        }
    }
}

#[tokio::test]
async fn a_token_of_any_type_needs_a_claim_that_marks_an_access_token() {
    let fixture = accepting_any_type();
    for (sign, expected) in [
        (json!({}), false),
        (json!({"roles": ["agents:read"], "sid": "1"}), false),
        (json!({"typ": "Bearer"}), true),
        (json!({"scope": "agents:read"}), true),
        (
            json!({"scope": "agents:read", "typ": null, "nonce": null}),
            true,
        ),
        (json!({"scope": ""}), false),
        (json!({"scope": true}), false),
        (json!({"scp": "access"}), true),
        (json!({"scp": ["access"]}), true),
        (json!({"scp": []}), false),
        (json!({"client_id": FRONTEND}), true),
        (json!({"client_id": FRONTEND, "token_use": "access"}), true),
        (json!({"client_id": FRONTEND, "token_use": "id"}), false),
        (json!({"token_use": "access"}), false),
        (json!({"session_id": "8d21", "aal": "aal1"}), true),
        (json!({"session_id": "8d21"}), false),
        (json!({"azp": FRONTEND}), true),
        (json!({"azp": AUDIENCE}), false),
        (json!({"azp": FRONTEND, "aud": [FRONTEND, AUDIENCE]}), false),
        (json!({"azp": ""}), false),
        (json!({"azp": [FRONTEND]}), false),
        (json!({"appid": FRONTEND}), true),
        (json!({"appid": AUDIENCE}), false),
    ] {
        let mut changes = json!({"scope": null});
        for (name, value) in sign.as_object().expect("an object") {
            changes[name] = value.clone();
        }
        let is_in = is_accepted(&fixture, &json!({"typ": "JWT"}), &changes).await;
        assert_eq!(is_in, expected, "{sign}");
    }
}

#[tokio::test]
async fn a_token_of_any_type_with_claims_of_another_kind_is_rejected() {
    let fixture = accepting_any_type();
    for (changes, expected) in [
        (json!({"acr": "1", "auth_time": 1, "sid": "1"}), true),
        (json!({"typ": "Bearer", "nonce": "n"}), true),
        (json!({"typ": "ID"}), false),
        (json!({"typ": "Refresh"}), false),
        (json!({"typ": "Offline"}), false),
        (json!({"typ": 7}), false),
        (json!({"nonce": "n"}), false),
        (json!({"at_hash": "h"}), false),
        (json!({"c_hash": "h"}), false),
        (json!({"events": {}}), false),
        (json!({"typ": "Bearer", "at_hash": "h"}), false),
        (json!({"typ": "Bearer", "events": {}}), false),
    ] {
        let is_in = is_accepted(&fixture, &json!({"typ": "JWT"}), &changes).await;
        assert_eq!(is_in, expected, "{changes}");
    }
}

/// The claims of an ID token of Microsoft Entra ID for a user with a role, without the `nonce`,
/// which the code flow omits.
fn of_entra(changes: &Value) -> Value {
    let mut all = json!({
        "scope": null,
        "aio": "AXQAi",
        "name": "Ada",
        "oid": "f7a1",
        "preferred_username": "ada@example.org",
        "rh": "0.AX0A",
        "roles": ["agents:read"],
        "tid": "6f1d",
        "uti": "u",
        "ver": "2.0",
    });
    for (name, value) in changes.as_object().expect("an object") {
        all[name] = value.clone();
    }
    all
}

#[tokio::test]
async fn the_access_token_of_entra_is_accepted_and_its_id_token_is_not() {
    let fixture = accepting_any_type();
    let header = json!({"typ": "JWT"});
    assert!(!is_accepted(&fixture, &header, &of_entra(&json!({}))).await);
    for access in [
        json!({"azp": FRONTEND, "azpacr": "0", "scp": "access"}),
        json!({"azp": FRONTEND, "azpacr": "1", "idtyp": "app"}),
        json!({"azp": AUDIENCE, "azpacr": "0", "scp": "access"}),
    ] {
        assert!(
            is_accepted(&fixture, &header, &of_entra(&access)).await,
            "{access}"
        );
    }
}
