//! Callers of the API.

use std::net::SocketAddr;

use serde_json::Value;

use crate::response::{ApiResponse, Request};

/// A caller with a credential.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) http: reqwest::Client,
    pub(crate) address: SocketAddr,
    /// An API key, or an access token.
    pub(crate) key: Option<String>,
}

impl Caller {
    /// The API key, or an access token.
    pub(crate) fn key(&self) -> &str {
        self.key.as_deref().expect("a caller with a key")
    }

    /// A request with the caller's credential.
    pub(crate) fn request(&self, method: &str, path: &str) -> Request {
        let request = Request::new(&self.http, self.address, method, path);
        match &self.key {
            Some(key) if key.starts_with("agk_") => request.header("X-API-Key", key),
            Some(token) => request.header("Authorization", &format!("Bearer {token}")),
            None => request,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> ApiResponse {
        self.request("GET", path).send().await
    }

    pub(crate) async fn delete(&self, path: &str) -> ApiResponse {
        self.request("DELETE", path).send().await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> ApiResponse {
        self.request("POST", path).json(&body).send().await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> ApiResponse {
        self.request("PUT", path).json(&body).send().await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> ApiResponse {
        self.request("PATCH", path).json(&body).send().await
    }
}
