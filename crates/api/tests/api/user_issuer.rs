//! A small identity provider: it publishes one key and signs tokens for users.

use aws_lc_rs::{rand::SystemRandom, signature::Ed25519KeyPair};
use jsonwebtoken::{Algorithm, EncodingKey, Header, jwk::Jwk};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tokio_util::task::TaskTracker;

use crate::api_server::ApiServerBuilder;

const ISSUER: &str = "https://id.example";
const AUDIENCE: &str = "agents";

/// An identity provider that runs during its test.
pub(crate) struct UserIssuer {
    key: EncodingKey,
    keys_at: String,
}

impl UserIssuer {
    pub(crate) async fn start() -> Self {
        let pair = Ed25519KeyPair::generate_pkcs8v1(&SystemRandom::new()).expect("a key pair");
        let key = EncodingKey::from_ed_der(pair.as_ref());
        let public = Jwk::from_encoding_key(&key, Algorithm::EdDSA).expect("a public half");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("its address");
        TaskTracker::new().spawn(publish(listener, json!({"keys": [public]})));
        Self {
            key,
            keys_at: format!("http://{address}/keys"),
        }
    }

    /// Settings of a service that trusts the provider under the id `main`.
    pub(crate) fn trusting_server(&self) -> ApiServerBuilder {
        ApiServerBuilder::default()
            .setting("AUTH__ISSUERS__MAIN__ISSUER", ISSUER)
            .setting("AUTH__ISSUERS__MAIN__AUDIENCES", AUDIENCE)
            .setting("AUTH__ISSUERS__MAIN__JWKS_URL", &self.keys_at)
    }

    /// A token of a user with these scopes, valid for five minutes.
    pub(crate) fn token(&self, user: &str, scopes: &[&str]) -> String {
        let (clock, _) = api::wiring::system();
        let claims = json!({
            "iss": ISSUER, "aud": AUDIENCE, "sub": user, "scope": scopes.join(" "),
            "exp": clock.now().milliseconds() / 1_000 + 300,
        });
        let mut header = Header::new(Algorithm::EdDSA);
        header.typ = Some("at+jwt".to_owned());
        jsonwebtoken::encode(&header, &claims, &self.key).expect("a signature")
    }
}

/// Answers every request with the key set.
async fn publish(listener: TcpListener, set: Value) {
    let body = set.to_string();
    let length = body.len();
    let response = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    );
    while let Ok((mut connection, _)) = listener.accept().await {
        read_head(&mut connection).await;
        let written = connection.write_all(response.as_bytes()).await;
        written.expect("the answer is taken");
    }
}

async fn read_head(connection: &mut TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(connection.read_u8().await.expect("a request"));
    }
}
