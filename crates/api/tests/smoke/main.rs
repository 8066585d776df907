//! Tests of the built binary: its commands, its first start, its end.

mod certificate_version;
mod chat_client;
mod commands_without_store;
mod database_start;
mod few_connections;
mod first_key;
mod hung_names;
mod journal;
mod killed;
mod logs;
mod newer_store;
mod one_server;
mod pooler;
#[path = "../shared/postgres.rs"]
mod postgres;
mod process;
mod regions;
mod requests;
mod scripted;
mod serving;
mod signals;
mod signing_keys;
mod store_commands;
mod store_outage;
mod terminated;
mod tls_proxy;
mod tool_servers;
mod unread_log;
mod unwritable_log;
