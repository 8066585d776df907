//! Servers of others, and one that does what servers should not do but will.

mod calls;
mod contract_of_http;
mod contract_of_processes;
mod everything;
mod going;
mod ground;
mod http;
mod lists;
mod logs;
mod newest;
mod web;
