//! A1 to A6: the cost of authentication, and of rejected requests.

mod authenticated_reads;
mod issuer;
mod measure;
mod rejections;

pub(super) use self::{issuer::Issuer, measure::measure};
