//! A web of a few documents in memory.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use ports::{DocumentError, DocumentSource, UrlTrust};
use serde_json::Value;
use tokio::sync::watch;

/// A web of documents that a test publishes, removes or holds back.
#[derive(Default)]
pub(crate) struct Web {
    documents: Mutex<HashMap<String, Value>>,
    asked: Mutex<Vec<(String, UrlTrust)>>,
    is_held_up: watch::Sender<bool>,
}

impl Web {
    /// Publishes a document, in place of a previous one at the same URL.
    pub(crate) fn publish(&self, url: &str, document: Value) {
        lock(&self.documents).insert(url.to_owned(), document);
    }

    /// Removes all documents.
    pub(crate) fn take_down(&self) {
        lock(&self.documents).clear();
    }

    /// Holds back all responses, or releases them.
    pub(crate) fn hold_up(&self, is_held_up: bool) {
        self.is_held_up.send_replace(is_held_up);
    }

    /// The URLs requested so far, each with the party that configured it.
    pub(crate) fn asked(&self) -> Vec<(String, UrlTrust)> {
        lock(&self.asked).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl DocumentSource for Web {
    async fn fetch(&self, url: &str, named_by: UrlTrust) -> Result<Value, DocumentError> {
        lock(&self.asked).push((url.to_owned(), named_by));
        let mut held_up = self.is_held_up.subscribe();
        let let_go = held_up.wait_for(|is_held_up| !is_held_up).await;
        let_go.expect("the web is there");
        let document = lock(&self.documents).get(url).cloned();
        document.ok_or_else(|| DocumentError::BadAnswer("404".to_owned()))
    }
}
