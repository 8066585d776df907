//! Memory, processor time and descriptors of a process, from `/proc`.

use std::fs;

use anyhow::{Context as _, Result};

/// Linux counts processor time in hundredths of a second, whatever the kernel's own clock.
const TICKS_PER_SECOND: f64 = 100.0;

/// Returns the resident memory of a process in MiB.
pub fn resident(process: u32) -> Result<f64> {
    let path = format!("/proc/{process}/status");
    let status = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let kibibytes = status.lines().find_map(|line| {
        let value = line.strip_prefix("VmRSS:")?;
        value.split_whitespace().next()?.parse::<f64>().ok()
    });
    Ok(kibibytes.with_context(|| format!("{path} has no VmRSS"))? / 1024.0)
}

/// Returns the processor time in seconds of all threads of a process since its start.
pub fn cpu_seconds(process: u32) -> Result<f64> {
    let path = format!("/proc/{process}/stat");
    let stat = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let ticks = ticks(&stat).with_context(|| format!("{path} has an unknown format"))?;
    Ok(ticks / TICKS_PER_SECOND)
}

/// The sum of fields 14 and 15, user and system time. Field 2 is the program's name in parentheses,
/// which may hold any character.
fn ticks(stat: &str) -> Option<f64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<f64>().ok();
    Some(next()? + next()?)
}

/// Returns the ids of the threads of a process whose names start with `name`.
pub fn threads(process: u32, name: &str) -> Result<Vec<String>> {
    let path = format!("/proc/{process}/task");
    let mut found = Vec::new();
    for entry in fs::read_dir(&path).with_context(|| format!("cannot read {path}"))? {
        let entry = entry.with_context(|| format!("cannot read {path}"))?;
        // A thread may have ended since.
        let own = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        if own.starts_with(name) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(found)
}

/// Returns the number of open descriptors of a process: files and connections.
pub fn open_descriptors(process: u32) -> Result<usize> {
    let path = format!("/proc/{process}/fd");
    let entries = fs::read_dir(&path).with_context(|| format!("cannot read {path}"))?;
    Ok(entries.count())
}
