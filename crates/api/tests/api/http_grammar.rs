//! What is a request and what is none (RFC 9112), byte for byte: where a proxy and a server
//! disagree about that, one caller's request becomes a part of another's.

use crate::{harness::Api, raw::Connection};

/// What must happen to the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// They are a request, and answered with this status.
    Answered(u16),
    /// They are none: a 4xx or 5xx and an end, or the end alone.
    Refused,
}
use Fate::{Answered, Refused};

const CASES: &[(&str, &str, Fate)] = &[
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
    ("no target", "GET HTTP/1.1\r\nHost: a\r\n\r\n", Refused),
    ("no version", "GET /livez\r\nHost: a\r\n\r\n", Refused),
    (
        "an unknown version",
        "GET /livez HTTP/3.7\r\nHost: a\r\n\r\n",
        Refused,
    ),
    (
        "a version of another protocol",
        "GET /livez HTTPS/1.1\r\nHost: a\r\n\r\n",
        Refused,
    ),
    (
        "a header without a colon",
        "GET /livez HTTP/1.1\r\nHost: a\r\nAccept\r\n\r\n",
        Refused,
    ),
    (
        "a space before the colon",
        "GET /livez HTTP/1.1\r\nHost : a\r\n\r\n",
        Refused,
    ),
    (
        "a space in a header's name",
        "GET /livez HTTP/1.1\r\nHost: a\r\nX Y: b\r\n\r\n",
        Refused,
    ),
    (
        "brackets in a header's name",
        "GET /livez HTTP/1.1\r\nHost: a\r\nX[]: b\r\n\r\n",
        Refused,
    ),
    (
        "an empty header name",
        "GET /livez HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n",
        Refused,
    ),
    (
        "an empty header value",
        "GET /livez HTTP/1.1\r\nHost: a\r\nX-Y:\r\n\r\n",
        Answered(200),
    ),
    (
        "NUL in a value",
        "GET /livez HTTP/1.1\r\nHost: a\r\nX-Y: b\0c\r\n\r\n",
        Refused,
    ),
    (
        "a bare CR in a value",
        "GET /livez HTTP/1.1\r\nHost: a\r\nX-Y: b\rc\r\n\r\n",
        Refused,
    ),
    (
        "a folded header",
        "GET /livez HTTP/1.1\r\nHost: a\r\nX-Y: b\r\n c\r\n\r\n",
        Refused,
    ),
    (
        "a length that is no number",
        "POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
        Refused,
    ),
    (
        "a negative length",
        "POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        Refused,
    ),
    (
        "a length beyond all numbers",
        "POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
        Refused,
    ),
    (
        "a hexadecimal length",
        "POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\na",
        Refused,
    ),
    (
        "two lengths",
        "POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        Refused,
    ),
    (
        "two lengths in one",
        "POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 2\r\n\r\nab",
        Refused,
    ),
    (
        "length and chunks",
        "POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        Refused,
    ),
    (
        "chunks under another name",
        "POST /livez HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        Refused,
    ),
    (
        "chunks twice",
        "POST /livez HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        Refused,
    ),
    (
        "something after chunks",
        "POST /livez HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        Refused,
    ),
    (
        "chunks in HTTP/1.0",
        "POST /livez HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        Refused,
    ),
    (
        "the opening of HTTP/2",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        Refused,
    ),
];

/// The statuses of everything that comes back on one connection.
async fn statuses(api: &Api, request: &[u8]) -> Vec<u16> {
    let mut connection = Connection::open(api.address).await;
    connection.send(request).await;
    // What was asked is still answered, and then the connection ends.
    connection.end().await;
    let received = connection.receive_all().await;
    let text = String::from_utf8_lossy(&received).into_owned();
    // Details of problems name the protocol too; no status follows there.
    let lines = text.match_indices("HTTP/1.").filter_map(|(at, name)| {
        let status = text.get(at + name.len() + 2..)?.get(..3)?;
        status.parse().ok()
    });
    lines.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_a_request_is_answered_and_what_is_none_is_not() {
    let api = Api::start().await;
    for (name, request, fate) in CASES {
        let statuses = statuses(&api, request.as_bytes()).await;
        match fate {
            Answered(status) => assert_eq!(statuses, [*status], "{name}"),
            Refused => assert!(
                statuses.len() <= 1 && statuses.iter().all(|status| (400..600).contains(status)),
                "{name}: {statuses:?}"
            ),
        }
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_body_is_taken_for_a_request() {
    let api = Api::start().await;
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
async fn requests_in_pieces_and_in_a_row_are_all_answered() {
    let api = Api::start().await;
    let request = b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut connection = Connection::open(api.address).await;
    for piece in request.chunks(3) {
        connection.send(piece).await;
        tokio::task::yield_now().await;
    }
    let answer = connection.receive().await;
    assert!(
        answer.starts_with(b"HTTP/1.1 200"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
    assert_eq!(statuses(&api, &request.repeat(5)).await, [200; 5]);
    api.stop().await;
}
