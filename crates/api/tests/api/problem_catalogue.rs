//! The catalogue of problem codes.

use domain::ProblemCode;
use insta::assert_snapshot;

use crate::api_server::ApiServer;

#[tokio::test(flavor = "multi_thread")]
async fn the_catalogue_lists_every_code() {
    let api = ApiServer::start().await;
    let catalogue = api.anonymous().get("/problems").await.ok();
    let entries = catalogue["data"].as_array().expect("the catalogue");
    let codes: Vec<&str> = entries
        .iter()
        .filter_map(|entry| entry["code"].as_str())
        .collect();
    let all: Vec<&str> = ProblemCode::ALL.iter().map(ProblemCode::as_str).collect();
    assert_eq!(codes, all);
    for entry in entries {
        let path = format!("/problems/{}", entry["code"].as_str().unwrap());
        assert_eq!(api.anonymous().get(&path).await.ok(), *entry);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_type_of_a_problem_links_to_its_description() {
    let api = ApiServer::start().await;
    let problem = api.anonymous().get("/api/agents").await;
    let kind = problem.json()["type"].as_str().unwrap().to_owned();
    assert_snapshot!(api.anonymous().get(&kind).await.snapshot(), @r#"
    200 OK
    {
      "code": "unauthenticated",
      "remedy": "Send an API key in `X-API-Key`, or a token in `Authorization: Bearer`.",
      "retryable": false,
      "status": 401,
      "title": "A credential is needed."
    }
    "#);
    let browser = api.anonymous().request("GET", &kind);
    let page = browser
        .header("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
        .send()
        .await;
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let mut varies = page.headers.get_all("vary").iter();
    assert!(varies.any(|header| header == "Accept"), "{page:?}");
    assert!(
        page.text().contains("<code>unauthenticated</code>"),
        "{}",
        page.text()
    );
    api.stop().await;
}
