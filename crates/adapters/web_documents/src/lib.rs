//! Small JSON documents, and files of users, from the web. A URL of a tenant must not give access to the operator's
//! network (SSRF).
//!
//! `permission` decides by the URL alone. `resolver` checks the addresses of a name at the one
//! place where a connection gets them, so that nothing can change between the check and the
//! connection. `public` classifies addresses. `clients` has one client for each kind of permission,
//! and `documents` sends the requests.

mod clients;
mod documents;
mod permission;
mod public;
mod resolver;

pub use documents::{Deadlines, WebDocuments};
