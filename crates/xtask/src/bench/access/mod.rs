//! A1 to A6: what it costs to let the right ones in, and to keep the others out.

mod issuer;
mod measure;
mod reading;
mod refusing;

pub(super) use self::{issuer::Issuer, measure::measure};
