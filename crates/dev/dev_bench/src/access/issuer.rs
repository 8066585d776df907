//! An external issuer of tokens.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result};
use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair},
};
use jsonwebtoken::{Algorithm, EncodingKey, Header, get_current_timestamp, jwk::Jwk};
use serde_json::{Value, json};

const AUDIENCE: &str = "https://agents.example.org";
const KEY_ID: &str = "bench";
/// Seconds; longer than all measurements.
const LIFETIME: u64 = 2 * 60 * 60;
/// The longest that a client may take to send its request.
const TIMEOUT: Duration = Duration::from_secs(5);

/// An issuer that signs with ES256 and publishes its key on loopback until the process ends.
pub(crate) struct Issuer {
    url: String,
    key: EncodingKey,
    /// Seconds since 1970.
    started: u64,
}

impl Issuer {
    /// Starts an issuer with a new key.
    pub(crate) fn start() -> Result<Self> {
        // An error means that a provider is already installed.
        let _ = jsonwebtoken::crypto::aws_lc::DEFAULT_PROVIDER.install_default();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let private = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new())
            .context("cannot generate a key")?;
        let key = EncodingKey::from_ec_der(private.as_ref());
        let listener = TcpListener::bind("127.0.0.1:0").context("cannot publish the keys")?;
        let address = listener.local_addr().context("cannot publish the keys")?;
        let keys = published(&key)?.to_string();
        thread::spawn(move || serve(&listener, &keys));
        Ok(Self {
            url: format!("http://{address}"),
            key,
            started: get_current_timestamp(),
        })
    }

    /// The settings of a service that trusts the issuer.
    pub(crate) fn settings(&self) -> [(String, String); 4] {
        let named = [
            ("AUTH__ISSUERS__BENCH__ISSUER", self.url.clone()),
            ("AUTH__ISSUERS__BENCH__AUDIENCES", AUDIENCE.to_owned()),
            (
                "AUTH__ISSUERS__BENCH__JWKS_URL",
                format!("{}/keys", self.url),
            ),
            ("AUTH__ISSUERS__BENCH__ALGORITHMS", "ES256".to_owned()),
        ];
        named.map(|(name, value)| (name.to_owned(), value))
    }

    /// Returns an access token (RFC 9068) with which `user` may read agents.
    pub(crate) fn token(&self, user: &str) -> Result<String> {
        let header = Header {
            typ: Some("at+jwt".to_owned()),
            kid: Some(KEY_ID.to_owned()),
            ..Header::new(Algorithm::ES256)
        };
        let claims = json!({
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": user,
            "client_id": "web",
            "iat": self.started,
            "exp": self.started + LIFETIME,
            "jti": format!("token of {user}"),
            "scope": "openid profile agents:read",
        });
        jsonwebtoken::encode(&header, &claims, &self.key).context("cannot sign a token")
    }
}

/// The JWK set.
fn published(key: &EncodingKey) -> Result<Value> {
    let public = Jwk::from_encoding_key(key, Algorithm::ES256).context("cannot publish the key")?;
    let mut public = serde_json::to_value(public)?;
    public["kid"] = json!(KEY_ID);
    public["use"] = json!("sig");
    Ok(json!({ "keys": [public] }))
}

/// Responds to every request with the keys.
fn serve(listener: &TcpListener, keys: &str) {
    for stream in listener.incoming().flatten() {
        // A client without a response tries again.
        let _ = respond(&stream, keys);
    }
}

fn respond(mut stream: &TcpStream, keys: &str) -> Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    let mut lines = BufReader::new(stream).lines();
    while !lines.next().context("incomplete request")??.is_empty() {}
    let length = keys.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{keys}"
    )?;
    Ok(())
}
