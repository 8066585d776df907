//! A cached list of the models of a server.

use std::sync::Arc;

use parking_lot::Mutex;
use serde::Deserialize;
use tokio::{
    runtime::Handle,
    sync::watch,
    time::{Duration, Instant, timeout},
};
use tokio_util::task::TaskTracker;

use crate::client::Upstream;

/// The age at which a list is fetched again.
const REFRESH_INTERVAL: Duration = Duration::from_mins(5);
/// The time until the next fetch after a failed one: the server may be starting.
const RETRY_INTERVAL: Duration = Duration::from_secs(30);
/// The maximum number of bytes of a list. Some servers have hundreds of models with long
/// descriptions.
const MAX_LIST_BYTES: usize = 4 * 1024 * 1024;
/// The maximum number of models in the list, and of characters in a name that an agent can choose.
const MAX_MODELS: usize = 1000;
const MAX_NAME_CHARS: usize = 256;

type Names = Option<Vec<String>>;

/// The models of one server, as it last listed them.
pub(crate) struct ModelList {
    upstream: Arc<Upstream>,
    tasks: TaskTracker,
    runtime: Handle,
    cached: Mutex<Cached>,
    /// `true` once the first fetch has ended.
    fetched: watch::Sender<bool>,
}

#[derive(Default)]
struct Cached {
    names: Names,
    /// The time of the next fetch.
    due: Option<Instant>,
}

impl ModelList {
    pub(crate) fn new(upstream: Arc<Upstream>, tasks: TaskTracker, runtime: Handle) -> Self {
        Self {
            upstream,
            tasks,
            runtime,
            cached: Mutex::default(),
            fetched: watch::Sender::new(false),
        }
    }

    /// Returns the cached list. Waits only for the first fetch; later lists are fetched in the
    /// background.
    pub(crate) async fn names(self: &Arc<Self>) -> Names {
        if self.is_due() {
            let this = Arc::clone(self);
            let fetch = async move { this.fetch().await };
            self.tasks.spawn_on(fetch, &self.runtime);
        }
        let mut fetched = self.fetched.subscribe();
        // A fetch that never ends was dropped with its runtime.
        let first = fetched.wait_for(|fetched| *fetched);
        let _ = timeout(self.upstream.timeouts.models, first).await;
        self.with(|cached| cached.names.clone())
    }

    /// Returns whether a fetch is due, and claims it for the caller.
    fn is_due(&self) -> bool {
        self.with(|cached| {
            let now = Instant::now();
            let is_due = cached.due.is_none_or(|due| now >= due);
            if is_due {
                cached.due = Some(now + RETRY_INTERVAL);
            }
            is_due
        })
    }

    async fn fetch(&self) {
        let names = timeout(self.upstream.timeouts.models, fetch_list(&self.upstream)).await;
        // The old list is kept if the fetch fails.
        if let Ok(Some(names)) = names {
            self.with(|cached| {
                cached.names = Some(names);
                cached.due = Some(Instant::now() + REFRESH_INTERVAL);
            });
        }
        self.fetched.send_replace(true);
    }

    fn with<R>(&self, access: impl FnOnce(&mut Cached) -> R) -> R {
        access(&mut self.cached.lock())
    }
}

/// Fetches the list; `None` if the server has none.
async fn fetch_list(upstream: &Upstream) -> Names {
    #[derive(Deserialize)]
    struct List {
        data: Vec<Model>,
    }
    #[derive(Deserialize)]
    struct Model {
        id: String,
    }
    let mut response = upstream.list_models().await.ok()?;
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.ok()? {
        if body.len() + part.len() > MAX_LIST_BYTES {
            return None;
        }
        body.extend_from_slice(&part);
    }
    let list: List = serde_json::from_slice(&body).ok()?;
    let names = list.data.into_iter().map(|model| model.id);
    let mut names: Vec<_> = names.filter(|name| is_valid_name(name)).collect();
    names.sort_unstable();
    names.dedup();
    names.truncate(MAX_MODELS);
    Some(names)
}

fn is_valid_name(name: &str) -> bool {
    (1..=MAX_NAME_CHARS).contains(&name.chars().count()) && !name.chars().any(char::is_control)
}
