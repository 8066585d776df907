//! `cargo xtask arrows`: fails on a dependency between crates that the architecture forbids.
//!
//! [`table`] is the architecture; [`manifests`] declare the dependencies.

mod manifests;
mod table;

use anyhow::{Result, bail};

/// Compares the workspace with the table.
pub(crate) fn run() -> Result<()> {
    let packages = manifests::packages()?;
    let faults: Vec<String> = packages.iter().flat_map(manifests::faults).collect();
    if faults.is_empty() {
        println!("{} crates follow the architecture", packages.len());
        return Ok(());
    }
    bail!("{} forbidden\n  {}", faults.len(), faults.join("\n  "))
}
