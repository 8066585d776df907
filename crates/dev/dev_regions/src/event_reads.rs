//! R4: clients receive an event on a socket, and read its resource with its position, in the same
//! region or in another one.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result, bail};
use dev_load::{
    figures::{Figure, Target},
    http::{ApiClient, Method},
    socket::{self, Frame, Socket},
};
use serde_json::{Value, json};
use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{Instant, timeout},
};

use super::{
    client::request,
    laboratory::Laboratory,
    numbers::count,
    operation::new_name,
    region::Region,
    workload::{Workload, text},
};

/// The number of events.
const EVENTS: usize = 10_000;
/// The number of events that are written and not yet read.
const CONCURRENT: usize = 64;
/// The number of clients that write.
const WRITERS: usize = 16;
/// The delay of replication to Sydney, in addition to the distance.
const LAG: Duration = Duration::from_millis(300);
/// The longest that all events may take.
const TIMEOUT: Duration = Duration::from_mins(3);

/// Writes at home, and reads in all far regions after events in Frankfurt.
pub(crate) async fn measure(laboratory: &Laboratory) -> Result<Vec<Figure>> {
    laboratory.far(Region::Sydney)?.replication.set_lag(LAG);
    let mut socket = Socket::open(&laboratory.endpoint(Region::Frankfurt)?).await?;
    let connect = json!({ "id": 1, "type": "connect", "channels": ["tenant"] });
    socket.command(&connect).await?;
    let clients = Region::FAR.into_iter().map(|region| {
        let endpoint = laboratory.endpoint(region)?;
        Ok(Arc::new(ApiClient::new(&endpoint)))
    });
    let clients = clients.collect::<Result<Vec<_>>>()?;
    let slots = Arc::new(Semaphore::new(CONCURRENT));
    let mut writers = write(laboratory, &slots).await?;
    let started = Instant::now();
    let written = async {
        while let Some(ended) = writers.join_next().await {
            ended??;
        }
        anyhow::Ok(())
    };
    let both = async { tokio::try_join!(read(&mut socket, &clients, &slots), written) };
    let both = timeout(TIMEOUT, both).await;
    let (stale, ()) = both.context("the events take too long")??;
    for detail in stale.iter().take(3) {
        println!("stale: {detail}");
    }
    let work = format!("stale reads after {EVENTS} events");
    let seconds = started.elapsed().as_secs_f64();
    println!("{EVENTS} events in {seconds:.0} s");
    let figure = Figure::new(
        ("R4", work),
        Target::AtMost(0.0),
        count(stale.len()),
        "",
        Vec::new(),
    );
    Ok(vec![figure])
}

/// Starts clients that change their agents as fast as the events are read.
async fn write(laboratory: &Laboratory, slots: &Arc<Semaphore>) -> Result<JoinSet<Result<()>>> {
    let home = laboratory.endpoint(Region::HOME)?;
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let workload = Workload::create(&home).await?;
        let (client, slots) = (ApiClient::new(&home), Arc::clone(slots));
        writers.spawn(async move {
            for _ in 0..EVENTS / WRITERS {
                slots.acquire().await?.forget();
                let change = json!({ "name": new_name() });
                let path = workload.agent_path();
                client.call(Method::PATCH, &path, Some(&change)).await?;
            }
            anyhow::Ok(())
        });
    }
    Ok(writers)
}

/// Reads the agent of each event; returns descriptions of stale reads.
async fn read(
    socket: &mut Socket,
    clients: &[Arc<ApiClient>],
    slots: &Arc<Semaphore>,
) -> Result<Vec<String>> {
    let mut reads = JoinSet::new();
    let mut received = 0;
    while received < EVENTS {
        let frame = match socket.next().await? {
            Frame::Text(frame) => socket::json(&frame)?,
            end => bail!("the server ended a socket: {end:?}"),
        };
        if frame["event"]["type"] != "agent.updated" {
            continue;
        }
        let client = Arc::clone(&clients[received % clients.len()]);
        received += 1;
        let slots = Arc::clone(slots);
        reads.spawn(async move {
            let stale = read_agent(&client, &frame["event"]).await;
            slots.add_permits(1);
            stale
        });
    }
    let mut stale = Vec::new();
    while let Some(ended) = reads.join_next().await {
        stale.extend(ended??);
    }
    Ok(stale)
}

/// Reads the agent of an event with its position; returns a description of a state before it.
async fn read_agent(client: &ApiClient, event: &Value) -> Result<Option<String>> {
    let agent = &event["data"]["agent"];
    let path = format!("/api/agents/{}", text(agent, "id")?);
    let position = event["seq"].to_string();
    let read = request(client, Method::GET, &path, None, Some(&position)).await?;
    let found = read.response.json();
    let is_stale = read.response.status != 200
        || found["version"].as_i64().context("no version")?
            < agent["version"].as_i64().context("no version")?;
    Ok(is_stale.then(|| format!("{found} after {agent}")))
}
