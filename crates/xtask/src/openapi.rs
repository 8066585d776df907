//! `cargo xtask openapi`: the committed snapshots of the documents that the service publishes.

use std::fs;

use anyhow::{Context as _, Result, bail};

use dev_tools::process::{cargo, output, root};

/// The subcommand and the snapshot of each document.
const DOCUMENTS: [(&str, &str); 2] = [("openapi", "openapi.json"), ("asyncapi", "asyncapi.json")];

/// Writes the snapshots, or compares them with the documents of the service.
pub(crate) fn run(check: bool) -> Result<()> {
    for (command, snapshot) in DOCUMENTS {
        let published = document(command)?;
        if check {
            compare(snapshot, &published)?;
        } else {
            write(snapshot, &published)?;
        }
    }
    Ok(())
}

fn write(snapshot: &str, published: &str) -> Result<()> {
    fs::write(root().join(snapshot), published)
        .with_context(|| format!("cannot write {snapshot}"))?;
    println!("wrote {snapshot}");
    Ok(())
}

fn compare(snapshot: &str, published: &str) -> Result<()> {
    let committed = fs::read_to_string(root().join(snapshot))
        .with_context(|| format!("cannot read {snapshot}"))?;
    if let Some(difference) = first_difference(&committed, published) {
        bail!("{snapshot} is out of date; write it with `cargo xtask openapi`\n{difference}");
    }
    println!("{snapshot} is up to date");
    Ok(())
}

/// Returns a document of the service, ending in one line break.
fn document(command: &str) -> Result<String> {
    let mut run = cargo([
        "run",
        "--locked",
        "--quiet",
        "--package",
        "agent-service",
        "--",
        command,
    ]);
    let printed = output(&mut run)?;
    serde_json::from_str::<serde_json::Value>(&printed)
        .with_context(|| format!("`agent-service {command}` printed no JSON document"))?;
    Ok(format!("{}\n", printed.trim_end()))
}

fn first_difference(committed: &str, published: &str) -> Option<String> {
    if committed == published {
        return None;
    }
    let (mut old, mut new) = (committed.lines(), published.lines());
    let mut number = 1;
    loop {
        match (old.next(), new.next()) {
            (None, None) => return Some("the documents differ in line breaks".to_owned()),
            (left, right) if left != right => {
                let (left, right) = (left.unwrap_or("(end)"), right.unwrap_or("(end)"));
                return Some(format!("line {number}\n- {left}\n+ {right}"));
            }
            _ => number += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_documents_do_not_differ() {
        assert_eq!(first_difference("{\n}\n", "{\n}\n"), None);
    }

    #[test]
    fn the_first_line_that_differs_is_shown() {
        let difference = first_difference("{\n  \"a\": 1\n}\n", "{\n  \"a\": 2\n}\n");
        assert_eq!(
            difference.as_deref(),
            Some("line 2\n-   \"a\": 1\n+   \"a\": 2")
        );
    }

    #[test]
    fn a_missing_end_is_shown() {
        let difference = first_difference("{\n", "{\n}\n");
        assert_eq!(difference.as_deref(), Some("line 2\n- (end)\n+ }"));
    }
}
