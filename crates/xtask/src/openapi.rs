//! `cargo xtask openapi`: the committed snapshot of the document that the service publishes.

use std::fs;

use anyhow::{Context as _, Result, bail};

use crate::process::{cargo, output, root};

const SNAPSHOT: &str = "openapi.json";

/// Writes the snapshot, or compares it with what the service says now.
pub(crate) fn run(check: bool) -> Result<()> {
    let path = root().join(SNAPSHOT);
    let published = document()?;
    if !check {
        fs::write(&path, published).with_context(|| format!("cannot write {SNAPSHOT}"))?;
        println!("wrote {SNAPSHOT}");
        return Ok(());
    }
    let committed = fs::read_to_string(&path).with_context(|| format!("cannot read {SNAPSHOT}"))?;
    if let Some(difference) = first_difference(&committed, &published) {
        bail!("{SNAPSHOT} is out of date; write it with `cargo xtask openapi`\n{difference}");
    }
    println!("{SNAPSHOT} is up to date");
    Ok(())
}

/// What the service prints, ending in one line break.
fn document() -> Result<String> {
    let mut command = cargo([
        "run",
        "--locked",
        "--quiet",
        "--package",
        "agent-service",
        "--",
        "openapi",
    ]);
    let printed = output(&mut command)?;
    serde_json::from_str::<serde_json::Value>(&printed)
        .context("`agent-service openapi` printed no JSON document")?;
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
            (None, None) => return Some("they differ in line breaks".to_owned()),
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
