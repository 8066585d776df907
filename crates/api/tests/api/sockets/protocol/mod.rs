//! `GET /api/ws` held to RFC 6455, case by case as the Autobahn test suite numbers them.
//!
//! That suite wants its messages back, and what is spoken here are commands: so a text message is
//! a `ping` of the case's size, which is answered once. Where the interface allows less than the
//! protocol (binary messages, sizes), a case says what it closes with.

mod case;
mod closes;
mod framing;
mod message_sizes;
mod runner;
mod text;
mod wire;

use runner::command;
