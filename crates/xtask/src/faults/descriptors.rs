//! How many files and connections a process has open.

use std::fs;

use anyhow::{Context as _, Result};

/// Open descriptors of a process.
pub(super) fn of(process: u32) -> Result<usize> {
    let path = format!("/proc/{process}/fd");
    let entries = fs::read_dir(&path).with_context(|| format!("cannot read {path}"))?;
    Ok(entries.count())
}

#[cfg(test)]
mod tests {
    use std::{fs::File, process::id};

    use super::*;

    #[test]
    fn an_open_file_counts() {
        let before = of(id()).unwrap();
        let files: Vec<File> = (0..50).map(|_| File::open("/dev/null").unwrap()).collect();
        // Other threads of this process may open and close some too.
        assert!(of(id()).unwrap() >= before + files.len() / 2);
    }
}
