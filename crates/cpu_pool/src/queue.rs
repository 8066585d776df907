//! The queue of waiting jobs: one for each tenant, served in turn.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use domain::TenantId;
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// The limits of a queue, in jobs.
#[derive(Debug, Clone, Copy)]
pub struct QueueLimits {
    /// The maximum number of running jobs.
    pub running: usize,
    /// The maximum number of running jobs of one tenant.
    pub running_of_tenant: usize,
    /// The maximum number of waiting jobs.
    pub waiting: usize,
    /// The maximum number of waiting jobs of one tenant.
    pub waiting_of_tenant: usize,
}

/// A queue of jobs in which tenants take turns.
#[derive(Debug)]
pub struct TenantQueue {
    limits: QueueLimits,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    /// Tenants with a running or waiting job.
    tenants: HashMap<TenantId, Jobs>,
    /// Tenants with a waiting job, in the order of their turns.
    turns: VecDeque<TenantId>,
}

/// The jobs of one tenant.
#[derive(Debug, Default)]
struct Jobs {
    running: usize,
    waiting: VecDeque<oneshot::Sender<Permit>>,
}

/// The right of a job to run. Dropping it starts the next job.
#[derive(Debug)]
pub struct Permit {
    queue: Arc<TenantQueue>,
    /// `None` if the job was cancelled before it could start.
    tenant: Option<TenantId>,
}

impl TenantQueue {
    /// Creates an empty queue.
    #[must_use]
    pub fn new(limits: QueueLimits) -> Self {
        Self {
            limits,
            state: Mutex::default(),
        }
    }

    /// Queues a job, which may run once the receiver has its permit. Returns `None` if too many
    /// jobs wait. Dropping the receiver removes the job.
    pub fn enqueue(self: &Arc<Self>, tenant: &TenantId) -> Option<oneshot::Receiver<Permit>> {
        let mut state = self.state.lock();
        let mut waiting_of_tenant = 0;
        if let Some(jobs) = state.tenants.get_mut(tenant) {
            jobs.waiting.retain(|job| !job.is_closed());
            waiting_of_tenant = jobs.waiting.len();
        }
        let is_full = waiting_of_tenant >= self.limits.waiting_of_tenant;
        if is_full || state.waiting() >= self.limits.waiting {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        let jobs = state.tenants.entry(tenant.clone()).or_default();
        jobs.waiting.push_back(sender);
        if !state.turns.contains(tenant) {
            state.turns.push_back(tenant.clone());
        }
        self.start_next(&mut state);
        Some(receiver)
    }

    /// Starts jobs up to the limit.
    fn start_next(self: &Arc<Self>, state: &mut State) {
        // A tenant whose share is used keeps its turn.
        let mut skipped = VecDeque::new();
        while state.running < self.limits.running
            && let Some(tenant) = state.turns.pop_front()
        {
            let Some(jobs) = state.tenants.get_mut(&tenant) else {
                continue;
            };
            if jobs.running >= self.limits.running_of_tenant {
                skipped.push_back(tenant);
                continue;
            }
            if let Some(job) = jobs.waiting.pop_front() {
                let permit = Permit {
                    queue: Arc::clone(self),
                    tenant: Some(tenant.clone()),
                };
                match job.send(permit) {
                    Ok(()) => {
                        jobs.running += 1;
                        state.running += 1;
                    }
                    // Its `drop` must not lock the state, which is locked here.
                    Err(mut permit) => permit.tenant = None,
                }
            }
            if !jobs.waiting.is_empty() {
                state.turns.push_back(tenant);
            } else if jobs.running == 0 {
                state.tenants.remove(&tenant);
            }
        }
        skipped.append(&mut state.turns);
        state.turns = skipped;
    }

    fn finish(self: &Arc<Self>, tenant: &TenantId) {
        let mut state = self.state.lock();
        state.running -= 1;
        if let Some(jobs) = state.tenants.get_mut(tenant) {
            jobs.running -= 1;
            if jobs.running == 0 && jobs.waiting.is_empty() {
                state.tenants.remove(tenant);
            }
        }
        self.start_next(&mut state);
    }
}

impl State {
    fn waiting(&self) -> usize {
        let tenants = self.turns.iter().filter_map(|it| self.tenants.get(it));
        tenants.map(|jobs| jobs.waiting.len()).sum()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(tenant) = self.tenant.take() {
            self.queue.finish(&tenant);
        }
    }
}
