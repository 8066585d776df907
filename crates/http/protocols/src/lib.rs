//! Interfaces for the clients of other products. Each protocol is a folder that translates between
//! the wire of its clients and the use cases; it decides nothing itself. Without its folder and its
//! line in [`PROTOCOLS`], a protocol does not exist.
//!
//! The operations of protocols are not part of the OpenAPI document: other products define them.
//! Their request bodies may have unknown members, and their errors have the form that their clients
//! read, with our code in it.

pub mod ag_ui;
pub mod ai_sdk;
mod answers;
mod client_tools;
mod end_user;
mod file_parts;
pub mod openai;
mod resend;
mod response_schema;

use kit::operations::Protocol;

pub use end_user::EndUser;

/// The protocols.
pub const PROTOCOLS: &[Protocol] = &[ai_sdk::PROTOCOL, openai::PROTOCOL, ag_ui::PROTOCOL];
