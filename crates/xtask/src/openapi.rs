//! `cargo xtask openapi`: the committed snapshots of the documents that the service publishes.

use std::fs;

use anyhow::{Context as _, Result};

use dev_tools::process::{cargo, output, root};

/// The subcommand and the snapshot of each document.
const DOCUMENTS: [(&str, &str); 2] = [("openapi", "openapi.json"), ("asyncapi", "asyncapi.json")];

/// Writes the snapshots. Tests of the service compare them with its documents.
pub(crate) fn run() -> Result<()> {
    for (command, snapshot) in DOCUMENTS {
        fs::write(root().join(snapshot), document(command)?)
            .with_context(|| format!("cannot write {snapshot}"))?;
        println!("wrote {snapshot}");
    }
    Ok(())
}

/// Returns a document of the service, ending in one line break.
fn document(command: &str) -> Result<String> {
    let mut run = cargo([
        "run",
        "--locked",
        "--quiet",
        "--package",
        "api",
        "--",
        command,
    ]);
    let printed = output(&mut run)?;
    serde_json::from_str::<serde_json::Value>(&printed)
        .with_context(|| format!("`agent-service {command}` printed no JSON document"))?;
    Ok(format!("{}\n", printed.trim_end()))
}
