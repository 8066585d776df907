//! The configuration: read once, checked as a whole, and passed on as plain values.
//!
//! The environment takes precedence over a TOML file, and the file over defaults. Every setting has
//! one name, that of its variable: `SERVER__PORT` is `port` under `[server]` in the file.
//!
//! To add a setting, add a field to the struct of its section, the line in that struct's `read`
//! with its name, default and valid values, and its entries in `.env.example` and
//! `docs/configuration.md`, which tests compare with the code. A new section also needs a file here
//! and a field in [`Settings`].

mod auth;
mod bus;
mod console;
mod conversations;
mod database;
mod engines;
mod erasure;
mod error;
mod events;
mod files;
mod issuers;
mod key;
mod limits;
mod load;
mod log;
mod models;
mod named;
mod outbound;
mod protocols;
mod region;
mod secret_files;
mod server;
mod sources;
mod tool_servers;
mod values;

pub use auth::AuthSettings;
pub use bus::{BusSettings, BusUrl, LimitsWhenDown};
pub use console::ConsoleSettings;
pub use conversations::ConversationSettings;
pub use database::{DatabaseKind, DatabaseSettings, DatabaseUrl};
pub use engines::EngineSettings;
pub use erasure::ErasureSettings;
pub use error::{InvalidSetting, SettingsError};
pub use events::EventSettings;
pub use files::FileSettings;
pub use key::{MisnamedVariable, SettingKey};
pub use limits::LimitSettings;
pub use load::{RULES, Settings, environment, keys};
pub use log::{LogFormat, LogSettings};
pub use models::{LLM, ModelProvider, ModelSettings};
pub use outbound::OutboundSettings;
pub use region::{FarRegion, HomeSettings, RegionSettings};
pub use server::ServerSettings;
pub use tool_servers::{ToolServer, ToolServerTransport};
