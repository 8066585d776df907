//! Malformed request lines and headers.

use domain::ProblemCode;
use serde_json::{Value, json};

use crate::{api_server::ApiServer, raw, raw::Connection};

/// The headers of a request on a connection that is closed after the response.
pub(crate) fn head(api: &ApiServer, line: &str, headers: &str) -> Vec<u8> {
    let key = api.writer().key().to_owned();
    let own = format!("Host: test\r\nConnection: close\r\nX-API-Key: {key}\r\n");
    format!("{line} HTTP/1.1\r\n{own}{headers}\r\n").into_bytes()
}

/// The headers of a JSON body.
pub(crate) const JSON: &str = "Content-Type: application/json\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_url_has_at_most_8_kib() {
    let api = ApiServer::start().await;
    let path = |bytes: usize| {
        let start = "/api/agents?name=";
        format!("{start}{}", "x".repeat(bytes - start.len()))
    };
    let longest = api.reader().get(&path(8 * 1024)).await;
    longest.problem(ProblemCode::ValidationFailed);
    let longer = api.reader().get(&path(8 * 1024 + 1)).await;
    longer.problem(ProblemCode::UriTooLong);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_header_is_rejected() {
    let api = ApiServer::start().await;
    let id = api.agent_id().await;
    let body = json!({"name": "Bob"}).to_string();
    let with_body = format!("{JSON}Content-Length: {}\r\n", body.len());
    let make = "POST /api/agents";
    let change = &*format!("PATCH /api/agents/{id}");
    for (line, header, bytes) in [
        (make, "Idempotency-Key", b"\xff".as_slice()),
        (make, "Idempotency-Key", b"a b"),
        (make, "Idempotency-Key", &[b'x'; 256]),
        (make, "Idempotency-Key", b"a\r\nIdempotency-Key: b"),
        (change, "If-Match", b"\xff"),
        (change, "If-Match", b"\"v1\"\r\nIf-Match: *"),
    ] {
        let mut request = head(&api, line, &with_body);
        request.truncate(request.len() - 2);
        request.extend(format!("{header}: ").as_bytes());
        request.extend(bytes);
        request.extend(b"\r\n\r\n");
        request.extend(body.as_bytes());
        let response = raw::answer(api.address, request).await;
        response.problem(ProblemCode::InvalidHeader);
        assert_eq!(response.faults()[0].0, header);
    }
    for header in ["X-API-Key", "Authorization"] {
        let mut request =
            b"GET /api/agents HTTP/1.1\r\nHost: test\r\nConnection: close\r\n".to_vec();
        request.extend(format!("{header}: ").as_bytes());
        request.extend(b"Bearer \xff\xfe\r\n\r\n");
        let response = raw::answer(api.address, request).await;
        response.problem(ProblemCode::InvalidCredentials);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_requests_close_the_connection() {
    let api = ApiServer::start().await;
    let huge = format!(
        "GET /livez HTTP/1.1\r\nHost: test\r\nX-Filler: {}\r\n\r\n",
        "x".repeat(256 * 1024)
    );
    for request in [
        "nonsense\r\n\r\n",
        "GET /livez HTTP/9.9\r\nHost: test\r\n\r\n",
        "GET /li vez HTTP/1.1\r\nHost: test\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost test\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHo st: test\r\n\r\n",
        "POST /livez HTTP/1.1\r\nHost: test\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "POST /livez HTTP/1.1\r\nHost: test\r\nContent-Length: -1\r\n\r\n",
        "POST /livez HTTP/1.1\r\nHost: test\r\nContent-Length: +1\r\n\r\na",
        "POST /livez HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /livez HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        &huge,
    ] {
        raw::assert_cut_off(api.address, request).await;
    }
    api.anonymous().get("/livez").await.ok();
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_in_http_1_0_has_no_chunks_and_ends_with_the_connection() {
    let api = ApiServer::start().await;
    let body = json!({"agentId": api.agent_id().await, "message": "Hello", "stream": true});
    let (body, key) = (body.to_string(), api.writer().key().to_owned());
    for connection_header in ["", "Connection: keep-alive\r\n"] {
        let mut connection = Connection::open(api.address).await;
        let head = format!(
            "POST /api/chat HTTP/1.0\r\nHost: test\r\nX-API-Key: {key}\r\n{connection_header}\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        connection.send(head + &body).await;
        let response = String::from_utf8(connection.receive_all().await).unwrap();
        let (head, events) = response.split_once("\r\n\r\n").unwrap();
        let lower = head.to_ascii_lowercase();
        assert!(head.starts_with("HTTP/1.0 200 "), "{head}");
        assert!(!lower.contains("transfer-encoding"), "{head}");
        assert!(!lower.contains("keep-alive"), "{head}");
        assert!(events.starts_with("event: turn.started\n"), "{events}");
        assert!(events.contains("event: turn.completed\n"), "{events}");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_response_in_http_1_0_keeps_the_connection_if_asked_to() {
    let api = ApiServer::start().await;
    let mut connection = Connection::open(api.address).await;
    let request = "GET /livez HTTP/1.0\r\nHost: test\r\nConnection: keep-alive\r\n\r\n";
    let last = "GET /livez HTTP/1.0\r\nHost: test\r\n\r\n";
    connection.send([request, last].concat()).await;
    let received = String::from_utf8(connection.receive_all().await).unwrap();
    assert_eq!(received.matches("HTTP/1.0 200 OK").count(), 2, "{received}");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_request_after_valid_ones_closes_with_an_error() {
    let api = ApiServer::start().await;
    let huge = format!(
        "GET /livez HTTP/1.1\r\nX-Filler: {}",
        "x".repeat(256 * 1024)
    );
    for (rejected, status) in [("nonsense\r\n\r\n", "400"), (&huge, "431")] {
        for before in [0, 2] {
            let mut connection = Connection::open(api.address).await;
            let good = "GET /livez HTTP/1.1\r\nHost: test\r\n\r\n".repeat(before);
            connection.send(good + rejected).await;
            let received = connection.receive_all().await;
            let text = String::from_utf8_lossy(&received);
            assert_eq!(text.matches("HTTP/1.1 200 OK").count(), before, "{text}");
            let (_, refusal) = text.rsplit_once("HTTP/1.1 ").expect("a refusal");
            assert!(refusal.starts_with(status), "{refusal}");
            assert!(refusal.contains("connection: close\r\n"), "{refusal}");
        }
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_are_not_normalized() {
    let api = ApiServer::start().await;
    let id = api.agent_id().await;
    for path in [
        "//api/agents",
        "/api//agents",
        "/api/agents/",
        "/API/agents",
        "/api/agents/../engines",
        "/api/agents/%2e%2e/engines",
        "/api/./agents",
        "/docs/../api/agents",
        "/docs/%2e%2e/api/agents",
        "/livez/../api/agents",
        "/problems/..%2f..%2fapi%2fagents",
        "/problems/nonsense",
        "/api/agents;a=b",
        &format!("/api/agents%2f{id}"),
        &format!("/api/agents/{id}/"),
        &format!("/api/agents/{id}/nothing"),
    ] {
        let response = raw::answer(api.address, head(&api, &format!("GET {path}"), "")).await;
        response.problem(ProblemCode::RouteNotFound);
        let anonymous = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        let response = raw::answer(api.address, anonymous).await;
        assert!(
            matches!(response.status, 401 | 404),
            "{path}: {}",
            response.text()
        );
    }
    for path in [
        "/api/agents/..",
        "/api/agents/%2f",
        "/api/agents/..%2fengines",
        "/api/agents/%00",
        "/api/agents/' or '1'='1",
        &format!("/api/agents/{}", id.to_uppercase()),
        &format!("/api/agents/{}", id.replace('-', "")),
        &format!("/api/agents/{{{id}}}"),
    ] {
        let path = path.replace(' ', "%20");
        let response = raw::answer(api.address, head(&api, &format!("GET {path}"), "")).await;
        response.problem(ProblemCode::AgentNotFound);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn query_text_is_never_interpreted() {
    let api = ApiServer::start().await;
    api.agent_id().await;
    for text in [
        "%25",
        "_",
        "%27%3B+drop+table+agents%3B--",
        "%5C",
        "%EF%BF%BD",
        "a%26b%3Dc",
    ] {
        let page = api
            .reader()
            .get(&format!("/api/agents?name={text}"))
            .await
            .ok();
        assert_eq!(page["data"], json!([]), "{text}");
    }
    let garbled = api.reader().get("/api/agents?name=%FF").await;
    assert_eq!(
        garbled.faults(),
        [("name".to_owned(), "bad_character".to_owned())]
    );
    let duplicate = api.reader().get("/api/agents?limit=1&limit=1").await;
    assert_eq!(
        duplicate.faults(),
        [("limit".to_owned(), "duplicate_member".to_owned())]
    );
    let page: Value = api.reader().get("/api/agents?&").await.ok();
    assert_eq!(page["data"].as_array().map(Vec::len), Some(1));
    api.stop().await;
}
