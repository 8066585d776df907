//! The console, and who the caller is.

use std::{collections::BTreeSet, fs, path::PathBuf};

use serde_json::json;

use crate::{
    api_server::{ApiServer, ApiServerBuilder},
    response::ApiResponse,
};

/// The maximum size of all files of the console, compressed.
const MAX_BYTES: usize = 260 * 1024;

/// The paths of the built files below `/console/`, except for the page.
fn built_files() -> BTreeSet<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../http/documents/console");
    let names = |folder: PathBuf| -> Vec<String> {
        let entries = fs::read_dir(&folder).expect("the built console");
        let files = entries.map(|entry| entry.expect("an entry"));
        let files = files.filter(|it| it.file_type().is_ok_and(|kind| kind.is_file()));
        files
            .map(|it| it.file_name().into_string().expect("a name"))
            .collect()
    };
    let assets = names(folder.join("assets")).into_iter();
    let others = names(folder).into_iter();
    assets
        .map(|name| format!("assets/{name}"))
        .chain(others.filter(|name| !["files.rs", "index.html"].contains(&name.as_str())))
        .collect()
}

pub(crate) async fn compressed(api: &ApiServer, path: &str) -> ApiResponse {
    let request = api.anonymous().request("GET", path);
    request.header("Accept-Encoding", "br, gzip").send().await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_path_is_the_page_except_for_files() {
    let api = ApiServer::start().await;
    let page = api.anonymous().get("/console").await;
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert_eq!(page.header("cache-control"), "no-cache");
    assert!(
        page.text().contains("<base href=\"/console/\""),
        "{}",
        page.text()
    );
    for path in [
        "/console/",
        "/console/agents/new",
        "/console/chat/a/key.with.dots",
    ] {
        let same = api.anonymous().get(path).await;
        assert_eq!((same.status, same.text()), (200, page.text()), "{path}");
    }
    let missing = api.anonymous().get("/console/assets/missing.js").await;
    assert_eq!(missing.status, 404);
    assert_eq!(api.anonymous().get("/consoles").await.status, 404);
    let head = api.anonymous().request("HEAD", "/console").send().await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("etag"), page.header("etag"));
    let start = api.anonymous().get("/").await;
    assert!(start.text().contains("href=\"/console\""));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_runs_only_scripts_of_the_console() {
    let api = ApiServer::start().await;
    let page = api.anonymous().get("/console").await;
    assert_eq!(
        page.header("content-security-policy"),
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
         connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'"
    );
    let text = page.text();
    for script in text.split("<script").skip(1) {
        let (attributes, content) = script.split_once('>').expect("an element");
        assert!(attributes.contains("src=\"./assets/"), "{script}");
        assert!(content.starts_with("</script>"), "{script}");
    }
    assert!(
        !text.contains("<style") && !text.contains(" style="),
        "{text}"
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_small_and_assets_are_cached_for_good() {
    let api = ApiServer::start().await;
    let mut bytes = compressed(&api, "/console").await.body.len();
    let files = built_files();
    let kinds: BTreeSet<&str> = files
        .iter()
        .filter_map(|it| it.rsplit('.').next())
        .collect();
    assert!(
        kinds.is_superset(&BTreeSet::from(["js", "css"])),
        "{files:?}"
    );
    for file in files {
        let path = format!("/console/{file}");
        let (plain, gzip) = (
            api.anonymous().get(&path).await,
            compressed(&api, &path).await,
        );
        assert_eq!((plain.status, gzip.status), (200, 200), "{path}");
        assert_eq!(gzip.header("content-encoding"), "gzip", "{path}");
        assert!(!plain.has("content-encoding"), "{path}");
        let vary = plain.headers.get_all("vary");
        assert!(vary.iter().any(|it| it == "Accept-Encoding"), "{path}");
        assert!(gzip.body.len() < plain.body.len(), "{path}");
        bytes += gzip.body.len();
        let expected = if file.starts_with("assets/") {
            "public, max-age=31536000, immutable"
        } else {
            "public, max-age=300"
        };
        assert_eq!(plain.header("cache-control"), expected, "{path}");
        let tag = plain.header("etag");
        let repeated = api
            .anonymous()
            .request("GET", &path)
            .header("If-None-Match", tag);
        assert_eq!(repeated.send().await.status, 304, "{path}");
    }
    println!("{bytes} of {MAX_BYTES} bytes");
    assert!(bytes <= MAX_BYTES, "{bytes} bytes");
    api.stop().await;
}

/// Returns the hosts of all URLs in a text.
fn hosts(text: &str) -> BTreeSet<&str> {
    let after = ["https://", "http://"].map(|scheme| text.split(scheme).skip(1));
    let is_in_host =
        |character: char| character.is_ascii_alphanumeric() || ".-:".contains(character);
    after
        .into_iter()
        .flatten()
        .map(|rest| rest.split(|it| !is_in_host(it)).next().unwrap_or_default())
        .map(|host| host.trim_end_matches('.'))
        .filter(|host| !host.is_empty())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_load_nothing_from_other_hosts() {
    let api = ApiServer::start().await;
    // Names of XML namespaces, examples in fields, and links in messages of libraries.
    let known = [
        "www.w3.org",
        "react.dev",
        "base-ui.com",
        "github.com",
        "shop.example.org",
        "client.example",
    ];
    let files = built_files()
        .into_iter()
        .map(|file| format!("/console/{file}"));
    for path in files.chain(["/console".to_owned()]) {
        let response = api.anonymous().get(&path).await;
        let others: Vec<&str> = hosts(response.text())
            .into_iter()
            .filter(|it| !known.contains(it))
            .collect();
        assert_eq!(others, Vec::<&str>::new(), "{path}");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_console_knows_the_path_of_the_public_url() {
    let builder = ApiServerBuilder::default();
    let api = builder
        .setting("SERVER__PUBLIC_URL", "https://example.org/agents")
        .start()
        .await;
    let page = api.anonymous().get("/console/agents").await;
    assert!(
        page.text().contains("<base href=\"/agents/console/\""),
        "{}",
        page.text()
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_console_can_be_turned_off() {
    let builder = ApiServerBuilder::default().setting("CONSOLE__ENABLED", "false");
    let api = builder.start().await;
    for path in ["/console", "/console/", "/console/icon.svg"] {
        assert_eq!(api.anonymous().get(path).await.status, 404, "{path}");
    }
    assert!(!api.anonymous().get("/").await.text().contains("/console"));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_learns_its_tenant_and_its_scopes() {
    let api = ApiServer::start().await;
    let principal = api.reader().get("/api/principal").await.ok();
    assert_eq!(principal["tenantId"], "default");
    let key = api
        .reader()
        .key()
        .split('_')
        .nth(1)
        .expect("an id")
        .to_owned();
    assert_eq!(principal["id"], format!("key:{key}"));
    assert!(
        principal["scopes"]
            .as_array()
            .is_some_and(|it| it.contains(&json!("agents:read")))
    );
    assert!(principal.get("userId").is_none());
    api.stop().await;
}
