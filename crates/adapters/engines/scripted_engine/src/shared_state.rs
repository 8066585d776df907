//! The state that an engine shares with tests.

use std::{collections::BTreeSet, sync::Arc};

use tokio::sync::watch;

/// The state that an engine shares with its clones and streams.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedState {
    data: Arc<watch::Sender<State>>,
}

/// The observable state.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The number of requests.
    pub(crate) requests: usize,
    /// Streams that have neither ended nor been dropped.
    pub(crate) open_streams: usize,
    open_gates: BTreeSet<String>,
}

/// An open stream, which is counted until this is dropped.
#[derive(Debug)]
pub(crate) struct OpenStream {
    state: SharedState,
}

impl SharedState {
    pub(crate) fn count_request(&self) {
        self.data.send_modify(|data| data.requests += 1);
    }

    pub(crate) fn open_stream(&self) -> OpenStream {
        self.data.send_modify(|data| data.open_streams += 1);
        OpenStream {
            state: self.clone(),
        }
    }

    /// Opens a gate permanently, for current and later streams.
    pub(crate) fn open(&self, gate: &str) {
        self.data.send_modify(|data| {
            data.open_gates.insert(gate.to_owned());
        });
    }

    pub(crate) async fn until_open(&self, gate: &str) {
        self.wait_until(|data| data.open_gates.contains(gate)).await;
    }

    /// Reads the current state.
    pub(crate) fn read<T>(&self, reader: impl FnOnce(&State) -> T) -> T {
        reader(&self.data.borrow())
    }

    /// Waits until the state meets a condition.
    pub(crate) async fn wait_until(&self, condition: impl FnMut(&State) -> bool) {
        let mut data = self.data.subscribe();
        // Fails only once the sender is dropped, and `self` holds it.
        let _ = data.wait_for(condition).await;
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let data = &self.state.data;
        data.send_modify(|data| data.open_streams -= 1);
    }
}
