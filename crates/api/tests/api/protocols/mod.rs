//! The protocols of other products' clients.

mod ag_ui;
mod ai_sdk;
mod openai;
