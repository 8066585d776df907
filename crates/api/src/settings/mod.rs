//! Configuration: read once, checked as a whole, and handed on as plain values.
//!
//! Defaults are overlaid by a TOML file, and that by the environment. Every setting has one name,
//! that of its variable: `SERVER__PORT` is `port` under `[server]` in the file.
//!
//! To add a setting: a field in the struct of its section, the line in that struct's `read` which
//! gives name, default and form, and its entry in `.env.example`, which a test compares with the
//! code. A new section also gets a file here and a field in [`Settings`].

mod auth;
mod database;
mod engines;
mod error;
mod events;
mod issuers;
mod limits;
mod load;
mod log;
mod models;
mod server;
mod sources;
mod tool_servers;
mod values;

pub use auth::AuthSettings;
pub use database::{DatabaseKind, DatabaseUrl};
pub use engines::EngineSettings;
pub use error::{InvalidSetting, SettingsError};
pub use events::EventSettings;
pub use limits::LimitSettings;
pub use load::{RULES, Settings, environment, keys};
pub use log::{LogFormat, LogSettings};
pub use models::{LLM, ModelProvider, ModelSettings};
pub use server::ServerSettings;
pub use tool_servers::{ToolServer, ToolServerTransport};
pub use values::Key;
