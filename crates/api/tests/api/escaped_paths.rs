//! A path that is written with escapes is the path that it stands for, to everybody who judges by
//! it: the layers read it as the router does.

use domain::ProblemCode;

use crate::{
    harness::{Api, Plan},
    oauth::{Client, GRANT},
    raw,
};

#[tokio::test(flavor = "multi_thread")]
async fn credentials_are_not_looked_at_on_public_paths() {
    let api = Api::start().await;
    for path in ["/l%69vez", "/%72eadyz", "/openapi%2Ejson", "/%70roblems"] {
        let request = api.anonymous().request("GET", path);
        let answer = request.header("X-API-Key", "nonsense").send().await;
        assert_eq!(answer.status, 200, "{path}");
    }
    // A slash that is escaped is none.
    let request = api.anonymous().request("GET", "/oauth2%2Ftoken");
    let answer = request.header("X-API-Key", "nonsense").send().await;
    answer.problem(ProblemCode::InvalidCredentials);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_get_tokens_and_refusals_in_the_words_of_oauth() {
    let api = Api::start().await;
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
        let refused = connection.answer_to(method, "/oauth2/token").await;
        assert_eq!(
            refused.oauth_error(),
            (status, "invalid_request".to_owned())
        );
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_may_read_how_to_get_in() {
    let plan = Plan::default().setting("SERVER__ALLOWED_ORIGINS", "https://app.example");
    let api = plan.start().await;
    for (path, shared) in [
        ("/.well-known/jwks.json", true),
        ("/%2Ewell-kn%6Fwn/jwks.json", true),
        ("/.well-known%2Fjwks.json", false),
    ] {
        let request = api.anonymous().request("GET", path);
        let answer = request.header("Origin", "https://other.example").send();
        let answer = answer.await;
        assert_eq!(answer.status == 200, shared, "{path}");
        assert_eq!(answer.has("access-control-allow-origin"), shared, "{path}");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_interface_answers_json_alone() {
    let api = Api::start().await;
    let request = api.reader().request("GET", "/%61pi/agents");
    request
        .header("Accept", "image/png")
        .send()
        .await
        .problem(ProblemCode::NotAcceptable);
    api.reader().get("/%61pi/agents").await.ok();
    api.stop().await;
}
