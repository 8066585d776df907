//! Chat: a message goes in, a turn is stored, the agent's reply comes out.

mod answer;
mod answering;
mod command;
mod error;
mod lanes;
mod place;
mod ports;
mod running;
mod service;
mod turn_task;

pub use command::{ChatCommand, Chatted, OnBusy};
pub use error::{ChatError, engine_problem};
pub use ports::ChatPorts;
pub use running::RunningTurns;
pub use service::ChatService;
