//! Tests with the reference server of the protocol, and with servers that misbehave.

mod calls;
mod contract_of_http;
mod contract_of_processes;
mod fixture;
mod http;
mod identity;
mod lifecycle;
mod lists;
mod logs;
mod process;
mod web;
mod without_handshake;
