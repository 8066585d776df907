//! Somewhere to send requests to.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::{Expected, connection::Connection};

/// A server, and what is shown to it.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    pub(crate) credential: Credential,
}

/// What lets a request in.
#[derive(Clone)]
pub(crate) enum Credential {
    /// An API key.
    Key(String),
    /// An access token.
    Token(String),
}

impl Endpoint {
    /// The same server for somebody else.
    pub(crate) fn shown(&self, credential: Credential) -> Self {
        Self {
            credential,
            ..self.clone()
        }
    }

    /// The bytes of a request, as they go over the wire.
    pub(crate) fn request(&self, method: &str, path: &str, body: Option<&Value>) -> Vec<u8> {
        self.request_with(method, path, &[], body)
    }

    /// The same with further headers.
    pub(crate) fn request_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Vec<u8> {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.address);
        let (header, credential) = match &self.credential {
            Credential::Key(key) => ("X-API-Key: ", key),
            Credential::Token(token) => ("Authorization: Bearer ", token),
        };
        for part in [header, credential, "\r\n"] {
            head.push_str(part);
        }
        for (name, value) in headers {
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

    /// Sends a request on `connection` and answers the body; null when there is none.
    pub(crate) async fn call(
        &self,
        connection: &mut Connection,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value> {
        let request = self.request(method, path, body);
        let context = || format!("{method} {path}");
        let response = connection.exchange(&request).await.with_context(context)?;
        let success = response.must_be(Expected::Success);
        success.with_context(context)?;
        if response.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(response.body).with_context(context)
    }
}

/// For one request after the other.
pub(crate) struct Client {
    endpoint: Endpoint,
    connection: Connection,
    runtime: Runtime,
}

impl Client {
    /// Connects.
    pub(crate) fn connect(endpoint: &Endpoint) -> Result<Self> {
        let runtime = super::runtime()?;
        Ok(Self {
            connection: runtime.block_on(Connection::open(endpoint.address))?,
            endpoint: endpoint.clone(),
            runtime,
        })
    }

    /// Sends a request and answers the body.
    pub(crate) fn call(&mut self, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
        let called = self.endpoint.call(&mut self.connection, method, path, body);
        self.runtime.block_on(called)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_shows_its_credential_and_tells_the_length_of_its_body() {
        let endpoint = Endpoint {
            address: ([127, 0, 0, 1], 80).into(),
            credential: Credential::Key("k".to_owned()),
        };
        let post = endpoint.request("POST", "/a", Some(&serde_json::json!({"b": 1})));
        assert_eq!(
            String::from_utf8(post).unwrap(),
            "POST /a HTTP/1.1\r\nHost: 127.0.0.1:80\r\nX-API-Key: k\r\n\
             Content-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"b\":1}"
        );
        let stranger = endpoint.shown(Credential::Token("t".to_owned()));
        let get = stranger.request_with("GET", "/a", &[("Accept", "text/html")], None);
        assert_eq!(
            String::from_utf8(get).unwrap(),
            "GET /a HTTP/1.1\r\nHost: 127.0.0.1:80\r\nAuthorization: Bearer t\r\n\
             Accept: text/html\r\n\r\n"
        );
    }
}
