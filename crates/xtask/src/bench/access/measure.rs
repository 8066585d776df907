//! All rows of access.

use anyhow::Result;

use super::{reading, refusing};
use crate::{
    bench::{figures::Figure, stage::Stage, talk::Talk},
    steps::Steps,
};

/// Measures all of them on the service of `talk`.
pub(crate) fn measure(stage: &Stage, talk: &Talk, steps: &mut Steps) -> Result<Vec<Figure>> {
    let mut figures = steps.take("A1 to A4", || reading::measure(stage, talk))?;
    figures.extend(steps.take("A5", || refusing::cost(stage, talk))?);
    figures.push(steps.take("A6", || refusing::others(stage, talk))?);
    Ok(figures)
}
