//! The CORS requests of pages on another origin, as recorded in Chromium with each UI library. The
//! tests of the pages compare their requests with this table.

use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    response::Request,
};

const ORIGIN: &str = "https://app.example.org";

/// A UI library, and what its pages need.
pub(super) struct Client {
    name: &'static str,
    /// Method, operation and announced headers of each preflight.
    preflights: &'static [&'static str],
    /// The headers of responses that the library reads, except those that every page may read.
    headers_read: &'static [&'static str],
}

pub(super) const USE_CHAT: Client = Client {
    name: "`useChat` of AI SDK 6 and 7, `useAISDKRuntime` of assistant-ui",
    preflights: &[
        "GET /ai-sdk/agents/{agentId}/chat/{chatId}/messages authorization",
        "GET /ai-sdk/agents/{agentId}/chat/{chatId}/stream authorization",
        "POST /ai-sdk/agents/{agentId}/chat authorization,content-type",
        "POST /ai-sdk/agents/{agentId}/chat/{chatId}/stop authorization",
    ],
    headers_read: &[],
};

pub(super) const USE_CHAT_ACTING: Client = Client {
    name: "the same, with answers to calls",
    preflights: &[
        "GET /ai-sdk/agents/{agentId}/chat/{chatId}/messages authorization",
        "GET /ai-sdk/agents/{agentId}/chat/{chatId}/stream authorization",
        "POST /ai-sdk/agents/{agentId}/chat authorization,content-type",
    ],
    headers_read: &[],
};

pub(super) const USE_CHAT_RUNTIME: Client = Client {
    name: "`useChatRuntime` of assistant-ui",
    preflights: &[
        "GET /ai-sdk/agents/{agentId}/chat/{chatId}/stream authorization",
        "POST /ai-sdk/agents/{agentId}/chat authorization,content-type",
        "POST /ai-sdk/agents/{agentId}/chat/{chatId}/stop authorization",
    ],
    headers_read: &[],
};

pub(super) const TANSTACK_AI: Client = Client {
    name: "TanStack AI",
    preflights: &[
        "GET /ag-ui/agents/{agentId}/run authorization",
        "POST /ag-ui/agents/{agentId}/run authorization,content-type,last-event-id,x-run-id",
        "POST /ag-ui/agents/{agentId}/run authorization,content-type,x-run-id",
        "POST /ag-ui/agents/{agentId}/stop authorization,content-type",
    ],
    headers_read: &[],
};

/// Its pages talk to its runtime, which runs on their own server.
pub(super) const COPILOTKIT: Client = Client {
    name: "CopilotKit",
    preflights: &[],
    headers_read: &[],
};

impl Client {
    /// Checks what its page has recorded.
    pub(super) fn assert_needs(&self, recorded: &Value) {
        assert_eq!(
            recorded["preflights"],
            json!(self.preflights),
            "{}",
            self.name
        );
        assert_eq!(
            recorded["headersRead"],
            json!(self.headers_read),
            "{}",
            self.name
        );
        assert_eq!(recorded["refused"], json!([]), "{}", self.name);
    }
}

/// A preflight of the table.
struct Preflight<'a> {
    method: &'a str,
    path: String,
    headers: Vec<&'a str>,
}

impl<'a> Preflight<'a> {
    fn parse(text: &'a str, agent: &str) -> Self {
        let [method, operation, headers] = text.split(' ').collect::<Vec<_>>()[..] else {
            panic!("not a preflight: {text}");
        };
        let path = operation.replace("{agentId}", agent);
        Self {
            method,
            path: path.replace("{chatId}", "a-chat"),
            headers: headers.split(',').collect(),
        }
    }

    fn request(&self, api: &ApiServer, method: &str) -> Request {
        let request = api.anonymous().request(method, &self.path);
        request.header("Origin", ORIGIN)
    }

    /// Checks that a browser sends the request after its preflight.
    async fn assert_allowed(&self, api: &ApiServer) {
        let response = self
            .request(api, "OPTIONS")
            .header("Access-Control-Request-Method", self.method)
            .header("Access-Control-Request-Headers", &self.headers.join(","))
            .send()
            .await;
        assert_eq!(response.status, 204, "{}", self.path);
        assert_eq!(response.header("access-control-allow-origin"), ORIGIN);
        let lists = |name, item: &str| {
            let listed = response.header(name).to_lowercase();
            assert!(
                listed.split(", ").any(|entry| entry == item.to_lowercase()),
                "{} {}: {name} lacks {item}: {listed}",
                self.method,
                self.path
            );
        };
        lists("access-control-allow-methods", self.method);
        for header in &self.headers {
            lists("access-control-allow-headers", header);
        }
    }

    /// Checks that the page may read these headers of the response.
    async fn assert_readable(&self, api: &ApiServer, names: &[&str]) {
        let response = self.request(api, self.method).open().await;
        let headers = response.headers();
        assert_eq!(headers["access-control-allow-origin"], ORIGIN);
        let exposed = headers["access-control-expose-headers"].to_str();
        let exposed = exposed.expect("ASCII").to_lowercase();
        for name in names {
            assert!(
                exposed.split(", ").any(|entry| entry == *name),
                "{} {}: {name} cannot be read: {exposed}",
                self.method,
                self.path
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_on_another_origin_may_send_and_read_what_their_libraries_need() {
    let builder = ApiServerBuilder::default().setting("SERVER__ALLOWED_ORIGINS", ORIGIN);
    let api = builder.start().await;
    let agent = id_of(&api.agent(json!({"name": "Ada"})).await);
    for client in [USE_CHAT, USE_CHAT_ACTING, USE_CHAT_RUNTIME, TANSTACK_AI] {
        assert!(!client.preflights.is_empty(), "{}", client.name);
        for preflight in client.preflights {
            let preflight = Preflight::parse(preflight, &agent);
            preflight.assert_allowed(&api).await;
            preflight.assert_readable(&api, client.headers_read).await;
        }
    }
    api.stop().await;
}
