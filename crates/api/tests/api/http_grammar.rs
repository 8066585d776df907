//! Valid and invalid requests (RFC 9112), byte for byte: if a proxy and a server disagree, a part
//! of one caller's request becomes another request.

use crate::{api_server::ApiServer, raw::Connection};

/// The expected handling of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// A valid request with this status.
    Answered(u16),
    /// An invalid request: a 4xx or 5xx and a close, or only a close.
    Rejected,
}
use Expected::{Answered, Rejected};

const CASES: &[(&str, &str, Expected)] = &[
    (
        "a plain request",
        "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n",
        Answered(200),
    ),
    (
        "a host with a port",
        "GET /livez HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
        Answered(200),
    ),
    (
        "HTTP/1.0 needs no host",
        "GET /livez HTTP/1.0\r\n\r\n",
        Answered(200),
    ),
    ("no host", "GET /livez HTTP/1.1\r\n\r\n", Answered(400)),
    (
        "two hosts",
        "GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        Answered(400),
    ),
    (
        "a host that is none",
        "GET /livez HTTP/1.1\r\nHost: a/b c\r\n\r\n",
        Answered(400),
    ),
    ("no target", "GET HTTP/1.1\r\nHost: a\r\n\r\n", Rejected),
    ("no version", "GET /livez\r\nHost: a\r\n\r\n", Rejected),
    (
        "an unknown version",
        "GET /livez HTTP/3.7\r\nHost: a\r\n\r\n",
        Rejected,
    ),
    (
        "a version of another protocol",
        "GET /livez HTTPS/1.1\r\nHost: a\r\n\r\n",
        Rejected,
    ),
    (
        "a header without a colon",
        "GET /livez HTTP/1.1\r\nHost: a\r\nAccept\r\n\r\n",
        Rejected,
    ),
    (
        "a space before the colon",
        "GET /livez HTTP/1.1\r\nHost : a\r\n\r\n",
        Rejected,
    ),
    (
        "a space in a header's name",
        "GET /livez HTTP/1.1\r\nHost: a\r\nX Y: b\r\n\r\n",
        Rejected,
    ),
    (
        "brackets in a header's name",
        "GET /livez HTTP/1.1\r\nHost: a\r\nX[]: b\r\n\r\n",
        Rejected,
    ),
    (
        "an empty header name",
        "GET /livez HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n",
        Rejected,
    ),
    (
        "an empty header value",
        "GET /livez HTTP/1.1\r\nHost: a\r\nX-Y:\r\n\r\n",
        Answered(200),
    ),
    (
        "NUL in a value",
        "GET /livez HTTP/1.1\r\nHost: a\r\nX-Y: b\0c\r\n\r\n",
        Rejected,
    ),
    (
        "a bare CR in a value",
        "GET /livez HTTP/1.1\r\nHost: a\r\nX-Y: b\rc\r\n\r\n",
        Rejected,
    ),
    (
        "a folded header",
        "GET /livez HTTP/1.1\r\nHost: a\r\nX-Y: b\r\n c\r\n\r\n",
        Rejected,
    ),
    (
        "a length that is no number",
        "POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
        Rejected,
    ),
    (
        "a negative length",
        "POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        Rejected,
    ),
    (
        "a length beyond all numbers",
        "POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
        Rejected,
    ),
    (
        "a hexadecimal length",
        "POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\na",
        Rejected,
    ),
    (
        "two lengths",
        "POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        Rejected,
    ),
    (
        "two lengths in one",
        "POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 2\r\n\r\nab",
        Rejected,
    ),
    (
        "length and chunks",
        "POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        Rejected,
    ),
    (
        "chunks under another name",
        "POST /livez HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        Rejected,
    ),
    (
        "chunks twice",
        "POST /livez HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        Rejected,
    ),
    (
        "something after chunks",
        "POST /livez HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        Rejected,
    ),
    (
        "chunks in HTTP/1.0",
        "POST /livez HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        Rejected,
    ),
    (
        "the opening of HTTP/2",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        Rejected,
    ),
];

/// The statuses of all responses on one connection.
async fn statuses(api: &ApiServer, request: &[u8]) -> Vec<u16> {
    let mut connection = Connection::open(api.address).await;
    connection.send(request).await;
    // The valid request is answered, and then the connection is closed.
    connection.end().await;
    let received = connection.receive_all().await;
    let text = String::from_utf8_lossy(&received).into_owned();
    // Details of problems contain `HTTP/1.1` too, without a status.
    let lines = text.match_indices("HTTP/1.").filter_map(|(at, name)| {
        let status = text.get(at + name.len() + 2..)?.get(..3)?;
        status.parse().ok()
    });
    lines.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn valid_requests_are_answered_and_invalid_ones_rejected() {
    let api = ApiServer::start().await;
    for (name, request, fate) in CASES {
        let statuses = statuses(&api, request.as_bytes()).await;
        match fate {
            Answered(status) => assert_eq!(statuses, [*status], "{name}"),
            Rejected => assert!(
                statuses.len() <= 1 && statuses.iter().all(|status| (400..600).contains(status)),
                "{name}: {statuses:?}"
            ),
        }
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_is_never_parsed_as_a_request() {
    let api = ApiServer::start().await;
    let hidden = "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n";
    let chunk = |size: &str| {
        format!(
            "POST /api/nothing HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
             {size}\r\n{hidden}\r\n0\r\n\r\n"
        )
    };
    let length = |value: &str| {
        format!("POST /api/nothing HTTP/1.1\r\nHost: a\r\nContent-Length: {value}\r\n\r\n{hidden}")
    };
    let whole = hidden.len();
    for request in [
        chunk(&format!("{whole:x}")),
        chunk(&format!("{whole:x};name=value")),
        chunk(&format!("0{whole:X}")),
        chunk("ffffffffffffffff0"),
        chunk("-1"),
        chunk(" 5"),
        chunk("0x2a"),
        length(&whole.to_string()),
        length(&format!("0{whole}")),
    ] {
        let statuses = statuses(&api, request.as_bytes()).await;
        assert!(!statuses.contains(&200), "{request}: {statuses:?}");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fragmented_and_pipelined_requests_are_all_answered() {
    let api = ApiServer::start().await;
    let request = b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut connection = Connection::open(api.address).await;
    for piece in request.chunks(3) {
        connection.send(piece).await;
        tokio::task::yield_now().await;
    }
    let response = connection.receive().await;
    assert!(
        response.starts_with(b"HTTP/1.1 200"),
        "{}",
        String::from_utf8_lossy(&response)
    );
    assert_eq!(statuses(&api, &request.repeat(5)).await, [200; 5]);
    api.stop().await;
}
