//! The address of a server and the credential of its client.

use std::net::SocketAddr;

use serde_json::Value;

/// A server, and the credential that requests to it carry.
#[derive(Clone)]
pub struct Endpoint {
    /// The address of the server.
    pub address: SocketAddr,
    /// The credential of every request.
    pub credential: Credential,
}

/// A credential of a request.
#[derive(Clone)]
pub enum Credential {
    /// An API key.
    Key(String),
    /// An access token.
    Token(String),
}

impl Credential {
    /// Returns the header that carries the credential.
    pub fn header(&self) -> (&'static str, String) {
        match self {
            Self::Key(key) => ("X-API-Key", key.clone()),
            Self::Token(token) => ("Authorization", format!("Bearer {token}")),
        }
    }
}

impl Endpoint {
    /// Returns the same server with another credential.
    #[must_use]
    pub fn with_credential(&self, credential: Credential) -> Self {
        Self {
            credential,
            ..self.clone()
        }
    }

    /// Returns the bytes of a request, as the load generator sends them.
    pub fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Vec<u8> {
        self.request_with(method, path, &[], body)
    }

    /// Returns the bytes of a request with further headers.
    pub fn request_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Vec<u8> {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.address);
        let (name, value) = self.credential.header();
        for (name, value) in [(name, value.as_str())].iter().chain(headers) {
            for part in [name, ": ", value, "\r\n"] {
                head.push_str(part);
            }
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        if !body.is_empty() {
            head.push_str("Content-Type: application/json\r\nContent-Length: ");
            head.push_str(&body.len().to_string());
            head.push_str("\r\n");
        }
        head.push_str("\r\n");
        head.push_str(&body);
        head.into_bytes()
    }
}
