//! The parts that all surfaces of the HTTP interface use: operations as data, requests and their
//! bodies, problems, authentication, the layers around handlers, event streams, and the forms of a
//! chat.

pub mod actions;
pub mod auth;
pub mod body;
pub mod chat;
pub mod layers;
pub mod lines;
pub mod operations;
pub mod problem;
pub mod readiness;
pub mod reads;
pub mod region;
pub mod request;
pub mod socket_limits;
pub mod sse;
pub mod state;
pub mod turn_stream;
