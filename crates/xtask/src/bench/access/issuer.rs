//! A foreign issuer of tokens.

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
/// Seconds, more than all the measuring takes.
const LIFETIME: u64 = 2 * 60 * 60;
/// How long a client may take to ask for the keys.
const PATIENCE: Duration = Duration::from_secs(5);

/// An issuer that signs by ES256 and shows its key on loopback until the process ends.
pub(crate) struct Issuer {
    url: String,
    key: EncodingKey,
    /// Seconds since 1970.
    started: u64,
}

impl Issuer {
    /// Starts an issuer with a new key.
    pub(crate) fn start() -> Result<Self> {
        // Where one is installed already, it stays.
        let _ = jsonwebtoken::crypto::aws_lc::DEFAULT_PROVIDER.install_default();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let private = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new())
            .context("cannot make a key")?;
        let key = EncodingKey::from_ec_der(private.as_ref());
        let listener = TcpListener::bind("127.0.0.1:0").context("cannot show the keys")?;
        let address = listener.local_addr().context("cannot show the keys")?;
        let keys = published(&key)?.to_string();
        thread::spawn(move || show(&listener, &keys));
        Ok(Self {
            url: format!("http://{address}"),
            key,
            started: get_current_timestamp(),
        })
    }

    /// What makes a service trust it.
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

    /// A token that lets this user read agents, as authorization servers write them (RFC 9068).
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
    let public = Jwk::from_encoding_key(key, Algorithm::ES256).context("cannot show the key")?;
    let mut public = serde_json::to_value(public)?;
    public["kid"] = json!(KEY_ID);
    public["use"] = json!("sig");
    Ok(json!({ "keys": [public] }))
}

/// Answers whatever is asked with the keys.
fn show(listener: &TcpListener, keys: &str) {
    for stream in listener.incoming().flatten() {
        // Who goes away without an answer asks again.
        let _ = answer(&stream, keys);
    }
}

fn answer(mut stream: &TcpStream, keys: &str) -> Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut lines = BufReader::new(stream).lines();
    while !lines.next().context("the request broke off")??.is_empty() {}
    let length = keys.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{keys}"
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use jsonwebtoken::{DecodingKey, Validation, decode, jwk::JwkSet};

    use super::*;

    /// What the issuer answers to whoever asks for its keys.
    fn ask(issuer: &Issuer) -> String {
        let address = issuer.url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        stream
            .write_all(b"GET /keys HTTP/1.1\r\nHost: issuer\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn the_key_that_it_shows_proves_its_tokens() {
        let issuer = Issuer::start().unwrap();
        let answer = ask(&issuer);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        let keys: JwkSet = serde_json::from_str(body).unwrap();
        let key = DecodingKey::from_jwk(keys.find(KEY_ID).unwrap()).unwrap();
        let mut validation = Validation::new(Algorithm::ES256);
        validation.set_audience(&[AUDIENCE]);
        validation.set_issuer(&[&issuer.url]);
        let token = issuer.token("ada").unwrap();
        let decoded = decode::<Value>(&token, &key, &validation).unwrap();
        assert_eq!(decoded.header.typ.as_deref(), Some("at+jwt"));
        assert_eq!(decoded.claims["sub"], "ada");
        assert!(!body.contains("\"d\""), "the private half is shown: {body}");
    }

    #[test]
    fn each_user_has_another_token() {
        let issuer = Issuer::start().unwrap();
        assert_ne!(issuer.token("ada").unwrap(), issuer.token("eve").unwrap());
    }
}
