//! R2: large writes over a link that loses packets.

use anyhow::{Context as _, Result};
use dev_load::{
    figures::{Figure, Part, Target},
    latencies::Latencies,
};

use super::{
    client::Client,
    laboratory::Laboratory,
    numbers::milliseconds,
    operation::{self, LARGE_WRITE},
    region::Region,
    workload::Workload,
};

/// One of so many packets is lost: 0.5 %, which is about one packet of each body.
const LOST: u32 = 200;
const CALLS: usize = 60;
/// The round trips of a call: one, and one for a lost packet of each direction, since the response
/// repeats the agent.
const ROUND_TRIPS: f64 = 3.0;
/// The time in addition, in milliseconds.
const ALLOWANCE: f64 = 40.0;

/// Measures large writes of a client in Tokyo.
pub(crate) async fn measure(laboratory: &Laboratory) -> Result<Figure> {
    let workload = Workload::create(&laboratory.endpoint(Region::HOME)?).await?;
    let mut client = Client::new(&laboratory.endpoint(Region::Tokyo)?, workload);
    let operations = operation::all();
    let mut operations = operations.iter();
    let operation = operations.find(|operation| operation.name == LARGE_WRITE);
    let operation = operation.context("no large write")?;
    let link = &laboratory.far(Region::Tokyo)?.to_home;
    client.run(operation).await?;
    link.lose_one_of(LOST);
    let mut times = Vec::new();
    for _ in 0..CALLS {
        times.push(client.run(operation).await?);
    }
    let latencies = Latencies::new(times)?;
    let most = ROUND_TRIPS * milliseconds(Region::Tokyo.to_home()) + ALLOWANCE;
    let median = Part::new("median", latencies.percentile(50), "ms");
    let work = format!("Tokyo, {LARGE_WRITE}, 0.5 % of packets lost, p95");
    Ok(Figure::new(
        ("R2", work),
        Target::AtMost(most),
        latencies.percentile(95),
        "ms",
        vec![median],
    ))
}
