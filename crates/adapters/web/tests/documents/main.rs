//! The source of documents from outside, through its port, with servers on this machine.

mod answers;
mod environment;
mod permission;
mod server;
mod time_limits;

use ports::{DocumentError, DocumentSource as _, NamedBy};
use serde_json::Value;
use server::Server;
use web_documents::WebDocuments;

/// Asks as the operator does, who may name this machine.
async fn fetch(server: &Server) -> Result<Value, DocumentError> {
    let documents = WebDocuments::new(Vec::new());
    documents.fetch(&server.url(), NamedBy::Operator).await
}

/// What a client is told of an error, and the log beyond that.
fn told(error: &DocumentError) -> (String, String) {
    (error.to_string(), ports::error::chain(error))
}
