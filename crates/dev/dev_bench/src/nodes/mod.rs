//! N2, N3: what one node does, as a client of another node sees it.

mod bus;
mod commits;
mod delivery;
mod pair;
mod replies;

use anyhow::Result;
use dev_tools::steps::Steps;

use super::{Row, environment::Environment, figures::Figure};

pub(super) use self::{bus::Bus, pair::NodePair};

/// Measures the requested rows over each bus.
pub(super) fn measure(
    environment: &Environment,
    steps: &mut Steps,
    buses: &[Bus],
    wanted: impl Fn(Row) -> bool,
) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for bus in buses {
        if wanted(Row::N2) {
            figures.extend(steps.run("N2", || {
                let mut figures = delivery::measure(environment, bus)?;
                figures.push(commits::measure(environment, bus)?);
                Ok(figures)
            })?);
        }
        if wanted(Row::N3) {
            figures.extend(steps.run("N3", || replies::measure(environment, bus))?);
        }
    }
    Ok(figures)
}
