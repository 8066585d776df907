//! Test clients of the authorization server.

use aws_lc_rs::{rand::SystemRandom, signature::Ed25519KeyPair};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use jsonwebtoken::{Algorithm, EncodingKey, Header, jwk::Jwk};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    caller::Caller,
    response::{ApiResponse, Request},
};

/// The only supported grant.
pub(crate) const GRANT: (&str, &str) = ("grant_type", "client_credentials");

/// A client with a secret.
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) secret: String,
}

impl Client {
    /// A new client in the tenant of its creator.
    pub(crate) async fn create(caller: &Caller, scopes: &[&str]) -> Self {
        let draft = json!({"name": "nightly import", "scopes": scopes});
        let made = caller.post("/api/oauth-clients", draft).await.created();
        Self {
            id: id_of(&made),
            secret: made["secret"].as_str().expect("a secret").to_owned(),
        }
    }

    /// A new client of the default tenant.
    pub(crate) async fn make(api: &ApiServer, scopes: &[&str]) -> Self {
        Self::create(&api.writer(), scopes).await
    }

    /// The `Authorization` header.
    pub(crate) fn basic(&self) -> String {
        basic(&self.id, &self.secret)
    }

    /// A form with this client's credentials.
    pub(crate) fn form<'a>(&'a self, own: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let shown = [
            ("client_id", self.id.as_str()),
            ("client_secret", &*self.secret),
        ];
        own.iter().copied().chain(shown).collect()
    }

    /// The response of an endpoint to this client.
    pub(crate) async fn ask(
        &self,
        api: &ApiServer,
        path: &str,
        own: &[(&str, &str)],
    ) -> ApiResponse {
        let request = endpoint(api, path).header("Authorization", &self.basic());
        request.form(own).send().await
    }

    /// A token with all scopes of the client.
    pub(crate) async fn token(&self, api: &ApiServer) -> String {
        let issued = self.ask(api, "/oauth2/token", &[GRANT]).await.ok();
        issued["access_token"].as_str().expect("a token").to_owned()
    }

    /// The introspection response to this client.
    pub(crate) async fn introspect(&self, api: &ApiServer, token: &str) -> Value {
        let own = [("token", token)];
        self.ask(api, "/oauth2/introspect", &own).await.ok()
    }
}

/// The `Authorization` header for an id and a secret that need no encoding.
pub(crate) fn basic(id: &str, secret: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")))
}

/// A request to an endpoint, without credentials yet.
pub(crate) fn endpoint(api: &ApiServer, path: &str) -> Request {
    api.anonymous().request("POST", path)
}

/// A caller with this access token.
pub(crate) struct Bearer {
    anonymous: Caller,
    token: String,
}

impl Bearer {
    pub(crate) fn new(api: &ApiServer, token: &str) -> Self {
        Self {
            anonymous: api.anonymous(),
            token: token.to_owned(),
        }
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> Request {
        let request = self.anonymous.request(method, path);
        request.header("Authorization", &format!("Bearer {}", self.token))
    }

    pub(crate) async fn get(&self, path: &str) -> ApiResponse {
        self.request("GET", path).send().await
    }
}

/// A client with a signing key.
pub(crate) struct SigningClient {
    pub(crate) id: String,
    key: EncodingKey,
}

impl SigningClient {
    /// A new client of the default tenant, with its public key.
    pub(crate) async fn make(api: &ApiServer, scopes: &[&str]) -> Self {
        let pair = Ed25519KeyPair::generate_pkcs8v1(&SystemRandom::new()).expect("a key pair");
        let key = EncodingKey::from_ed_der(pair.as_ref());
        let public = Jwk::from_encoding_key(&key, Algorithm::EdDSA).expect("a public half");
        let public = serde_json::to_value(public).expect("JSON");
        let draft = json!({"name": "signer", "scopes": scopes, "jwks": {"keys": [public]}});
        let made = api
            .writer()
            .post("/api/oauth-clients", draft)
            .await
            .created();
        Self {
            id: id_of(&made),
            key,
        }
    }

    /// An assertion with this audience and id, valid for one minute.
    pub(crate) fn assertion(&self, audience: &str, id: &str) -> String {
        let (clock, _) = api::wiring::system();
        let now = clock.now().milliseconds() / 1_000;
        let claims = json!({
            "iss": self.id, "sub": self.id, "aud": audience, "exp": now + 60, "jti": id,
        });
        let header = Header::new(Algorithm::EdDSA);
        jsonwebtoken::encode(&header, &claims, &self.key).expect("a signature")
    }

    /// The response of the token endpoint to an assertion.
    pub(crate) async fn ask(&self, api: &ApiServer, assertion: &str) -> ApiResponse {
        let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
        let form = [
            GRANT,
            ("client_assertion_type", kind),
            ("client_assertion", assertion),
        ];
        endpoint(api, "/oauth2/token").form(&form).send().await
    }
}

/// The header and the claims of a token.
pub(crate) fn parts(token: &str) -> (Value, Value) {
    let mut parts = token.split('.').map(|part| {
        let bytes = URL_SAFE_NO_PAD.decode(part).expect("base64url");
        serde_json::from_slice(&bytes).unwrap_or_default()
    });
    let header = parts.next().expect("a header");
    (header, parts.next().expect("claims"))
}
