//! How much processor time a process has taken.

use std::fs;

use anyhow::{Context as _, Result};

/// Linux counts it in hundredths of a second, whatever the kernel's own clock.
const TICKS_PER_SECOND: f64 = 100.0;

/// Seconds of processor time that a process has taken since its start, in all its threads.
pub(crate) fn seconds(process: u32) -> Result<f64> {
    let path = format!("/proc/{process}/stat");
    let stat = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let ticks = ticks(&stat).with_context(|| format!("{path} has another form"))?;
    Ok(ticks / TICKS_PER_SECOND)
}

/// The 14th and 15th field: time in the program, and in the kernel for it. The second is the
/// program's name in parentheses, which may hold anything.
fn ticks(stat: &str) -> Option<f64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<f64>().ok();
    Some(next()? + next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_times_behind_any_name() {
        let stat = "17 (a ) 1 b) S 1 17 17 0 -1 4194560 900 0 0 0 250 50 0 0 20 0 4 0 100";
        assert_eq!(ticks(stat), Some(300.0));
        assert_eq!(ticks("17 (short) S 1"), None);
    }
}
