//! N5: a key is revoked on one node while clients use it on another.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dev_load::{
    Credential,
    http::{ApiClient, Method, ResponseStream, send},
    socket::{Frame, Socket},
};
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::{bus::Bus, pair::Pair};
use crate::{environment::Environment, event_stream::EventStream, report::Report};

/// The number of revoked keys.
const KEYS: usize = 20;
/// The longest that is waited for the end of a socket or a stream.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Revokes keys on one node, and measures when sockets and event streams on the other end.
pub(crate) async fn run(environment: &Environment, bus: Bus, with_bus: bool) -> Result<Report> {
    let (name, cut, most) = if with_bus {
        ("nodes_revoke", "", 1.0)
    } else {
        ("nodes_revoke_without", ", all signals cut", 2.0)
    };
    let done = format!("{KEYS} keys revoked on another node{cut}");
    let mut report = Report::new("N5", bus.describe(done));
    report.expect_no(&["not closed", "still admitted", "another bus"]);
    let pair = Pair::start(environment, bus, name).await?;
    if !with_bus {
        pair.cut_signals().await?;
    }
    let (mut slowest_socket, mut slowest_stream) = (Duration::ZERO, Duration::ZERO);
    for number in 0..KEYS {
        let (socket, stream) = revoke(number, &pair, &mut report).await?;
        slowest_socket = slowest_socket.max(socket);
        slowest_stream = slowest_stream.max(stream);
        report.count("keys revoked", 1);
    }
    if pair.has_bus().await? != with_bus {
        report.record_loss("another bus", || "the bus was cut or restored".to_owned());
    }
    for (what, slowest) in [
        ("slowest end of a socket", slowest_socket),
        ("slowest end of an event stream", slowest_stream),
    ] {
        report.add_bounded(what, slowest.as_secs_f64(), "s", most);
    }
    Ok(report)
}

/// Revokes a key of its own, and returns the time until a socket and an event stream ended.
async fn revoke(number: usize, pair: &Pair, report: &mut Report) -> Result<(Duration, Duration)> {
    let client = ApiClient::new(&pair.one);
    let draft = json!({
        "name": format!("key {number}"),
        "scopes": ["events:read", "conversations:read"],
    });
    let key = client.call(Method::POST, "/api/keys", Some(&draft)).await?;
    let secret = key["secret"].as_str().context("no secret")?.to_owned();
    let id = key["id"].as_str().context("no id")?;
    let user = pair.other.with_credential(Credential::Key(secret));
    let mut socket = Socket::open(&user).await?;
    let connect = json!({"id": 1, "type": "connect", "channels": ["tenant"]});
    socket.command(&connect).await?;
    let request = user.http(Method::GET, "/api/events");
    let request = request.header("Accept", "text/event-stream");
    let stream = ResponseStream::open(request).await?;
    ensure!(stream.status == 200, "a stream returned {}", stream.status);
    let mut stream = EventStream::new(stream);
    client
        .call(Method::DELETE, &format!("/api/keys/{id}"), None)
        .await?;
    let revoked_at = Instant::now();
    let socket_ended = timeout(TIMEOUT, async {
        while let Ok(Frame::Text(_)) = socket.next().await {}
        revoked_at.elapsed()
    });
    let stream_ended = timeout(TIMEOUT, async {
        while let Ok(Some(_)) = stream.next().await {}
        revoked_at.elapsed()
    });
    let ended = tokio::join!(socket_ended, stream_ended);
    let response = send(user.http(Method::GET, "/api/events"), TIMEOUT).await?;
    if response.status != 401 {
        report.record_loss("still admitted", || format!("status {}", response.status));
    }
    for (what, is_open) in [("socket", ended.0.is_err()), ("stream", ended.1.is_err())] {
        if is_open {
            report.record_loss("not closed", || format!("the {what} of key {number}"));
        }
    }
    Ok((ended.0.unwrap_or(TIMEOUT), ended.1.unwrap_or(TIMEOUT)))
}
