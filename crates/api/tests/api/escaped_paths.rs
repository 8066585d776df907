//! All layers decode escaped paths in the same way as the router.

use domain::ProblemCode;

use crate::{
    api_server::{ApiServer, ApiServerBuilder},
    oauth::{Client, GRANT},
    raw,
};

#[tokio::test(flavor = "multi_thread")]
async fn public_paths_ignore_credentials() {
    let api = ApiServer::start().await;
    for path in ["/l%69vez", "/%72eadyz", "/openapi%2Ejson", "/%70roblems"] {
        let request = api.anonymous().request("GET", path);
        let response = request.header("X-API-Key", "nonsense").send().await;
        assert_eq!(response.status, 200, "{path}");
    }
    // An escaped slash does not separate segments.
    let request = api.anonymous().request("GET", "/oauth2%2Ftoken");
    let response = request.header("X-API-Key", "nonsense").send().await;
    response.problem(ProblemCode::InvalidCredentials);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn oauth_endpoints_return_oauth_responses() {
    let api = ApiServer::start().await;
    let client = Client::make(&api, &["agents:read"]).await;
    let issued = client.ask(&api, "/%6Fauth2/token", &[GRANT]).await;
    assert_eq!(issued.header("pragma"), "no-cache");
    assert!(issued.ok()["access_token"].is_string());
    for (method, status) in [("POST", 400), ("GET", 405)] {
        let mut connection = raw::Connection::open(api.address).await;
        let head = format!(
            "{method} /%6Fauth2/token HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\
             Content-Length: 0\r\n\r\n"
        );
        connection.send(head).await;
        let rejected = connection.answer_to(method, "/oauth2/token").await;
        assert_eq!(
            rejected.oauth_error(),
            (status, "invalid_request".to_owned())
        );
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_may_read_the_metadata() {
    let builder =
        ApiServerBuilder::default().setting("SERVER__ALLOWED_ORIGINS", "https://app.example");
    let api = builder.start().await;
    for (path, shared) in [
        ("/.well-known/jwks.json", true),
        ("/%2Ewell-kn%6Fwn/jwks.json", true),
        ("/.well-known%2Fjwks.json", false),
    ] {
        let request = api.anonymous().request("GET", path);
        let response = request.header("Origin", "https://other.example").send();
        let response = response.await;
        assert_eq!(response.status == 200, shared, "{path}");
        assert_eq!(
            response.has("access-control-allow-origin"),
            shared,
            "{path}"
        );
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_answers_only_json() {
    let api = ApiServer::start().await;
    let request = api.reader().request("GET", "/%61pi/agents");
    request
        .header("Accept", "image/png")
        .send()
        .await
        .problem(ProblemCode::NotAcceptable);
    api.reader().get("/%61pi/agents").await.ok();
    api.stop().await;
}
