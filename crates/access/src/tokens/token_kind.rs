//! The distinction between access tokens and other tokens that an issuer signs with the same keys.

use serde_json::Value;

use super::TokenType;
use crate::jwt::{ACCESS_TOKEN, Claims, UnverifiedToken};

/// The `typ` of a token without a specific type.
const ANY_TOKEN: &str = "JWT";
/// The value of the claim `typ` in access tokens, with issuers that set it. Other tokens have `ID`
/// or `Refresh`.
const BEARER: &str = "Bearer";
/// A claim of ID tokens. Some versions of Keycloak add it to access tokens too.
const NONCE: &str = "nonce";
/// Claims of ID tokens and logout tokens. Access tokens never have them.
const CLAIMS_OF_OTHERS: &[&str] = &["at_hash", "c_hash", "events"];
/// The claim of Amazon Cognito with the use of a token.
const TOKEN_USE: &str = "token_use";
/// The use of access tokens. ID tokens have `id`.
const ACCESS: &str = "access";
/// Claims of access tokens. Other tokens do not have them.
const CLAIMS_OF_ACCESS_TOKENS: &[&str] = &["scope", "scp", "client_id"];
/// Claims that access tokens of Supabase have together, which have no scopes and name no client.
const CLAIMS_OF_SUPABASE: &[&str] = &["session_id", "aal"];
/// Claims with the application that a token was issued to. The audience of an ID token is this
/// application itself.
const CLAIMS_OF_APPLICATIONS: &[&str] = &["azp", "appid"];

/// Returns true if the token is an access token, according to its type and its claims.
pub(super) fn is_access_token(
    expected: TokenType,
    token: &UnverifiedToken<'_>,
    claims: &Claims,
) -> bool {
    match expected {
        TokenType::AccessToken => token.has_media_type(ACCESS_TOKEN),
        TokenType::Any => {
            let is_access_token_or_unspecified = !token.has_any_media_type()
                || token.has_media_type(ANY_TOKEN)
                || token.has_media_type(ACCESS_TOKEN);
            is_access_token_or_unspecified && has_access_token_claims(claims)
        }
    }
}

/// Returns true if the claims are those of an access token. Other tokens may lack every claim that
/// identifies them, so a claim of access tokens is required too.
fn has_access_token_claims(claims: &Claims) -> bool {
    if CLAIMS_OF_OTHERS.iter().any(|name| claims.contains(name)) {
        return false;
    }
    if claims.contains(TOKEN_USE) && claims.text(TOKEN_USE) != Some(ACCESS) {
        return false;
    }
    if claims.contains("typ") {
        return claims.text("typ") == Some(BEARER);
    }
    let audiences = claims.audiences();
    let is_present = |name: &&str| match claims.members().get(*name) {
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        _ => false,
    };
    let names_other_application = |name: &&str| {
        let application = claims.text(name).filter(|text| !text.is_empty());
        application.is_some_and(|application| !audiences.contains(&application))
    };
    !claims.contains(NONCE)
        && (CLAIMS_OF_ACCESS_TOKENS.iter().any(is_present)
            || CLAIMS_OF_SUPABASE.iter().all(is_present)
            || CLAIMS_OF_APPLICATIONS.iter().any(names_other_application))
}
