//! The connection to a home region, whose other end sends single frames of HTTP/2.

mod frozen;
mod log;
mod outages;
mod peer;
mod responses;
mod restarts;
