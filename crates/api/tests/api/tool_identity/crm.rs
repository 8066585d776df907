//! A service with an MCP server that reports what it has received.

use std::{path::Path, process::Stdio, time::Duration};

use jsonwebtoken::{Algorithm, DecodingKey, Validation, jwk::JwkSet};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    time::{sleep, timeout},
};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    caller::Caller,
    response::Request,
    script::{EngineCall, Script, scripted},
};

/// The time limit of each wait.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A service with a tool server named `crm`, whose tool `report` returns what it has received.
pub(super) struct Setup {
    pub(super) api: ApiServer,
    pub(super) script: Script,
    pub(super) url: String,
    pub(super) agent: String,
    /// Killed when dropped.
    _crm: Child,
}

impl Setup {
    pub(super) async fn start() -> Self {
        let (crm, url) = start_crm().await;
        let (engine, script) = scripted();
        let api = ApiServerBuilder::default()
            .engine("scripted", engine)
            .setting("MCP__SERVERS__CRM__URL", &url)
            .setting("MCP__SERVERS__CRM__USER_TOKEN", "true")
            .setting("MCP__SERVERS__CRM__HEADERS__X_API_KEY", "a-word")
            .start()
            .await;
        let connecting = async {
            while !is_connected(&api).await {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(TIMEOUT, connecting).await.expect("a connection");
        let agent = new_agent(&api.writer()).await;
        Self {
            api,
            script,
            url,
            agent,
            _crm: crm,
        }
    }

    /// Sends a message whose turn calls the tool. Returns what the tool server has received.
    pub(super) async fn report(&mut self, caller: &Caller, body: Value) -> Report {
        self.report_of(caller.request("POST", "/api/chat").json(&body))
            .await
    }

    pub(super) async fn report_of(&mut self, request: Request) -> Report {
        let script = &mut self.script;
        let (_, report) = tokio::join!(request.send(), async {
            let call = script.next_call().await;
            let turn = call.request.turn_id.to_string();
            let report = report_in(&call).await;
            call.answer("Done.").await;
            Report { turn, ..report }
        });
        report
    }

    /// The claims of a token, verified by the published keys.
    pub(super) async fn claims(&self, report: &Report) -> Value {
        let keys = self.api.anonymous().get("/.well-known/jwks.json").await;
        let keys: JwkSet = serde_json::from_value(keys.ok()).expect("a set of keys");
        let token = report.token().expect("a token");
        let header = jsonwebtoken::decode_header(token).expect("a token");
        assert_eq!(header.typ.as_deref(), Some("tool+jwt"));
        let key = keys.find(&header.kid.expect("a key id")).expect("its key");
        let key = DecodingKey::from_jwk(key).expect("a key");
        let mut validation = Validation::new(Algorithm::ES256);
        validation.set_audience(&[&self.url]);
        validation.set_issuer(&[format!("http://{}", self.api.address)]);
        let read = jsonwebtoken::decode::<Value>(token, &key, &validation);
        read.expect("a valid token").claims
    }
}

/// A call as the tool server received it.
pub(super) struct Report {
    pub(super) turn: String,
    /// The metadata, without the prefix of the names.
    pub(super) meta: Value,
    pub(super) headers: Value,
}

impl Report {
    pub(super) fn token(&self) -> Option<&str> {
        self.headers["authorization"]
            .as_str()?
            .strip_prefix("Bearer ")
    }
}

/// Lets a turn call the tool, and returns its result as the model reads it.
pub(super) async fn report_in(call: &EngineCall) -> Report {
    let mut result = call.result_of("crm_report").await;
    assert_eq!(result["status"], "ok", "{result}");
    let text = result["data"].take();
    let report = serde_json::from_str(text.as_str().expect("text"));
    let mut report: Value = report.expect("JSON");
    let members = report["meta"].as_object().expect("metadata").iter();
    let own = members.filter_map(|(name, value)| {
        let name = name.strip_prefix("agent-service/")?;
        Some((name.to_owned(), value.clone()))
    });
    Report {
        turn: String::new(),
        meta: Value::Object(own.collect()),
        headers: report["headers"].take(),
    }
}

async fn start_crm() -> (Child, String) {
    let program = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../adapters/tools/mcp_tools/tests/servers/web.mjs");
    let mut crm = Command::new("node")
        .arg(program)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("node starts");
    let output = crm.stdout.as_mut().expect("its output");
    let port = BufReader::new(output).lines().next_line().await;
    let port = port.expect("UTF-8").expect("its port");
    (crm, format!("http://127.0.0.1:{port}/mcp"))
}

async fn is_connected(api: &ApiServer) -> bool {
    let listed = api.writer().get("/api/capabilities").await.ok();
    let mut listed = listed["data"].as_array().expect("a list").iter();
    listed.any(|it| it["name"] == "crm/report" && it["available"] == true)
}

pub(super) async fn new_agent(caller: &Caller) -> String {
    let config = json!({"engine": "scripted"});
    let draft = json!({"name": "Ada", "capabilities": ["crm"], "config": config});
    id_of(&caller.post("/api/agents", draft).await.created())
}
