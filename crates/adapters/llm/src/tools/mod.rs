//! Tools: which are offered, how calls are put together, judged, carried out and told.

mod call;
mod calls_made;
mod names;
mod numbers;
mod schemas;
mod toolbox;

pub(crate) use call::{Carried, Judged, carry_out};
pub(crate) use calls_made::{Call, CallsMade};
pub(crate) use schemas::Schemas;
pub(crate) use toolbox::Toolbox;
