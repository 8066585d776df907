//! A web of a few documents in memory.

use std::collections::HashMap;

use async_trait::async_trait;
use parking_lot::Mutex;
use ports::{DocumentError, DocumentSource, UrlTrust};
use serde_json::Value;
use tokio::sync::watch;

/// The start of the URLs that are not allowed.
pub(crate) const FORBIDDEN: &str = "https://10.";

/// A web of documents that a test publishes, removes or holds back.
#[derive(Default)]
pub(crate) struct FakeWeb {
    documents: Mutex<HashMap<String, Value>>,
    requests: Mutex<Vec<(String, UrlTrust)>>,
    is_paused: watch::Sender<bool>,
}

impl FakeWeb {
    /// Publishes a document, in place of a previous one at the same URL.
    pub(crate) fn publish(&self, url: &str, document: Value) {
        self.documents.lock().insert(url.to_owned(), document);
    }

    /// Removes all documents.
    pub(crate) fn unpublish_all(&self) {
        self.documents.lock().clear();
    }

    /// Holds back all responses, or releases them.
    pub(crate) fn set_paused(&self, is_paused: bool) {
        self.is_paused.send_replace(is_paused);
    }

    /// The URLs requested so far, each with its trust.
    pub(crate) fn requests(&self) -> Vec<(String, UrlTrust)> {
        self.requests.lock().clone()
    }
}

#[async_trait]
impl DocumentSource for FakeWeb {
    fn is_allowed(&self, url: &str, _trust: UrlTrust) -> bool {
        !url.starts_with(FORBIDDEN)
    }

    async fn fetch(&self, url: &str, named_by: UrlTrust) -> Result<Value, DocumentError> {
        self.requests.lock().push((url.to_owned(), named_by));
        let mut paused = self.is_paused.subscribe();
        let released = paused.wait_for(|is_paused| !is_paused).await;
        released.expect("the fake web exists");
        let document = self.documents.lock().get(url).cloned();
        document.ok_or_else(|| DocumentError::InvalidResponse("404".to_owned()))
    }
}
