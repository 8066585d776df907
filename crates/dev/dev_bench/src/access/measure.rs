//! All rows of access control.

use anyhow::Result;
use dev_tools::steps::Steps;

use super::{authenticated_reads, rejections};
use crate::{environment::Environment, figures::Figure, workload::Workload};

/// Measures all rows on the service of `workload`.
pub(crate) fn measure(
    environment: &Environment,
    workload: &Workload,
    steps: &mut Steps,
) -> Result<Vec<Figure>> {
    let mut figures = steps.run("A1 to A4", || {
        authenticated_reads::measure(environment, workload)
    })?;
    figures.extend(steps.run("A5", || rejections::cost(environment, workload))?);
    figures.push(steps.run("A6", || rejections::effect_on_others(environment, workload))?);
    Ok(figures)
}
