//! A cached list of the models of a server.

use std::{collections::HashMap, sync::Arc};

use domain::FileKinds;
use parking_lot::Mutex;
use serde_json::Value;
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

/// The `owned_by` of models of Ollama and llama.cpp.
const OWNERS_WITH_THINK_TAGS: [&str; 3] = ["library", "ollama", "llamacpp"];

/// The content of a list.
#[derive(Clone)]
struct Models {
    names: Vec<String>,
    /// The kinds of files that they take, of those of which the list says it.
    inputs: Arc<HashMap<String, FileKinds>>,
    /// The server sends thoughts in tags.
    has_think_tags: bool,
}

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
    models: Option<Models>,
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

    /// The server.
    pub(crate) fn upstream(&self) -> &Arc<Upstream> {
        &self.upstream
    }

    /// Returns the cached names. Waits only for the first fetch; later lists are fetched in the
    /// background.
    pub(crate) async fn names(self: &Arc<Self>) -> Option<Vec<String>> {
        Some(self.models().await?.names)
    }

    /// Returns whether thoughts arrive in tags, by the setting or else by the list.
    pub(crate) async fn has_think_tags(self: &Arc<Self>) -> bool {
        match self.upstream.think_tags {
            Some(setting) => setting,
            None => self.models().await.is_some_and(|it| it.has_think_tags),
        }
    }

    /// Returns the kinds of files that a model takes, by the setting or else by the list.
    pub(crate) async fn inputs(self: &Arc<Self>, model: Option<&str>) -> FileKinds {
        let api = self.upstream.api;
        if let Some(setting) = self.upstream.inputs {
            return api.accepted_inputs(setting);
        }
        let (models, model) = (self.models().await, model.unwrap_or_default());
        let found = models.and_then(|models| models.inputs.get(model).copied());
        found.unwrap_or(api.usual_inputs())
    }

    async fn models(self: &Arc<Self>) -> Option<Models> {
        if self.is_due() {
            let this = Arc::clone(self);
            let fetch = async move { this.fetch().await };
            self.tasks.spawn_on(fetch, &self.runtime);
        }
        let mut fetched = self.fetched.subscribe();
        // A fetch that never ends was dropped with its runtime.
        let first = fetched.wait_for(|fetched| *fetched);
        let _ = timeout(self.upstream.timeouts.models, first).await;
        self.with(|cached| cached.models.clone())
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
        let models = timeout(self.upstream.timeouts.models, fetch_list(&self.upstream)).await;
        // The old list is kept if the fetch fails.
        if let Ok(Some(models)) = models {
            self.with(|cached| {
                cached.models = Some(models);
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
async fn fetch_list(upstream: &Upstream) -> Option<Models> {
    let mut models = Vec::new();
    let (mut after, mut bytes_left) = (None, MAX_LIST_BYTES);
    loop {
        let mut response = upstream.list_models(after.as_deref()).await.ok()?;
        let mut body = Vec::new();
        while let Some(part) = response.chunk().await.ok()? {
            bytes_left = bytes_left.checked_sub(part.len())?;
            body.extend_from_slice(&part);
        }
        let mut page: Value = serde_json::from_slice(&body).ok()?;
        let last = page["last_id"].as_str().map(str::to_owned);
        let is_paged = upstream.api.page_size().is_some();
        let has_more = is_paged && page["has_more"] == true;
        // Some servers send the list without an object around it.
        let found = match page.get_mut("data") {
            Some(data) => data.take(),
            None => page,
        };
        let Value::Array(found) = found else {
            return None;
        };
        models.extend(found);
        if !has_more || last.is_none() || last == after || models.len() >= MAX_MODELS {
            return Some(read_list(&models));
        }
        after = last;
    }
}

/// Reads a list. Models without a usable name are omitted.
fn read_list(models: &[Value]) -> Models {
    let usable = models
        .iter()
        .filter(|model| model["lifecycle"] != "retired");
    let names = usable.filter_map(|model| model["id"].as_str());
    let names = names.filter(|name| is_valid_name(name));
    let mut names: Vec<_> = names.map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names.truncate(MAX_MODELS);
    let inputs = models
        .iter()
        .filter_map(|model| Some((model["id"].as_str()?.to_owned(), inputs(model)?)));
    let mut owners = models.iter().filter_map(|model| model["owned_by"].as_str());
    Models {
        names,
        inputs: Arc::new(inputs.take(MAX_MODELS).collect()),
        has_think_tags: owners.any(|owner| OWNERS_WITH_THINK_TAGS.contains(&owner)),
    }
}

/// The kinds of files that a model takes, if the list says it: by its modalities, or by its capabilities in the list of
/// Anthropic.
fn inputs(model: &Value) -> Option<FileKinds> {
    if let Some(modalities) = model["architecture"]["input_modalities"].as_array() {
        return Some(kinds(modalities));
    }
    let capabilities = model["capabilities"].as_object()?;
    let supports = |name: &str| capabilities.get(name)?["supported"].as_bool();
    Some(FileKinds {
        image: supports("image_input")?,
        pdf: supports("pdf_input")?,
        audio: false,
    })
}

/// The kinds of files among the modalities of a model. A `file` is a PDF document.
fn kinds(modalities: &[Value]) -> FileKinds {
    let takes = |name: &str| modalities.iter().any(|it| it == name);
    FileKinds {
        image: takes("image"),
        pdf: takes("file") || takes("pdf"),
        audio: takes("audio"),
    }
}

fn is_valid_name(name: &str) -> bool {
    (1..=MAX_NAME_CHARS).contains(&name.chars().count()) && !name.chars().any(char::is_control)
}
