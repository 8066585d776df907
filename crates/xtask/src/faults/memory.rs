//! Watches how much memory a process takes.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{task::JoinSet, time::sleep};

use crate::rig::memory::resident;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Watches until it is dropped.
pub(super) struct Watch {
    highest: Arc<Mutex<f64>>,
    /// Aborted when dropped.
    _watching: JoinSet<()>,
}

impl Watch {
    /// Watches this process.
    pub(super) fn over(process: u32) -> Self {
        let highest = Arc::new(Mutex::new(0.0_f64));
        let seen = Arc::clone(&highest);
        let mut watching = JoinSet::new();
        watching.spawn(async move {
            // It ends with the process.
            while let Ok(now) = resident(process) {
                note(&seen, now);
                sleep(PAUSE).await;
            }
        });
        Self {
            highest,
            _watching: watching,
        }
    }

    /// The most that was seen since this was asked last, in MiB.
    pub(super) fn take_highest(&self) -> f64 {
        let mut highest = self.highest.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *highest)
    }
}

fn note(highest: &Mutex<f64>, now: f64) {
    let mut highest = highest.lock().unwrap_or_else(PoisonError::into_inner);
    *highest = highest.max(now);
}
