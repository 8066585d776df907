//! The AsyncAPI document: the messages on sockets and streams.

mod document;
mod examples;
mod message;
mod operations;
mod replies;
mod schemas;
mod servers;
mod sockets;
mod streams;
#[cfg(test)]
mod tests;

pub use document::document;
