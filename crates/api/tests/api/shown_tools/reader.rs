//! A caller who reads calls.

use serde_json::Value;

use crate::{
    api_server::ApiServer,
    caller::Caller,
    response::{ApiResponse, Request},
    sockets::client::{SocketClient, Upgrade},
};

/// A caller, and the user that it names in its requests.
pub(super) struct Reader {
    caller: Caller,
    user: Option<&'static str>,
}

impl Reader {
    pub(super) fn of(caller: Caller) -> Self {
        Self { caller, user: None }
    }

    /// A key that names a user.
    pub(super) fn naming(caller: Caller, user: &'static str) -> Self {
        let user = Some(user);
        Self { caller, user }
    }

    pub(super) fn request(&self, method: &str, path: &str) -> Request {
        let request = self.caller.request(method, path);
        match self.user {
            Some(user) => request.header("X-User-Id", user),
            None => request,
        }
    }

    /// The response to a read, which keeps the promises of all responses.
    pub(super) async fn get(&self, path: &str) -> ApiResponse {
        let response = self.request("GET", path).send().await;
        assert_eq!(response.status, 200, "{path}: {}", response.text());
        response
    }

    /// The whole body of a response, which may be a stream.
    pub(super) async fn text(&self, method: &str, path: &str, body: Option<&Value>) -> String {
        let mut request = self.request(method, path);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.open().await;
        let status = response.status().as_u16();
        let text = response.text().await.expect("a whole body");
        assert_eq!(status, 200, "{path}: {text}");
        text
    }

    pub(super) async fn socket(&self, api: &ApiServer, path: &str) -> SocketClient {
        let upgrade = Upgrade::with_path(api, path).with_caller(&self.caller);
        let upgrade = match self.user {
            Some(user) => upgrade.header("X-User-Id", user),
            None => upgrade,
        };
        upgrade.open().await
    }
}
