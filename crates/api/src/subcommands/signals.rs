//! The signals that a server handles.

use std::{
    future::poll_fn,
    io,
    task::Poll,
    time::{Duration, Instant},
};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The time within which several signals are one: some programs send theirs to the process and then to
/// its group (`timeout`), and terminals send one beside that of a process manager.
const ONE_STOP: Duration = Duration::from_millis(500);

/// The signals that stop the server: the first one requests a shutdown, a second one aborts it.
const STOPPING: &[(&str, SignalKind)] = &[
    ("SIGTERM", SignalKind::terminate()),
    ("SIGINT", SignalKind::interrupt()),
    ("SIGQUIT", SignalKind::quit()),
];

/// The signals that would end the process if they were not handled. Closed terminals, log rotation
/// and process managers send them to any program.
const IGNORED: &[(&str, SignalKind)] = &[
    ("SIGHUP", SignalKind::hangup()),
    ("SIGUSR1", SignalKind::user_defined1()),
    ("SIGUSR2", SignalKind::user_defined2()),
];

/// The signals that arrive from now on.
pub(super) struct Signals {
    stopping: Vec<(&'static str, Signal)>,
    ignored: Vec<(&'static str, Signal)>,
    /// The time of the first signal that stops the server.
    stopped_at: Option<Instant>,
}

impl Signals {
    /// Handles all of them as long as the process runs.
    pub(super) fn handle() -> io::Result<Self> {
        let handle = |kinds: &[(&'static str, SignalKind)]| {
            let signals = kinds.iter();
            let signals = signals.map(|(name, kind)| Ok((*name, signal(*kind)?)));
            signals.collect::<io::Result<_>>()
        };
        Ok(Self {
            stopping: handle(STOPPING)?,
            ignored: handle(IGNORED)?,
            stopped_at: None,
        })
    }

    /// Waits for one that stops the server, and returns its name. Those that arrive right after the first
    /// one belong to it. Cancel safe.
    pub(super) async fn stopping(&mut self) -> &'static str {
        loop {
            tokio::select! {
                name = first(&mut self.stopping) => {
                    if self.stopped_at.is_some_and(|at| at.elapsed() < ONE_STOP) {
                        continue;
                    }
                    self.stopped_at.get_or_insert_with(Instant::now);
                    return name;
                }
                name = first(&mut self.ignored) => tracing::info!("{name} ignored"),
            }
        }
    }
}

async fn first(signals: &mut [(&'static str, Signal)]) -> &'static str {
    poll_fn(|context| {
        let arrived = signals.iter_mut().find_map(|(name, signal)| {
            let is_ready = signal.poll_recv(context).is_ready();
            is_ready.then_some(*name)
        });
        arrived.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}
