//! Access tokens, told from tokens of other kinds that the same issuer signs by the same keys.

use serde_json::Value;

use super::TokenType;
use crate::access::jwt::{ACCESS_TOKEN, Claims, UnverifiedToken};

/// The `typ` that says nothing.
const ANY_TOKEN: &str = "JWT";
/// What the claim `typ` of an access token says, where an issuer has it: others say `ID` or
/// `Refresh`.
const BEARER: &str = "Bearer";
/// A claim of ID tokens; some versions of Keycloak put it into access tokens too.
const NONCE: &str = "nonce";
/// Claims of ID tokens and logout tokens, which access tokens never have.
const CLAIMS_OF_OTHERS: &[&str] = &["at_hash", "c_hash", "events"];
/// Claims of access tokens, which tokens of other kinds do not have.
const CLAIMS_OF_ACCESS_TOKENS: &[&str] = &["scope", "scp", "client_id"];
/// The application that a token was issued to. An ID token is for this application itself.
const CLAIMS_OF_APPLICATIONS: &[&str] = &["azp", "appid"];

/// Whether a token is an access token, as far as its issuer says so.
pub(super) fn is_access_token(
    expected: TokenType,
    token: &UnverifiedToken<'_>,
    claims: &Claims,
) -> bool {
    match expected {
        TokenType::AccessToken => token.is_of_type(ACCESS_TOKEN),
        TokenType::Any => {
            let says_nothing_else =
                !token.has_type() || token.is_of_type(ANY_TOKEN) || token.is_of_type(ACCESS_TOKEN);
            says_nothing_else && says_access_token(claims)
        }
    }
}

/// A token of another kind may lack every claim that betrays it, so that there must be a sign of
/// an access token too.
fn says_access_token(claims: &Claims) -> bool {
    if CLAIMS_OF_OTHERS.iter().any(|name| claims.contains(name)) {
        return false;
    }
    if claims.contains("typ") {
        return claims.text("typ") == Some(BEARER);
    }
    let audiences = claims.audiences();
    let is_said = |name: &&str| match claims.members().get(*name) {
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        _ => false,
    };
    let is_other = |name: &&str| {
        let application = claims.text(name).filter(|text| !text.is_empty());
        application.is_some_and(|application| !audiences.contains(&application))
    };
    !claims.contains(NONCE)
        && (CLAIMS_OF_ACCESS_TOKENS.iter().any(is_said)
            || CLAIMS_OF_APPLICATIONS.iter().any(is_other))
}
