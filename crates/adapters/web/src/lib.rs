//! Small JSON documents from the web, and from nowhere else: what a tenant names must not let it
//! look around in the operator's network.
//!
//! `permission` decides by the address alone; `resolver` decides about the addresses that a name
//! stands for, in the one place where a connection gets them from, so that nothing can change
//! between the check and the connection. `public` knows which addresses are public. `clients` holds
//! one client for each of the two ways, and `documents` asks and reads.

mod clients;
mod documents;
mod permission;
mod public;
mod resolver;

pub use documents::{Deadlines, WebDocuments};
