//! Pipelined requests (RFC 9112, 9.3.2).

use serde_json::json;

use crate::{api_server::ApiServer, raw::Connection};

/// More than the HTTP library reads at once.
const MANY: usize = 2_000;

/// The ids of the requests, in the order of the responses.
fn answered(received: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(received);
    let ids = text
        .lines()
        .filter_map(|line| line.strip_prefix("x-request-id: "));
    ids.map(ToOwned::to_owned).collect()
}

/// Sends everything at once, and returns what the server sent until it closed the connection.
async fn sent_at_once(api: &ApiServer, requests: &str) -> Vec<u8> {
    let mut connection = Connection::open(api.address).await;
    connection.send(requests).await;
    connection.receive_all().await
}

#[tokio::test(flavor = "multi_thread")]
async fn all_are_answered_in_order() {
    let api = ApiServer::start().await;
    let writer = api.writer();
    let mut requests = String::new();
    let mut ids = Vec::new();
    for number in 0..MANY {
        let id = format!("request-{number}");
        let head = format!("HTTP/1.1\r\nHost: test\r\nX-Request-Id: {id}\r\n");
        let request = match number % 100 {
            // A body of unannounced length.
            99 => format!(
                "POST /api/agents {head}X-API-Key: {}\r\nContent-Type: application/json\r\n\
                 Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
                writer.key()
            ),
            _ => format!("GET /livez {head}\r\n"),
        };
        requests += &request;
        ids.push(id);
    }
    requests +=
        "GET /livez HTTP/1.1\r\nHost: test\r\nX-Request-Id: last\r\nConnection: close\r\n\r\n";
    ids.push("last".to_owned());
    let received = sent_at_once(&api, &requests).await;
    let answered = answered(&received);
    assert!(
        answered == ids,
        "{} of {} are answered",
        answered.len(),
        ids.len()
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_after_a_chat_are_answered_after_it() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let writer = api.writer();
    let key = writer.key();
    let chat = |accept: &str, id: &str| {
        let body = json!({"agentId": agent, "message": "hello"}).to_string();
        let length = body.len();
        format!(
            "POST /api/chat HTTP/1.1\r\nHost: test\r\nX-API-Key: {key}\r\n\
             Accept: {accept}\r\nX-Request-Id: {id}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
    };
    let requests = [
        chat("text/event-stream", "streamed"),
        chat("application/json", "whole"),
        "GET /livez HTTP/1.1\r\nHost: test\r\nX-Request-Id: last\r\nConnection: close\r\n\r\n"
            .to_owned(),
    ];
    let received = sent_at_once(&api, &requests.concat()).await;
    assert_eq!(answered(&received), ["streamed", "whole", "last"]);
    let text = String::from_utf8_lossy(&received);
    assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 3, "{text}");
    api.stop().await;
}
