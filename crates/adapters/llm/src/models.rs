//! The models that a server has.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use tokio::{
    runtime::Handle,
    sync::watch,
    time::{Duration, Instant, timeout},
};
use tokio_util::task::TaskTracker;

use crate::client::Upstream;

/// How long a list holds.
const FRESH: Duration = Duration::from_mins(5);
/// How long a server that told none is left alone: it may only just be starting.
const LEFT_ALONE: Duration = Duration::from_secs(30);
/// The most of a list that is read: some servers have hundreds of models, and much to say of each.
const LIST_BYTES: usize = 4 * 1024 * 1024;
/// The most models that are told, and the longest name an agent can choose.
const MOST_MODELS: usize = 1000;
const LONGEST_NAME: usize = 256;

type Names = Option<Vec<String>>;

/// The models of one server, as it last told them.
pub(crate) struct Models {
    upstream: Arc<Upstream>,
    tasks: TaskTracker,
    runtime: Handle,
    known: Mutex<Known>,
    /// Whether the first fetch has ended.
    fetched: watch::Sender<bool>,
}

#[derive(Default)]
struct Known {
    names: Names,
    /// When to ask next.
    due: Option<Instant>,
}

impl Models {
    pub(crate) fn new(upstream: Arc<Upstream>, tasks: TaskTracker, runtime: Handle) -> Self {
        Self {
            upstream,
            tasks,
            runtime,
            known: Mutex::default(),
            fetched: watch::Sender::new(false),
        }
    }

    /// The list as it is known. Waits for the first one, and for no other: those are fetched while
    /// the old one is told.
    pub(crate) async fn names(self: &Arc<Self>) -> Names {
        if self.is_due() {
            let this = Arc::clone(self);
            let fetching = async move { this.fetch().await };
            self.tasks.spawn_on(fetching, &self.runtime);
        }
        let mut fetched = self.fetched.subscribe();
        // A fetch that does not end was dropped with its runtime.
        let first = fetched.wait_for(|fetched| *fetched);
        let _ = timeout(self.upstream.times.models, first).await;
        self.with(|known| known.names.clone())
    }

    /// Whether it is time to ask, and nobody else does already.
    fn is_due(&self) -> bool {
        self.with(|known| {
            let now = Instant::now();
            let is_due = known.due.is_none_or(|due| now >= due);
            if is_due {
                known.due = Some(now + LEFT_ALONE);
            }
            is_due
        })
    }

    async fn fetch(&self) {
        let names = timeout(self.upstream.times.models, list(&self.upstream)).await;
        // A server that does not answer now still has what it had.
        if let Ok(Some(names)) = names {
            self.with(|known| {
                known.names = Some(names);
                known.due = Some(Instant::now() + FRESH);
            });
        }
        self.fetched.send_replace(true);
    }

    fn with<R>(&self, look: impl FnOnce(&mut Known) -> R) -> R {
        look(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What the server tells; `None` when it has no such list.
async fn list(upstream: &Upstream) -> Names {
    #[derive(Deserialize)]
    struct List {
        data: Vec<Model>,
    }
    #[derive(Deserialize)]
    struct Model {
        id: String,
    }
    let mut answer = upstream.list_models().await.ok()?;
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await.ok()? {
        if body.len() + part.len() > LIST_BYTES {
            return None;
        }
        body.extend_from_slice(&part);
    }
    let list: List = serde_json::from_slice(&body).ok()?;
    let names = list.data.into_iter().map(|model| model.id);
    let mut names: Vec<_> = names.filter(|name| can_be_chosen(name)).collect();
    names.sort_unstable();
    names.dedup();
    names.truncate(MOST_MODELS);
    Some(names)
}

fn can_be_chosen(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.chars().count()) && !name.chars().any(char::is_control)
}
