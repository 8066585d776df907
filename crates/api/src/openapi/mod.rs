//! The OpenAPI document.

mod complete;
mod component;
mod config_body;
mod constraints;
mod merge_patch;
mod sizes;
#[cfg(test)]
pub(crate) mod tests;

pub use complete::complete;
pub use component::Missing;
pub use config_body::AGENT_MEMBERS;
