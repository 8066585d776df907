//! `cargo xtask arrows`: fails on a dependency between crates that the architecture forbids.
//!
//! [`table`] is the architecture; [`manifests`] and [`source`] find the dependencies.

mod manifests;
mod source;
mod table;
mod test_code;
mod tokens;

use anyhow::{Result, bail};

/// Compares the workspace with the table.
pub(crate) fn run() -> Result<()> {
    let packages = manifests::packages()?;
    let mut faults = Vec::new();
    for package in &packages {
        faults.extend(manifests::faults(package));
        faults.extend(source::faults(package, &packages)?);
    }
    if faults.is_empty() {
        println!("{} crates follow the architecture", packages.len());
        return Ok(());
    }
    bail!("{} forbidden\n  {}", faults.len(), faults.join("\n  "))
}
