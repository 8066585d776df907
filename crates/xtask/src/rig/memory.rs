//! How much memory a process has.

use std::fs;

use anyhow::{Context as _, Result};

/// Memory of a process that is resident, in MiB.
pub(crate) fn resident(process: u32) -> Result<f64> {
    let path = format!("/proc/{process}/status");
    let status = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    mebibytes(&status).with_context(|| format!("{path} has no VmRSS"))
}

fn mebibytes(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"))?;
    let kibibytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_resident_memory() {
        let status = "Name:\tagent-service\nVmRSS:\t   20480 kB\nVmSwap:\t0 kB\n";
        assert_eq!(mebibytes(status), Some(20.0));
        assert_eq!(mebibytes(""), None);
    }
}
