//! R1 and R2: the number of round trips to the home region that an operation takes, found from
//! outside: the slope of its time over the round trip.

use std::time::Duration;

use anyhow::Result;
use dev_load::{
    figures::{Figure, Part, Target},
    latencies::median,
};

use super::{
    client::Client,
    laboratory::Laboratory,
    line::Line,
    numbers::milliseconds,
    operation::{self, Budget, Operation},
    region::Region,
    workload::Workload,
};

/// The round trips between Frankfurt and the home region, in milliseconds.
pub(crate) const ROUND_TRIPS: [u64; 3] = [0, 80, 160];
/// The times of an operation at several distances.
pub(crate) struct Slope {
    pub(crate) name: &'static str,
    pub(crate) budget: Budget,
    /// Round trips and medians, in milliseconds.
    pub(crate) points: Vec<(f64, f64)>,
}

impl Slope {
    /// Returns an operation without points.
    pub(crate) const fn new(name: &'static str, budget: Budget) -> Self {
        Self {
            name,
            budget,
            points: Vec::new(),
        }
    }

    /// Adds the median of `times` at a round trip; infinite if they cannot be measured.
    pub(crate) fn add(&mut self, round_trip: Duration, times: Vec<Duration>) {
        let times: Vec<_> = times.into_iter().map(milliseconds).collect();
        let time = if times.is_empty() {
            f64::INFINITY
        } else {
            median(times)
        };
        self.points.push((milliseconds(round_trip), time));
    }

    /// The figure of the slope.
    pub(crate) fn figure(&self, id: &'static str, target: Target) -> Figure {
        let mut slope = Line::through(&self.points).slope;
        if !slope.is_finite() {
            // Not a number meets no target, but JSON has none.
            slope = f64::INFINITY;
        }
        let part = |(round_trip, time): &(f64, f64)| {
            Part::new(format!("median at {round_trip:.0} ms"), *time, "ms")
        };
        let work = format!("{}, WAN slope", self.name);
        let parts = self.points.iter().map(part).collect();
        Figure::new((id, work), target, slope, "RTT", parts)
    }
}

/// Measures the slopes of all operations with this budget, of a client in Frankfurt.
pub(crate) async fn measure(laboratory: &Laboratory, budget: Budget) -> Result<Vec<Slope>> {
    let endpoint = laboratory.endpoint(Region::Frankfurt)?;
    let workload = Workload::create(&laboratory.endpoint(Region::HOME)?).await?;
    let mut client = Client::new(&endpoint, workload);
    let operations: Vec<Operation> = operation::all();
    let mut measured: Vec<_> = operations
        .iter()
        .filter(|operation| operation.budget == budget)
        .map(|operation| (operation, Slope::new(operation.name, budget)))
        .collect();
    for round_trip in ROUND_TRIPS.map(Duration::from_millis) {
        laboratory
            .far(Region::Frankfurt)?
            .set_round_trip(round_trip);
        for (operation, slope) in &mut measured {
            let times = client.repeat(operation, budget.samples()).await;
            slope.add(round_trip, times);
        }
    }
    Ok(measured.into_iter().map(|(_, slope)| slope).collect())
}

impl Budget {
    /// The number of calls of an operation.
    pub(crate) const fn samples(self) -> usize {
        match self {
            Self::Local => 100,
            Self::Home => 20,
        }
    }

    /// The row of the table.
    pub(crate) const fn row(self) -> &'static str {
        match self {
            Self::Local => "R1",
            Self::Home => "R2",
        }
    }

    /// The target of the slope.
    pub(crate) const fn target(self) -> Target {
        match self {
            Self::Local => Target::AtMost(0.05),
            Self::Home => Target::Between(0.95, 1.10),
        }
    }
}
