//! A far region that reaches its home region over TLS.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use scripted_engine::Script;
use serde_json::json;
use tempfile::TempDir;

use crate::{
    chat_client::{key, stream_until_text},
    postgres::Database,
    process::{RunningService, folder, scripted_service},
    requests::post,
    tls_proxy::TlsProxy,
};

const REGION_KEY: &str = "the-key-of-the-far-region-in-these-tests";
const ISSUER: &str = "https://agents.example.org";
/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A home region, with its folder, its database and the key of its first caller.
struct Home {
    running: RunningService,
    folder: TempDir,
    database: Database,
    key: String,
}

impl Home {
    async fn start() -> Self {
        let (folder, database) = (folder(), Database::make().await);
        let key = key(folder.path());
        let url = database.url();
        let settings = [
            ("SERVER__PORT", "0"),
            ("DATABASE_URL", &*url),
            ("AUTH__BOOTSTRAP_KEY", &*key),
            ("AUTH__ISSUER_URL", ISSUER),
            ("REGION__NAME", "us"),
            ("REGIONS__EU__KEYS", REGION_KEY),
            ("REGIONS__EU__URL", "https://eu.example.org"),
        ];
        let running = RunningService::of(scripted_service(folder.path(), &["serve"], &settings));
        Self {
            running,
            folder,
            database,
            key,
        }
    }

    fn address(&self) -> SocketAddr {
        let address = self.running.url.strip_prefix("http://");
        address
            .and_then(|it| it.parse().ok())
            .expect("an address in the URL")
    }

    /// Starts a far region that trusts the authority in this file.
    fn far(&self, home_url: &str, authority: &str) -> RunningService {
        let url = self.database.url();
        let separator = if url.contains('?') { '&' } else { '?' };
        let replica = format!("{url}{separator}options[default_transaction_read_only]=on");
        let settings = [
            ("SERVER__PORT", "0"),
            ("DATABASE_URL", &*replica),
            ("AUTH__ISSUER_URL", ISSUER),
            ("REGION__NAME", "eu"),
            ("REGION__HOME_URL", home_url),
            ("REGION__KEY", REGION_KEY),
            ("SSL_CERT_FILE", authority),
        ];
        RunningService::of(scripted_service(self.folder.path(), &["serve"], &settings))
    }
}

/// Creates an agent in a region. Returns the status, and the code of a problem.
async fn create_agent(region: &RunningService, key: &str) -> (u16, String) {
    let request = reqwest::Client::new().post(format!("{}/api/agents", region.url));
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    let response = request.bearer_auth(key).json(&draft).send().await;
    let response = response.expect("a response");
    let status = response.status().as_u16();
    let body: serde_json::Value = response.json().await.expect("JSON");
    (status, body["code"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_and_streams_are_forwarded_over_http_2_in_tls() {
    let home = Home::start().await;
    let proxy = TlsProxy::start(home.address(), &["h2", "http/1.1"]).await;
    let authority = proxy.authority_in(home.folder.path());
    let far = home.far(&proxy.url, &authority);
    // Until it accepts credentials, which needs a report of its home.
    far.wait_for_status(200).await;
    let draft = json!({"name": "Ada", "config": {"engine": "scripted"}});
    let agent = post(&far.url, &home.key, "/api/agents", draft).await;
    let script = Script::words(20);
    let message = json!({"agentId": agent["id"], "message": script.to_message(), "stream": true});
    let chat = reqwest::Client::new().post(format!("{}/api/chat", far.url));
    let chat = chat.bearer_auth(&home.key).json(&message);
    let (stream, _) = stream_until_text(chat).await;
    let completed = stream.end("turn.completed").await;
    assert_eq!(completed["message"], script.text(), "{completed}");
    // The list of all regions arrives on the stream of signals.
    let began = Instant::now();
    loop {
        let listed = reqwest::Client::new().get(format!("{}/api/regions", far.url));
        let listed = listed
            .bearer_auth(&home.key)
            .send()
            .await
            .expect("a response");
        let listed: serde_json::Value = listed.json().await.expect("JSON");
        if listed["data"][0]["name"] == "us" {
            break;
        }
        assert!(began.elapsed() < TIMEOUT, "{listed}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_names_what_is_wrong_with_the_proxy_of_the_home_region() {
    let home = Home::start().await;
    let without_http_2 = "does not offer HTTP/2 (ALPN protocol h2)";
    let other = TlsProxy::start(home.address(), &["h2"]).await;
    let other = other.authority_in(home.folder.path());
    for (protocols, authority, cause) in [
        (&["http/1.1"][..], None, without_http_2),
        (&[], None, without_http_2),
        (&["h2"], Some(other), "TLS with the home region failed"),
    ] {
        let proxy = TlsProxy::start(home.address(), protocols).await;
        let folder = folder();
        let authority = authority.unwrap_or_else(|| proxy.authority_in(folder.path()));
        let far = home.far(&proxy.url, &authority);
        let refused = create_agent(&far, &home.key).await;
        assert_eq!(refused, (503, "home_unavailable".to_owned()));
        far.abort();
        let (_, log) = far.wait_for_exit();
        let warnings = log.lines().filter(|line| line.contains("WARN"));
        let named = warnings.filter(|line| line.contains(cause)).count();
        assert_eq!(named, 1, "{protocols:?}: {log}");
        assert!(!log.contains("ERROR"), "{log}");
    }
}
