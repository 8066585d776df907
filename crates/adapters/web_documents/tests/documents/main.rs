//! Tests of the source through its port, with servers on this machine.

mod environment;
mod permission;
mod responses;
mod server;
mod time_limits;

use ports::{DocumentError, DocumentSource as _, UrlTrust};
use serde_json::Value;
use server::Server;
use web_documents::WebDocuments;

/// Fetches with the rights of the operator, who may use addresses of this machine.
async fn fetch(server: &Server) -> Result<Value, DocumentError> {
    let documents = WebDocuments::new(Vec::new());
    documents.fetch(&server.url(), UrlTrust::Operator).await
}

/// Returns the text of an error for clients, and the text for the log.
fn error_texts(error: &DocumentError) -> (String, String) {
    (error.to_string(), ports::error::one_line(error))
}
