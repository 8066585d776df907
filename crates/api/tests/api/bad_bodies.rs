//! Malformed request bodies.

use domain::ProblemCode;
use serde_json::json;

use crate::{
    api_server::{ApiServer, ApiServerBuilder},
    bad_input::{JSON, head},
    raw::{self, Connection},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_not_json_is_rejected() {
    let api = ApiServer::start().await;
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let bodies: Vec<Vec<u8>> = [
        "",
        " ",
        "{",
        "nonsense",
        "{\"name\": \"Ada\"} x",
        "{\"name\": \"Ada\"}{}",
        "{\"name\": \"Ada\",}",
        "{'name': 'Ada'}",
        "{\"name\": \"\\ud800\"}",
        "{\"name\": NaN}",
        "{\"name\": 1e400}",
        "\u{feff}{\"name\": \"Ada\"}",
        &deep(65),
        &deep(100_000),
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .chain([b"{\"name\": \"\xff\"}".to_vec(), b"\xc3\x28".to_vec()])
    .collect();
    for body in bodies {
        let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        let response = api
            .writer()
            .request("POST", "/api/agents")
            .body(body)
            .send()
            .await;
        let problem = response.problem(ProblemCode::MalformedJson);
        assert!(
            problem["detail"].as_str().unwrap().contains("body"),
            "{shown}: {problem}"
        );
    }
    let response = api
        .writer()
        .request("POST", "/api/agents")
        .body(deep(64))
        .send()
        .await;
    response.problem(ProblemCode::ValidationFailed);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_member_is_an_error() {
    let api = ApiServer::start().await;
    let body = r#"{"name": "Ada", "name": "Bob", "config": {"metadata": {"a": "1", "a": "2"}}}"#;
    let response = api
        .writer()
        .request("POST", "/api/agents")
        .body(body)
        .send()
        .await;
    let fault = |place: &str| (place.to_owned(), "duplicate_member".to_owned());
    assert_eq!(
        response.faults(),
        [fault("/config/metadata/a"), fault("/name")]
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nul_is_rejected_everywhere() {
    let api = ApiServer::start().await;
    let cases = [
        (json!({"name": "a\0b"}), "/name"),
        (json!({"name": "Ada", "personality": "\0"}), "/personality"),
        (
            json!({"name": "Ada", "capabilities": ["a\0"]}),
            "/capabilities/0",
        ),
        (
            json!({"name": "Ada", "config": {"metadata": {"a\0b": "c"}}}),
            "/config/metadata/a\0b",
        ),
        (
            json!({"name": "Ada", "config": {"instructions": "\0"}}),
            "/config/instructions",
        ),
    ];
    for (body, place) in cases {
        let response = api.writer().post("/api/agents", body).await;
        response.problem(ProblemCode::ValidationFailed);
        let faults = response.faults();
        assert!(
            faults.iter().all(|(at, _)| at == place),
            "{place}: {faults:?}"
        );
        assert!(
            faults.iter().any(|(_, code)| code == "bad_character"),
            "{place}: {faults:?}"
        );
    }
    for query in ["name=%00", "capability=a%00", "cursor=%00"] {
        let response = api.reader().get(&format!("/api/agents?{query}")).await;
        response.problem(ProblemCode::ValidationFailed);
    }
    let id = api.agent_id().await;
    let response = api.reader().get(&format!("/api/agents/{id}%00")).await;
    response.problem(ProblemCode::AgentNotFound);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_out_of_range_is_rejected() {
    let api = ApiServer::start().await;
    for (number, code) in [
        ("99", "too_small"),
        ("-1", "too_small"),
        ("600001", "too_large"),
        ("1e300", "too_large"),
        ("99999999999999999999999999", "too_large"),
        ("100.5", "wrong_type"),
        ("\"100\"", "wrong_type"),
        ("null", "wrong_type"),
        ("true", "wrong_type"),
    ] {
        let body = format!("{{\"name\": \"Ada\", \"config\": {{\"timeoutMs\": {number}}}}}");
        let response = api
            .writer()
            .request("POST", "/api/agents")
            .body(body)
            .send()
            .await;
        let expected = [("/config/timeoutMs".to_owned(), code.to_owned())];
        assert_eq!(response.faults(), expected, "{number}");
    }
    for limit in [
        "0",
        "-1",
        "101",
        "99999999999999999999",
        "1.5",
        "%2B",
        "",
        "٣",
    ] {
        let response = api
            .reader()
            .get(&format!("/api/agents?limit={limit}"))
            .await;
        response.problem(ProblemCode::ValidationFailed);
        assert_eq!(response.faults()[0].0, "limit", "{limit}");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_has_at_most_256_kib() {
    let api = ApiServer::start().await;
    let body = |bytes: usize| {
        let mut body = json!({"name": "x"}).to_string();
        body.push_str(&" ".repeat(bytes - body.len()));
        body
    };
    let whole = 256 * 1024;
    let request = |body: String| {
        api.writer()
            .request("POST", "/api/agents")
            .body(body)
            .send()
    };
    request(body(whole)).await.created();
    request(body(whole + 1))
        .await
        .problem(ProblemCode::BodyTooLarge);

    // A declared excess is rejected before a byte of the body is sent.
    let too_large = format!("{JSON}Content-Length: {}\r\n", whole + 1);
    let response = raw::answer(api.address, head(&api, "POST /api/agents", &too_large)).await;
    response.problem(ProblemCode::BodyTooLarge);

    // An undeclared excess is rejected when it is reached.
    let mut connection = Connection::open(api.address).await;
    let chunked = format!("{JSON}Transfer-Encoding: chunked\r\n");
    connection
        .send(head(&api, "POST /api/agents", &chunked))
        .await;
    for _ in 0..9 {
        connection
            .send(format!("8000\r\n{}\r\n", " ".repeat(0x8000)))
            .await;
    }
    let response = connection.answer_to("POST", "/api/agents").await;
    response.problem(ProblemCode::BodyTooLarge);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_needs_a_content_type() {
    let api = ApiServer::start().await;
    let body = json!({"name": "Ada"}).to_string();
    let length = format!("Content-Length: {}\r\n", body.len());
    for headers in [
        "",
        "Content-Type: text/plain\r\n",
        "Content-Type: application/x-www-form-urlencoded\r\n",
        "Content-Type: application/jsonx\r\n",
        "Content-Type: \u{ff}\r\n",
        "Content-Type: application/json\r\nContent-Type: application/json\r\n",
        "Content-Type: application/json\r\nContent-Encoding: gzip\r\n",
        "Content-Type: application/json\r\nContent-Encoding: identity, br\r\n",
    ] {
        let mut request = head(&api, "POST /api/agents", &format!("{headers}{length}"));
        request.extend(body.as_bytes());
        let response = raw::answer(api.address, request).await;
        response.problem(ProblemCode::UnsupportedMediaType);
    }
    let plain = format!("{JSON}Content-Encoding: identity\r\n{length}");
    let mut request = head(&api, "POST /api/agents", &plain);
    request.extend(body.as_bytes());
    raw::answer(api.address, request).await.created();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_body_has_no_effect() {
    let api = ApiServer::start().await;
    let headers = format!("{JSON}Content-Length: 100\r\n");
    let mut connection = Connection::open(api.address).await;
    connection
        .send(head(&api, "POST /api/agents", &headers))
        .await;
    connection.send(json!({"name": "Ada"}).to_string()).await;
    connection.end().await;
    let received = connection.receive_all().await;
    let received = String::from_utf8_lossy(&received);
    assert!(
        received.is_empty() || received.starts_with("HTTP/1.1 400 "),
        "{received}"
    );
    assert_eq!(
        api.reader().get("/api/agents").await.ok()["data"],
        json!([])
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_body_times_out_and_delays_no_others() {
    let api = ApiServerBuilder::default()
        .setting("LIMITS__BODY_SECONDS", "1")
        .start()
        .await;
    let headers = format!("{JSON}Content-Length: 100\r\n");
    let mut connection = Connection::open(api.address).await;
    connection
        .send(head(&api, "POST /api/agents", &headers))
        .await;
    connection.send("{").await;
    api.agent(json!({"name": "Ada"})).await;
    let response = connection.answer_to("POST", "/api/agents").await;
    response.problem(ProblemCode::RequestTimeout);
    assert_eq!(response.header("connection"), "close");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_body_of_an_unauthenticated_request_is_not_awaited() {
    let api = ApiServer::start().await;
    for (line, status) in [
        ("POST /api/agents", 401),
        ("POST /api/nothing", 404),
        ("DELETE /livez", 405),
        ("GET /livez", 200),
    ] {
        for body in [
            "Content-Length: 200000\r\n",
            "Transfer-Encoding: chunked\r\n",
        ] {
            let mut connection = Connection::open(api.address).await;
            let request = format!("{line} HTTP/1.1\r\nHost: test\r\n{JSON}{body}\r\n");
            connection.send(request).await;
            // Not one byte of it was sent.
            let response = connection.receive().await;
            let expected = format!("HTTP/1.1 {status} ");
            let response = String::from_utf8_lossy(&response);
            assert!(response.starts_with(&expected), "{line}: {response}");
        }
    }
    api.stop().await;
}
