//! R6: round trips to the home region until a socket is ready, and until a client that was offline
//! has all events.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dev_load::{
    Endpoint,
    client_view::ClientView,
    figures::{Figure, Target},
    http::{ApiClient, Method},
    socket::Socket,
};
use serde_json::json;
use tokio::time::{Instant, interval, timeout};

use super::{
    client::TIMEOUT,
    laboratory::Laboratory,
    operation::{Budget, new_name},
    region::Region,
    slopes::{ROUND_TRIPS, Slope},
    workload::{Workload, text},
};

/// The number of sockets of each kind, with each round trip.
const SOCKETS: usize = 15;
/// The time for which a client is offline.
const OFFLINE: Duration = Duration::from_secs(30);
/// The number of events meanwhile.
const MISSED: u32 = 100;

/// Measures sockets of clients in Frankfurt.
pub(crate) async fn measure(laboratory: &Laboratory) -> Result<(Vec<Slope>, Vec<Figure>)> {
    let endpoint = laboratory.endpoint(Region::Frankfurt)?;
    let since = miss_events(laboratory).await?;
    let end = since + i64::from(MISSED);
    let mut key = Slope::new("socket with a key", Budget::Local);
    let mut ticket = Slope::new("socket with a ticket", Budget::Home);
    let mut resume = Slope::new("resumption with 100 events", Budget::Local);
    for round_trip in ROUND_TRIPS.map(Duration::from_millis) {
        laboratory
            .far(Region::Frankfurt)?
            .set_round_trip(round_trip);
        let (mut by_key, mut by_ticket, mut resumed) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..=SOCKETS {
            let times = (
                open_with_key(&endpoint).await?,
                open_with_ticket(&endpoint).await?,
                resume_after(&endpoint, since, end).await?,
            );
            // The first ones are a warm-up.
            if number > 0 {
                by_key.push(times.0);
                by_ticket.push(times.1);
                resumed.push(times.2);
            }
        }
        key.add(round_trip, by_key);
        ticket.add(round_trip, by_ticket);
        resume.add(round_trip, resumed);
    }
    // A slope of exactly one has noise to both sides.
    let figures = vec![
        key.figure("R6", Target::AtMost(0.05)),
        ticket.figure("R6", Target::AtMost(1.05)),
        resume.figure("R6", Target::AtMost(1.05)),
    ];
    Ok((vec![key, ticket, resume], figures))
}

/// Connects a client, and writes events while it is offline; returns its position.
async fn miss_events(laboratory: &Laboratory) -> Result<i64> {
    let home = laboratory.endpoint(Region::HOME)?;
    let workload = Workload::create(&home).await?;
    let client = ApiClient::new(&home);
    let page = client.call(Method::GET, "/api/events", None).await?;
    let since = page["headSeq"].as_i64().context("no headSeq")?;
    let mut writes = interval(OFFLINE / MISSED);
    for _ in 0..MISSED {
        writes.tick().await;
        let change = json!({ "name": new_name() });
        client
            .call(Method::PATCH, &workload.agent_path(), Some(&change))
            .await?;
    }
    Ok(since)
}

async fn open_with_key(endpoint: &Endpoint) -> Result<Duration> {
    let started = Instant::now();
    let mut socket = Socket::open(endpoint).await?;
    connect(&mut socket).await?;
    Ok(started.elapsed())
}

async fn open_with_ticket(endpoint: &Endpoint) -> Result<Duration> {
    let client = ApiClient::new(endpoint);
    let ticket = client.call(Method::POST, "/api/ws/tickets", None).await?;
    let started = Instant::now();
    let mut socket = Socket::open_with_ticket(endpoint.address, text(&ticket, "ticket")?).await?;
    connect(&mut socket).await?;
    Ok(started.elapsed())
}

async fn connect(socket: &mut Socket) -> Result<()> {
    let connect = json!({ "id": 1, "type": "connect", "channels": ["tenant"] });
    socket.command(&connect).await?;
    Ok(())
}

/// Resumes at `since`, and returns the time until the client has all events.
async fn resume_after(endpoint: &Endpoint, since: i64, end: i64) -> Result<Duration> {
    let mut view = ClientView {
        cursor: since,
        ..ClientView::default()
    };
    let started = Instant::now();
    let mut socket = view.connect(endpoint).await?;
    let all = timeout(TIMEOUT, view.read(&mut socket, end)).await;
    all.context("events are missing")??;
    let violation = view.violations.first();
    ensure!(
        violation.is_none(),
        "a socket violated the protocol: {violation:?}"
    );
    Ok(started.elapsed())
}
