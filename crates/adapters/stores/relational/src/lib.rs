//! The parts of a relational store that do not depend on its database: the ports for reading, how
//! stored rows are converted to domain types, and the order of the steps in the transactions that the
//! core does not decide.
//!
//! A store implements [`Store`], and the traits of [`repositories`] with the statements that differ
//! between databases. Its `WriteStore` reads facts, checks conditions and writes rows.

pub mod column;
mod log_trim;
pub mod page_budget;
mod parameter;
pub mod read;
pub mod repositories;
mod schema;
pub mod sql_error;
mod statements;
mod store;
pub mod stored;
mod text_range;
mod writer_thread;

pub use log_trim::{LogTrimSql, trim_log};
pub(crate) use parameter::agent_ids;
pub use parameter::{Parameter, milliseconds};
pub use schema::{SchemaError, pending_migrations};
pub use store::{Store, Work};
pub use writer_thread::WriterThread;
