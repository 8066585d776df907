//! Load that takes all processor time which nothing else needs.

use std::{
    process::{Child, Command, Stdio},
    thread::available_parallelism,
};

use anyhow::{Context as _, Result};

/// One endless loop of the lowest priority for each core; ended when dropped.
pub(crate) struct BusyCores(Vec<Child>);

impl BusyCores {
    pub(crate) fn start() -> Result<Self> {
        let cores = available_parallelism().map_or(1, usize::from);
        let mut loops = Self(Vec::new());
        for _ in 0..cores {
            let child = Command::new("nice")
                .args(["-n", "19", "sh", "-c", "while :; do :; done"])
                .stdin(Stdio::null())
                .spawn();
            loops.0.push(child.context("cannot start nice")?);
        }
        Ok(loops)
    }
}

impl Drop for BusyCores {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It may have ended already.
            drop(child.kill());
            drop(child.wait());
        }
    }
}
