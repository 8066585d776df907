//! R1 and R2: the times of operations at the published distances, of a client in each region.

use std::time::Duration;

use anyhow::Result;
use dev_load::{
    figures::{Figure, Part, Target},
    latencies::Latencies,
};
use tokio::task::JoinSet;

use super::{
    client::Client,
    laboratory::Laboratory,
    numbers::milliseconds,
    operation::{self, Budget},
    region::Region,
    workload::Workload,
};

/// The number of calls of an operation: two of them may be slower than the 95th percentile.
const CALLS: usize = 40;

/// The 95th percentiles of all operations in a region, in milliseconds.
struct Measured {
    region: Region,
    percentiles: Vec<(&'static str, f64)>,
}

/// Measures all operations with this budget, in all regions at once.
pub(crate) async fn measure(laboratory: &Laboratory, budget: Budget) -> Result<Vec<Figure>> {
    let mut clients = JoinSet::new();
    let home = laboratory.endpoint(Region::HOME)?;
    for (number, region) in Region::all().enumerate() {
        let workload = Workload::create(&home).await?;
        let client = Client::new(&laboratory.endpoint(region)?, workload);
        clients.spawn(async move { anyhow::Ok((number, run(client, region, budget).await?)) });
    }
    let mut all = Vec::new();
    while let Some(ended) = clients.join_next().await {
        all.push(ended??);
    }
    all.sort_by_key(|(number, _)| *number);
    let figures = all.iter().map(|(_, measured)| measured.figure(budget));
    Ok(figures.collect())
}

async fn run(mut client: Client, region: Region, budget: Budget) -> Result<Measured> {
    let mut percentiles = Vec::new();
    for operation in operation::all() {
        if operation.budget != budget {
            continue;
        }
        let times = client.repeat(&operation, CALLS).await;
        let percentile = if times.is_empty() {
            f64::INFINITY
        } else {
            Latencies::new(times)?.percentile(95)
        };
        percentiles.push((operation.name, percentile));
    }
    Ok(Measured {
        region,
        percentiles,
    })
}

impl Measured {
    /// The greatest percentile of the region's operations.
    fn figure(&self, budget: Budget) -> Figure {
        let (round_trip, allowance) = budget.bound(self.region);
        let percentiles = self.percentiles.iter().map(|(_, percentile)| *percentile);
        let greatest = percentiles.fold(0.0, f64::max);
        let parts = self.percentiles.iter();
        let parts = parts.map(|(name, percentile)| Part::new(*name, *percentile, "ms"));
        let name = self.region.name();
        let work = match budget {
            Budget::Local => format!("{name}, slowest read, p95"),
            Budget::Home => format!("{name}, slowest operation at home, p95"),
        };
        let most = milliseconds(round_trip) + allowance;
        let id = budget.row();
        Figure::new(
            (id, work),
            Target::AtMost(most),
            greatest,
            "ms",
            parts.collect(),
        )
    }
}

impl Budget {
    /// The round trip of a client to the answering node, and the allowance in milliseconds.
    fn bound(self, region: Region) -> (Duration, f64) {
        match self {
            Self::Local => (region.to_node(), 25.0),
            Self::Home => (region.to_home(), 40.0),
        }
    }
}
