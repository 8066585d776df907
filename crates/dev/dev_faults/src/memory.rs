//! Samples the memory of a process.

use std::{sync::Arc, time::Duration};

use dev_load::process_stats::resident;
use parking_lot::Mutex;
use tokio::{task::JoinSet, time::sleep};

/// The pause between two samples.
const PAUSE: Duration = Duration::from_millis(50);

/// Samples until it is dropped.
pub(super) struct MemoryWatch {
    peak: Arc<Mutex<f64>>,
    /// Aborted when dropped.
    _watching: JoinSet<()>,
}

impl MemoryWatch {
    /// Starts to sample this process.
    pub(super) fn over(process: u32) -> Self {
        let peak = Arc::new(Mutex::new(0.0_f64));
        let seen = Arc::clone(&peak);
        let mut watching = JoinSet::new();
        watching.spawn(async move {
            // The loop ends with the process.
            while let Ok(now) = resident(process) {
                note(&seen, now);
                sleep(PAUSE).await;
            }
        });
        Self {
            peak,
            _watching: watching,
        }
    }

    /// Returns the highest sample since the last call, in MiB.
    pub(super) fn take_peak(&self) -> f64 {
        let mut peak = self.peak.lock();
        std::mem::take(&mut *peak)
    }
}

fn note(peak: &Mutex<f64>, now: f64) {
    let mut peak = peak.lock();
    *peak = peak.max(now);
}
